"""The server: a page, its two scripts, a stream of news and some JSON. It reads a journal and writes nothing."""

import gzip
import os
import signal
import socket
from collections.abc import AsyncIterator
from functools import cache
from ipaddress import ip_address
from pathlib import Path

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
from host.web.live import CachedResponse, LivePublisher, sheet

MOST_LISTENERS = 500
LEAVING = 2.0  # seconds for everything to end in good order
HEADERS = {
    "content-security-policy": LIVE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOCAL = ["localhost", "127.0.0.1", "[::1]"]
PING_INTERVAL_S = 15


def application(room: LivePublisher, local: bool) -> Starlette:
    """Return the application; a `local` one answers only to this machine's own names (DNS rebinding)."""
    listeners = 0

    async def page(request: Request) -> Response:
        return shown(request, room.edition.page, "text/html; charset=utf-8")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return refusal(404, "there is no such file")
        return shown(request, packed_asset(name), ASSETS[name])

    async def figures(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in room.edition.api:
            return refusal(
                404,
                f"there is no such address; there are {', '.join(room.edition.api)}, replay, events and events.ndjson",
            )
        return shown(request, await room.figures(name), "application/json")

    async def replay(request: Request) -> Response:
        try:
            return Response(await room.replay(request.query_params.get("table", "")), media_type="application/json")
        except UserError as refused:
            return refusal(403 if refused.exit_code == 5 else 404, refused.problems[0].message)

    async def played(request: Request) -> Response:
        pieces = room.events(request.query_params.get("of"))
        try:
            first = await anext(pieces, b"")
        except UserError as refused:
            return refusal(403 if refused.exit_code == 5 else 404, refused.problems[0].message)
        return StreamingResponse(joined(first, pieces), media_type="application/x-ndjson")

    async def events(_request: Request) -> Response:
        if listeners >= MOST_LISTENERS:
            return refusal(503, "too many are listening")
        # The class's own watcher for the end of the server needs asyncio and uvicorn: wait_for_shutdown ends us instead.
        return EventSourceResponse(told(), ping=PING_INTERVAL_S)

    async def told() -> AsyncIterator[bytes]:
        nonlocal listeners
        listeners += 1
        try:
            yield b"retry: 2000\n\n"
            number = -1
            while True:
                while room.edition.number == number:
                    await room.changed.wait()
                number = room.edition.number
                yield room.edition.news
        finally:
            listeners -= 1

    routes = [
        Route("/", page),
        Route("/assets/{name}", file),
        Route("/api/events", events),
        Route("/api/events.ndjson", played),
        Route("/api/replay", replay),
        Route("/api/{name}", figures),
    ]
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=LOCAL if local else ["*"], www_redirect=False)
    return Starlette(routes=routes, middleware=[Middleware(SecurityHeaders), trusted])


async def joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield what has been read already, then the rest."""
    yield first
    async for piece in rest:
        yield piece


class SecurityHeaders:
    """Adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *ours]
            await send(message)

        await self.app(scope, receive, with_headers)


# Not GZipMiddleware and StaticFiles: the first compresses for each client again, and the tags of the second change with
# the time of a file. Here a body is compressed once for all clients, and its tag outlives the server (docs/watching.md).
def shown(request: Request, what: CachedResponse, kind: str) -> Response:
    """Return a sheet, or only that it is still the same as the one that is there already."""
    headers = {"etag": what.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    known = request.headers.get("if-none-match", "").split(",")
    if {what.tag, "*"} & {tag.strip() for tag in known}:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(what.packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})
    return Response(gzip.decompress(what.packed), media_type=kind, headers=headers)


@cache
def packed_asset(name: str) -> CachedResponse:
    """Return one of our own files as it is sent."""
    return sheet(asset(name).encode())


def refusal(status: int, words: str) -> Response:
    """Return why not, as JSON."""
    return JSONResponse({"message": words}, status_code=status)


def listening(bind: str) -> socket.socket:
    """Return a socket that listens at `host:port`. Raise Refused where that is not to be had."""
    host, _, port = bind.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    made: socket.socket | None = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(200)
    except (OSError, ValueError, OverflowError) as failed:
        if made is not None:
            made.close()
        why = failed.strerror if isinstance(failed, OSError) else "it must be HOST:PORT"
        problem = Problem("U001", f"--bind {bind}", f"cannot listen there: {why}", hint="--bind 127.0.0.1:0")
        raise UserError([problem], 2) from failed
    made.setblocking(False)
    return made


def is_local(made: socket.socket) -> bool:
    """Return whether only this machine can reach a socket."""
    return ip_address(made.getsockname()[0]).is_loopback


async def served(path: Path, made: socket.socket, spoilers: bool = False) -> None:
    """Serve a journal until ^C or SIGTERM; with `spoilers` also the cards of a stage that is not over."""
    config = Config()
    config.bind = [f"fd://{made.fileno()}"]
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.graceful_timeout = 0.2
    config.shutdown_timeout = 1.0
    config.h11_max_incomplete_size = 16 * 1024
    told = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(wait_for_shutdown, told)
        room = await trio.to_thread.run_sync(LivePublisher, path, spoilers)
        nursery.start_soon(room.follow)
        await serve(application(room, is_local(made)), config, shutdown_trigger=told.wait)  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()


async def wait_for_shutdown(told: trio.Event, task_status: trio.TaskStatus[None]) -> None:
    """Set an event at ^C or SIGTERM, and see to it that we end whoever listens."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        await anext(received)
        trio.lowlevel.spawn_system_task(leave)
        told.set()


async def leave() -> None:
    """End the process if it has not ended by itself: it has nothing to lose.

    Hypercorn shields what it sends from being cancelled: one client that asks for much and reads nothing would keep us.
    """
    await trio.sleep(LEAVING)
    os._exit(0)
