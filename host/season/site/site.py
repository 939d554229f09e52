"""The site of a season. It reads the published documents, and writes only requests and uploads, into the inbox."""

import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.sandbox.landlock import confine
from host.season.site.api import SeasonApi
from host.season.site.context import Season
from host.season.site.errors import Refusal, not_found
from host.season.site.forms import SeasonForms
from host.season.site.identity import SiteOptions
from host.season.site.limits import LOCAL_REQUESTS, REQUESTS, RateLimiter
from host.season.site.pages import SeasonPages, compile_templates
from host.season.site.uploads import discard, remove_unfinished
from host.web.server import LOCAL_HOSTS, SecurityHeaders, is_local, serve_until_stopped

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The content security policy of the pages. Forms go to this site only; scripts inside a page never run."""
KEEP_ALIVE_TIMEOUT_S = 15  # for the next request of a connection, its headers included
READER_TIMEOUT_MS = 20_000  # for a client to take what was sent; Hypercorn itself would wait for ever
STRANGERS = (401, 403, 404, 405, 408, 429)
"""Statuses of refusals after which the site ends the connection and does not receive the rest of the body."""


class Gate:
    """Middleware before all handlers: refuses foreign hosts, and too many requests from an address."""

    def __init__(self, app: ASGIApp, site: "SeasonSite") -> None:
        self.app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            # It is raised if the client has gone, and Hypercorn is refusing its unfinished request.
            with suppress(trio.BusyResourceError):
                await send(message)

        request = Request(scope, receive)
        try:
            self._site.admit(request)
        except Refusal as refused:
            await (await self._site.refuse(request, refused))(scope, receive, sent)
        else:
            await self.app(scope, receive, sent)


class SeasonSite:
    """The handlers of all requests to a site, and the limits of their rate.

    A site is `local` if only this machine can reach it. It refuses requests for any host name but its own.
    """

    def __init__(self, folder: Path, options: SiteOptions, local: bool) -> None:
        self.season = Season(folder, options)
        self._pages = SeasonPages(self.season)
        self._requests, self._local_requests = RateLimiter(REQUESTS), RateLimiter(LOCAL_REQUESTS)
        self._hosts = {*LOCAL_HOSTS, _without_port(urlsplit(options.url).netloc.lower())} if local else None

    def application(self) -> Starlette:
        """Return the application with all routes, middleware and refusals."""
        return Starlette(
            routes=[*self._page_routes(), *self._api_routes()],
            middleware=[Middleware(SecurityHeaders, policy=POLICY), Middleware(Gate, site=self)],
            exception_handlers={Refusal: self.refuse, HTTPException: self._no_route, Exception: self._failed},
        )

    def _page_routes(self) -> list[Route]:
        pages, forms = self._pages, SeasonForms(self.season, self._pages)
        return [
            Route("/", pages.ladder),
            Route("/rounds", pages.rounds),
            Route("/rounds/{number:int}", pages.round),
            Route("/rounds/{number:int}/report", pages.report),
            Route("/rounds/{number:int}.ndjson", pages.records),
            Route("/bots/{name}", pages.bot),
            Route("/rules", pages.rules),
            Route("/chain.ndjson", pages.chain),
            Route("/check.py", pages.check),
            Route("/submit", pages.submit),
            Route("/submit", forms.submit, methods=["POST"]),
            Route("/join", forms.join, methods=["POST"]),
            Route("/leave", forms.leave, methods=["POST"]),
            Route("/enter", forms.enter, methods=["POST"]),
            Route("/a/{secret}", pages.link),
            Route("/o/{secret}", pages.link),
            Route("/mine", pages.mine),
            Route("/mine/submissions/{id}", pages.submission),
            Route("/mine/submissions/{id}/file", pages.file),
            Route("/mine/submissions/{id}/cancel", forms.cancel, methods=["POST"]),
            Route("/mine/versions/{label}", pages.version),
            Route("/mine/versions/{label}/{action}", forms.version, methods=["POST"]),
            Route("/mine/tables/{number}", pages.tables),
            Route("/admin", pages.admin),
            Route("/admin/{action}", forms.manage, methods=["POST"]),
            Route("/events", pages.events),
            Route("/assets/{name}", pages.asset),
        ]

    def _api_routes(self) -> list[Route]:
        api = SeasonApi(self.season, self._pages)
        return [
            Route("/api/season", api.site),
            Route("/api/ladder", api.ladder),
            Route("/api/ladder.csv", api.ladder_table),
            Route("/api/rounds", api.rounds),
            Route("/api/entries", api.entries),
            Route("/api/rounds/{number:int}", api.round),
            Route("/api/bots/{name}", api.bot),
            Route("/api/bots/{name}", api.put, methods=["PUT"]),
            Route("/api/bots", api.post, methods=["POST"]),
            Route("/a/{secret}", api.post_to_link, methods=["POST"]),
            Route("/api/events", api.events),
            Route("/api/join", api.join, methods=["POST"]),
            Route("/api/submissions/{id}", api.submission),
            Route("/api/submissions/{id}/file", api.file),
            Route("/api/submissions/{id}/cancel", api.cancel, methods=["POST"]),
            Route("/api/mine", api.mine),
            Route("/api/mine/tables/{number}", api.tables),
            Route("/api/versions/{label}/{action}", api.version, methods=["POST"]),
            Route("/api/requests/{id}", api.request),
            Route("/api/admin", api.admin),
            Route("/api/admin/{action}", api.manage, methods=["POST"]),
        ]

    def admit(self, request: Request) -> None:
        """Raise Refusal if the Host header does not name this site, or if the client sends too many requests."""
        host = request.headers.get("host", "").lower()
        if self._hosts is not None and _without_port(host) not in self._hosts:
            hint = "croupier season site --url https://HOST, if a proxy on this machine passes requests on"
            raise Refusal(400, Problem("W003", host[:80], "this site does not have this name", hint=hint))
        client = self.season.client(request)
        (self._local_requests if client.local else self._requests).check(client.address, "requests")

    async def refuse(self, request: Request, error: Exception) -> Response:
        """Return the response of a refusal: JSON for programs, a page for browsers.

        Receive the rest of the body first, because many clients do not read a response before they have sent
        everything. If the status is in STRANGERS, end the connection instead.
        """
        assert isinstance(error, Refusal)
        if request.method in ("POST", "PUT") and error.status not in STRANGERS:
            await discard(request)
        path, accepted = request.url.path, request.headers.get("accept", "")
        if path.startswith("/api/") or "text/html" not in accepted:
            response: Response = JSONResponse(error.json(), error.status)
        else:
            response = self._pages.refusal(request, error)
        response.headers["cache-control"] = "no-store"
        if error.retry_after:
            response.headers["retry-after"] = str(error.retry_after)
        if error.status in STRANGERS and request.method in ("POST", "PUT"):
            response.headers["connection"] = "close"
        if error.status == 401:
            response.headers["www-authenticate"] = "Bearer"
        return response

    async def _no_route(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refused = not_found("there is no such page", request.url.path[:120], "/rules lists how to submit")
        if error.status_code == 405:
            message = f"{request.method} is not possible here"
            refused = Refusal(405, Problem("W001", request.url.path[:120], message, hint="docs/season-api.md"))
        return await self.refuse(request, refused)

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Return the response if a handler raised an unexpected exception. The traceback goes to standard error."""
        problem = Problem(
            "H001", type(error).__name__, "an internal error of croupier", hint="the log of the site says more"
        )
        return await self.refuse(request, Refusal(500, problem))


def _without_port(host: str) -> str:
    return host if host.endswith("]") else host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host


async def serve_season(folder: Path, listener: socket.socket, options: SiteOptions | None = None) -> None:
    """Serve the site of the season in a folder until ^C or SIGTERM."""
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, READER_TIMEOUT_MS)
    site = SeasonSite(folder, options or SiteOptions(), is_local(listener))
    inbox, readable = site.season.inbox.folder, [folder / "published", folder / "uploads"]
    for place in (inbox, *readable):  # whatever is created after `confine` cannot be opened
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as failed:
            raise UserError([file_problem("created", place, failed)], 6) from failed
    remove_unfinished(inbox)
    confine(inbox, *readable)

    async def made(nursery: trio.Nursery) -> Starlette:
        nursery.start_soon(site.season.news.follow)
        nursery.start_soon(trio.to_thread.run_sync, compile_templates)
        return site.application()

    settings = {"errorlog": "-", "loglevel": "ERROR", "keep_alive_timeout": KEEP_ALIVE_TIMEOUT_S}
    await serve_until_stopped(listener, made, **settings)
