"""HTTP server of the live pages: the page, its assets, a stream of notifications, and JSON. It only reads the journal."""

import gzip
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from host.base.errors import Problem, UserError
from host.report.page import ASSETS, LIVE_POLICY, asset
from host.stages import CROUPIERS, Registry
from host.web.address import own_address, url_of
from host.web.live import CachedResponse, LivePublisher, cached_response

MAX_LISTENERS = 500
SHUTDOWN_TIMEOUT_S = 2.0  # for an orderly shutdown
PING_INTERVAL_S = 15
MAX_HEADER_BYTES = 16 * 1024
SECURITY_HEADERS = {
    "content-security-policy": LIVE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


LINES_PER_CHUNK = 16  # of public files: the line of a fixture may have 200 kB
PUBLIC_TYPES = {".json": "application/json", ".ndjson": "application/x-ndjson", ".csv": "text/csv"}


class LiveSite:
    """The request handlers. Each response comes from the publisher's latest snapshot or its journal."""

    def __init__(self, publisher: LivePublisher) -> None:
        self._publisher = publisher
        self._listeners = 0

    async def page(self, request: Request) -> Response:
        """Return the page."""
        return conditional_response(request, self._publisher.snapshot.page, "text/html; charset=utf-8")

    async def asset(self, request: Request) -> Response:
        """Return a style sheet or script of the page."""
        name = request.path_params["name"]
        if name not in ASSETS:
            return error_response(404, "there is no such file")
        return conditional_response(request, cached_asset(name), ASSETS[name])

    async def api(self, request: Request) -> Response:
        """Return one of the JSON documents below /api/."""
        name, names = request.path_params["name"], self._publisher.snapshot.api
        if name not in names:
            known = ", ".join([*names, "replay", "events"])
            return error_response(404, f"there is no such address; there are {known} and events.ndjson")
        return conditional_response(request, await self._publisher.api_response(name), "application/json")

    async def replay(self, request: Request) -> Response:
        """Return a table as JSON for the casino, which is the part of the page that replays tables."""
        body = await self._publisher.replay(request.query_params.get("table", ""))
        return Response(body, media_type="application/json")

    async def public_file(self, request: Request) -> Response:
        """Return a file of `export public`; with ?since=SEAL, only the records after that seal."""
        name = request.path_params["name"]
        lines = await self._publisher.public_lines(name, request.query_params.get("since", ""))

        async def chunks() -> AsyncIterator[bytes]:  # a copy of large records for each client would exhaust the memory
            for start in range(0, len(lines), LINES_PER_CHUNK):
                yield "".join(lines[start : start + LINES_PER_CHUNK]).encode()

        return StreamingResponse(chunks(), media_type=PUBLIC_TYPES.get(Path(name).suffix, "text/plain"))

    async def exported_events(self, request: Request) -> Response:
        """Return the events of the tables selected by ?of=, one JSON object per line."""
        chunks = self._publisher.events(request.query_params.get("of"))
        first = await anext(chunks, b"")  # raises UserError before the response has begun
        return StreamingResponse(prepend(first, chunks), media_type="application/x-ndjson")

    async def notifications(self, _request: Request) -> Response:
        """Return a stream of server-sent events, one per snapshot."""
        if self._listeners >= MAX_LISTENERS:
            return error_response(503, "too many clients are listening")
        # sse-starlette detects the end of the server only under asyncio and uvicorn; wait_for_shutdown does it here.
        return EventSourceResponse(self._notifications(), ping=PING_INTERVAL_S)

    async def _notifications(self) -> AsyncIterator[bytes]:
        self._listeners += 1
        try:
            yield b"retry: 2000\n\n"
            sent = -1
            while True:
                while self._publisher.snapshot.number == sent:
                    await self._publisher.changed.wait()
                sent = self._publisher.snapshot.number
                yield self._publisher.snapshot.notification
        finally:
            self._listeners -= 1


def application(publisher: LivePublisher, local: bool) -> Starlette:
    """Return the application with all routes.

    If it is `local`, it accepts only requests for a host name of this machine. This prevents DNS rebinding.
    """
    site = LiveSite(publisher)
    routes = [
        Route("/", site.page),
        Route("/assets/{name}", site.asset),
        Route("/api/events", site.notifications),
        Route("/api/events.ndjson", site.exported_events),
        Route("/api/replay", site.replay),
        Route("/api/{name}", site.api),
        Route("/public/{name}", site.public_file),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=LOCAL_HOSTS if local else ["*"], www_redirect=False)
    return Starlette(
        routes=routes,
        middleware=[Middleware(SecurityHeaders), hosts],
        exception_handlers={UserError: refuse},
    )


class SecurityHeaders:
    """Middleware that adds SECURITY_HEADERS to every response, except those that the response has already."""

    def __init__(self, app: ASGIApp, policy: str = LIVE_POLICY) -> None:
        self.app = app
        self._headers = SECURITY_HEADERS | {"content-security-policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {key for key, _ in message.get("headers", [])}
                added = [(key.encode(), value.encode()) for key, value in self._headers.items()]
                message["headers"] = [*message.get("headers", []), *(each for each in added if each[0] not in known)]
            await send(message)

        await self.app(scope, receive, send_with_headers)


async def prepend(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a chunk that has been read already, then the rest."""
    yield first
    async for chunk in rest:
        yield chunk


# GZipMiddleware would compress again for each client, and the ETags of StaticFiles depend on the time of a file.
# Here a body is compressed once for all clients, and its ETag survives a restart (docs/watching.md).
def conditional_response(request: Request, cached: CachedResponse, media_type: str) -> Response:
    """Return a cached response, compressed if the client accepts gzip; status 304 if the client has it already."""
    headers = {"etag": cached.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
    known = request.headers.get("if-none-match", "").split(",")
    if {cached.etag, "*"} & {etag.strip() for etag in known}:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(cached.gzipped, media_type=media_type, headers=headers | {"content-encoding": "gzip"})
    return Response(gzip.decompress(cached.gzipped), media_type=media_type, headers=headers)


@cache
def cached_asset(name: str) -> CachedResponse:
    """Return a style sheet or script, compressed."""
    return cached_response(asset(name).encode())


async def refuse(_request: Request, error: Exception) -> Response:
    """Return a UserError as JSON, with status 403 for a table that is withheld, and 404 for all other errors."""
    assert isinstance(error, UserError)
    return error_response(403 if error.exit_code == 5 else 404, error.problems[0].message)


def error_response(status: int, message: str) -> Response:
    """Return an error as JSON."""
    return JSONResponse({"message": message}, status_code=status)


def open_listener(bind: str) -> socket.socket:
    """Return a socket that listens at `host:port`. Raise UserError when the address is invalid or in use."""
    host, _, port = bind.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    listener: socket.socket | None = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(200)
    except (OSError, ValueError, OverflowError) as error:
        if listener is not None:
            listener.close()
        reason = error.strerror if isinstance(error, OSError) else "it must be HOST:PORT"
        problem = Problem("U001", f"--bind {bind}", f"cannot listen there: {reason}", hint="--bind 127.0.0.1:0")
        raise UserError([problem], 2) from error
    listener.setblocking(False)
    return listener


def is_local(listener: socket.socket) -> bool:
    """Return whether only this machine can reach a listener."""
    return ip_address(listener.getsockname()[0]).is_loopback


def address_for_others(listener: socket.socket) -> str:
    """Return the URL at which other machines reach a listener; empty if they cannot, or if it is not known."""
    host, port = listener.getsockname()[:2]
    if is_local(listener):
        return ""
    if ip_address(host).is_unspecified:
        # A socket at :: usually accepts IPv4 as well, which more machines of a network use.
        only_ipv6 = listener.family == socket.AF_INET6 and listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        host = own_address(socket.AF_INET6 if only_ipv6 else socket.AF_INET)
    return f"{url_of(host, port)}/" if host else ""


async def serve_journal(
    path: Path, listener: socket.socket, spoilers: bool = False, registry: Registry = CROUPIERS
) -> None:
    """Serve a journal until ^C or SIGTERM. With `spoilers`, also serve the cards of stages that are still running."""

    async def made(nursery: trio.Nursery) -> Starlette:
        publisher = await trio.to_thread.run_sync(LivePublisher, path, spoilers, registry)
        nursery.start_soon(publisher.follow)
        return application(publisher, is_local(listener))

    await serve_until_stopped(listener, made)


async def serve_until_stopped(
    listener: socket.socket, made: Callable[[trio.Nursery], Awaitable[Starlette]], **settings: Any
) -> None:
    """Serve an application until ^C or SIGTERM.

    `made` gets a nursery for background tasks and returns the application. `settings` are settings of Hypercorn.
    """
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.accesslog = None
    config.include_server_header = False
    config.graceful_timeout = 0.2
    config.shutdown_timeout = 1.0
    config.h11_max_incomplete_size = MAX_HEADER_BYTES
    for name, value in ({"errorlog": None} | settings).items():
        setattr(config, name, value)
    shutdown = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(wait_for_shutdown, shutdown)
        app = await made(nursery)
        await serve(app, config, shutdown_trigger=shutdown.wait)  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()


async def wait_for_shutdown(shutdown: trio.Event, task_status: trio.TaskStatus[None]) -> None:
    """Set an event at ^C or SIGTERM, and limit how long open connections can delay the exit."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        await anext(signals)
        trio.lowlevel.spawn_system_task(force_exit)
        shutdown.set()


async def force_exit() -> None:
    """End the process after SHUTDOWN_TIMEOUT_S if it has not ended by itself. It has no unsaved data.

    Hypercorn shields its sends from cancellation, so a client that requests much and reads nothing would keep the
    process running.
    """
    await trio.sleep(SHUTDOWN_TIMEOUT_S)
    os._exit(0)
