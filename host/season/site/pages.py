"""The pages of a season. Everybody may see the ladder, the rounds, the bots and the rules.

The pages of an author, and those of the organiser, need the secret of a link. No page needs a script.
"""

import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from sse_starlette import EventSourceResponse
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from host import __version__
from host.base.format import day, thousands
from host.base.safe_text import one_line
from host.report.page import PAGES
from host.report.terminal import known_duration
from host.season.documents import LadderDocument, LadderRow, RoundDocument, SiteDocument
from host.season.entries.inbox import MAX_PRACTICE_TABLES
from host.season.entries.values import new_secret
from host.season.folder import CHAIN_FILE, records_of
from host.season.site.cache import Cache
from host.season.site.charts import FILTERS, final, order_sentences, rating_axis, rating_line
from host.season.site.context import Season, own_version
from host.season.site.errors import Refusal, not_found, unknown_link
from host.season.site.events import PUBLIC, watched_by
from host.season.site.identity import (
    AUTHOR_COOKIE,
    FORM_COOKIE,
    ORGANISER,
    ORGANISER_COOKIE,
    Viewer,
    set_cookie,
)
from host.season.site.inbox import submission_of
from host.season.site.published import Loaded
from host.web.live import CachedResponse, cached_response
from host.web.server import PING_INTERVAL_S, cached_asset, conditional_response

TEMPLATES = Path(__file__).parent / "templates"
CHECK = Path(__file__).parents[1] / "season_check.py"
MAX_CACHED_PAGES, MAX_CACHED_FRAGMENTS = 256, 4
# On the page of an author; a link shows all submissions and faults.
SHOWN_SUBMISSIONS, SHOWN_FAULTS, SHOWN_ANSWERS = 30, 20, 20
PRACTICE_OPPONENTS = 20  # versions from the top of the ladder that the form offers
ASSETS = {"style.css": "text/css", "season.css": "text/css", "season.js": "text/javascript"}
REPORT_POLICY = "sandbox allow-scripts allow-popups; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The policy of a report or replay that a season has published: its scripts run, but as those of another site."""
STATE_SENTENCES = {
    "open": "",
    "paused": "The organiser has paused the season. What you submit waits; no round begins.",
    "frozen": "Entry is closed. Submissions are examined and kept, but not entered; practice goes on.",
    "final": "Entry is closed, and the final is being played.",
}


@cache
def environment() -> Environment:
    """Return the template environment. It escapes every value."""
    loader = FileSystemLoader([TEMPLATES, PAGES])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= FILTERS | {"num": thousands, "dur": known_duration, "name": one_line, "day": day}
    return made


def compile_templates() -> None:
    """Compile all templates, so that the first visitors do not wait for the compilation. May be called in a thread."""
    for file in sorted(TEMPLATES.glob("*.html")):
        environment().get_template(file.name)


@cache
def season_asset(file: str) -> CachedResponse:
    """Return a style sheet or script, compressed once for all clients."""
    if file == "style.css":
        return cached_asset(file)
    before = [PAGES / "shared.js"] if file == "season.js" else []
    return cached_response("\n".join(path.read_text() for path in [*before, TEMPLATES / file]).encode())


class View(NamedTuple):
    """The values that every page shows besides its own content."""

    season: Loaded[SiteDocument]
    viewer: Viewer
    here: str  # the address in the menu that the page belongs to
    live: bool = True
    private: bool = True  # whether it shows something that only its viewer may see


class SeasonPages:
    """The handlers of all pages."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self._pages = Cache[CachedResponse](MAX_CACHED_PAGES)
        self._fragments = Cache[Markup](MAX_CACHED_FRAGMENTS)

    # For everybody.

    async def ladder(self, request: Request) -> Response:
        """Return the page with the ladder."""
        view, found = self._view(request, "/"), self._season.published.ladder()
        values = {
            "title": "Ladder",
            "headline": headline(view.season.value, found.value if found else None),
            "state_sentence": STATE_SENTENCES[view.season.value.state],
            "table": self._fragment("ladder_table.html", found, _ladder_values),
        }
        return self._public(request, view, "ladder.html", values, [found])

    async def rounds(self, request: Request) -> Response:
        """Return the page with the list of rounds."""
        view, found = self._view(request, "/rounds"), self._season.published.rounds()
        table = self._fragment("rounds_table.html", found, lambda rounds: {"rounds": rounds})
        return self._public(request, view, "rounds.html", {"title": "Rounds", "table": table}, [found])

    async def round(self, request: Request) -> Response:
        """Return the page of a round."""
        view, found = self._view(request, "/rounds"), self._round(request)
        values = {"title": f"Round {found.value.row.number}", "round": found.value}
        return self._public(request, view, "round.html", values, [found])

    async def report(self, request: Request) -> Response:
        """Return the report of a round. Scripts in it cannot use the cookies of this site."""
        if not (file := self._round(request).value.report):
            raise not_found("there is no report of this round")
        headers = {"content-security-policy": REPORT_POLICY}
        return FileResponse(self._season.published.file(file), media_type="text/html", headers=headers)

    async def bot(self, request: Request) -> Response:
        """Return the page of a bot."""
        view, found, ladder = (
            self._view(request, ""),
            self._season.published.bot(request.path_params["name"]),
            self._season.published.ladder(),
        )
        rows = ladder.value.rows if ladder else ()
        row = next((each for each in rows if each.bot == found.value.bot), None)
        values = {"title": found.value.bot, "bot": found.value, "row": row}
        values["drawn"] = rating_line(row.history) if row else None
        return self._public(request, view, "bot.html", values, [found, ladder])

    async def rules(self, request: Request) -> Response:
        """Return the page with the rules, and with instructions for submitting a bot."""
        values = {"title": "Rules", "base": self._season.client(request).base}
        return self._public(request, self._view(request, "/rules"), "rules.html", values, [])

    async def chain(self, request: Request) -> Response:
        """Return the file with the chain. With the header Range, a client can fetch only the bytes that it lacks."""
        return download(self._season.published.file(CHAIN_FILE), CHAIN_FILE, "application/x-ndjson")

    async def records(self, request: Request) -> Response:
        """Return the records of a round that is over. The chain has the seal of their last line."""
        name = records_of(self._round(request).value.row.number)
        return download(self._season.published.file(name), name.replace("/", "-"), "application/x-ndjson")

    async def check(self, _request: Request) -> Response:
        """Return the program that checks the chain, the ladder and the records."""
        return download(CHECK.read_bytes(), "check.py", "text/x-python")

    async def asset(self, request: Request) -> Response:
        """Return a style sheet or the script."""
        file = request.path_params["name"]
        if file not in ASSETS:
            raise not_found("there is no such file", file[:80])
        return conditional_response(request, season_asset(file), f"{ASSETS[file]}; charset=utf-8")

    async def events(self, request: Request) -> Response:
        """Return a stream of events; for a private page, also about the author named by the cookies."""
        private = "private" in request.query_params
        return self.stream(request, self._season.viewer(request) if private else Viewer())

    def stream(self, request: Request, viewer: Viewer) -> Response:
        """Return a stream of events about changes of the documents that `viewer` may see.

        Raise Refusal (429) if too many clients listen.
        """
        season, client = self._season, self._season.client(request)
        with season.listening.held(client.address, "streams of events"):
            pass  # refuses before the stream begins

        async def events() -> Any:
            with season.listening.held(client.address, "streams of events"):
                since = request.headers.get("last-event-id") or request.query_params.get("since", "")
                async for event in season.news.events(watched_by(viewer), since):
                    yield event

        return EventSourceResponse(events(), ping=PING_INTERVAL_S)

    # For authors.

    async def link(self, request: Request) -> Response:
        """Store the secret of a link in a cookie, and redirect to an address without it.

        If the viewer is another author, return a page that asks him first. Otherwise a page of another site could lead
        him into the account of somebody else.
        """
        secret = request.path_params["secret"]
        found, known = self._season.owner_of(secret), self._season.viewer(request).author
        if known and found not in (known, ORGANISER):
            return self.message(request, "Another author", link="", entering=secret, author=found or "a new author")
        return self.entered(request, secret, found)

    def entered(self, request: Request, secret: str, found: str | None) -> Response:
        """Return a redirection to the page of `found`, the owner of a secret, and store the secret in a cookie."""
        response = RedirectResponse("/admin" if found == ORGANISER else "/mine", 303)
        cookie = ORGANISER_COOKIE if found == ORGANISER else AUTHOR_COOKIE
        set_cookie(response, cookie, secret, self._season.client(request))
        return response

    async def submit(self, request: Request) -> Response:
        """Return the form with which an author submits a bot, or with which a visitor takes an author's name."""
        return self.submit_form(request, None)

    def submit_form(self, request: Request, refused: Refusal | None) -> Response:
        """Return the form of the page /submit, with the reason if the last attempt was refused."""
        view = self._view(request, "/submit")._replace(live=False)
        mine = self._season.published.author(view.viewer.author).value if view.viewer.author else None
        values = {
            "title": "Submit a bot" if mine else "Take part",
            "bots": sorted({row.bot for row in mine.submissions}) if mine else [],
            "base": self._season.client(request).base,
            "problem": refused.problem if refused else None,
        }
        return self.private(request, view, "submit.html", values, refused.status if refused else 200)

    async def mine(self, request: Request) -> Response:
        """Return the page of an author: his submissions, versions, faults and own tables."""
        view = self._view(request, "/mine", author=True)
        mine = self._season.published.author(view.viewer.author).value
        rows = self._season.submissions(view.viewer.author)
        shown = rows if request.query_params.get("all") else rows[:SHOWN_SUBMISSIONS]
        values = {
            "title": "Mine",
            "mine": mine,
            "answers": [*mine.answers.values()][: -SHOWN_ANSWERS - 1 : -1],  # the newest first
            "quota": mine.quota.words(time.time()),
            "submissions": shown,
            "more_submissions": len(rows) if len(rows) > len(shown) else 0,
            "shown_faults": len(mine.faults) if request.query_params.get("all") else SHOWN_FAULTS,
            "files": {row.label: row.id for row in rows if row.label},  # the oldest file of each version: it is kept
            "reload": any(not final(row.state) for row in shown),
        }
        return self.private(request, view, "mine.html", values)

    async def submission(self, request: Request) -> Response:
        """Return the page of a submission of an author, with its verdict."""
        view = self._view(request, "/mine", author=True)
        row = submission_of(self._season.submissions(view.viewer.author), request.path_params["id"])
        values = {"title": row.label or row.bot or row.file_name, "row": row, "reload": not final(row.state)}
        return self.private(request, view, "submission.html", values)

    async def version(self, request: Request) -> Response:
        """Return the page of a version of an author, with the form for practice."""
        view, ladder = self._view(request, "/mine", author=True), self._season.published.ladder()
        version = own_version(self._season.published.author(view.viewer.author).value, request.path_params["label"])
        others = [row.label for row in ladder.value.rows if row.label != version.label] if ladder else []
        opponents = [*view.season.value.references, *others[:PRACTICE_OPPONENTS]]
        values = {"title": version.label, "version": version, "opponents": opponents, "max_tables": MAX_PRACTICE_TABLES}
        return self.private(request, view, "version.html", values)

    async def file(self, request: Request) -> Response:
        """Return the file of a submission to its author."""
        row, path = self._season.file_of(self._season.author(request).author, request.path_params["id"])
        return download(path, row.file_name)

    async def tables(self, request: Request) -> Response:
        """Return the tables of a round as the author's own bots saw them.

        The number in the address counts the rounds with such tables from 1, newest first.
        """
        author = self._season.author(request).author
        file_name, content = self._season.own_tables(author, request.path_params["number"])
        return download(content, file_name, "application/x-ndjson")

    # For the organiser.

    async def admin(self, request: Request) -> Response:
        """Return the page of the organiser. Raise Refusal (401) for anybody else."""
        view, ladder = self._view(request, "/admin"), self._season.published.ladder()
        if not view.viewer.organiser:
            raise unknown_link()
        bots = sorted({row.bot for row in ladder.value.rows}) if ladder else []
        values = {"title": "Organiser", "admin": self._season.published.admin().value, "bots": bots}
        return self.private(request, view, "admin.html", values)

    # Messages.

    def message(self, request: Request, title: str, **values: Any) -> Response:
        """Return a page with a message, for example with a link that is shown once."""
        view = self._view(request, "/submit")._replace(live=False)
        return self.private(request, view, "message.html", {"title": title, "problem": None, "entering": ""} | values)

    def refusal(self, request: Request, refused: Refusal) -> Response:
        """Return the page of a refusal. It works even if nothing has been published."""
        try:
            view = self._view(request, "")._replace(live=False)
        except Refusal:
            view = View(Loaded(NO_SEASON, 0), Viewer(), "", live=False)
        title = TITLES.get(refused.status, "This does not work")
        values = {"title": title, "problem": refused.problem, "link": "", "entering": ""}
        return self.private(request, view, "message.html", values, refused.status)

    # How pages are made.

    def _view(self, request: Request, here: str, author: bool = False) -> View:
        """Return the values that every page shows. `here` is the address in the menu that the page belongs to.

        With `author`, raise Refusal (401) if the viewer is not an author, and (503) if the season has not read his
        name yet.
        """
        viewer = self._season.author(request) if author else self._season.viewer(request)
        return View(self._season.published.site(), viewer, here)

    def _round(self, request: Request) -> Loaded[RoundDocument]:
        return self._season.published.round(request.path_params["number"])

    def _fragment(self, template: str, found: Loaded[Any] | None, values_of: Any) -> Markup:
        """Return a long table as HTML, the same for all viewers.

        If the document `found` has changed since the last call, render `template` with the values that `values_of`
        returns for the document.
        """

        def rendered() -> Markup:
            values = values_of(found.value if found else None)
            return Markup(environment().get_template(template).render(viewer=None, **values))

        return self._fragments.get((template, found and found.revision), rendered)

    def _public(
        self, request: Request, view: View, template: str, values: dict[str, Any], used: Sequence[Loaded[Any] | None]
    ) -> Response:
        """Return a page of which there is one form for visitors, one for authors, and one for the organiser.

        A form is rendered again only after a change of the ladder, the rounds, the season as a whole, or a document in
        `used`.
        """
        viewer = Viewer("an author" if view.viewer.author else "", view.viewer.organiser)
        revisions = tuple(each and each.revision for each in [view.season, *used])
        client, edition = self._season.client(request), self._season.news.edition(PUBLIC)
        key = request.url.path, viewer, edition, revisions, client.base
        shown = view._replace(viewer=viewer, private=False)
        page = self._pages.get(key, lambda: cached_response(self._rendered(shown, template, values).encode()))
        response = conditional_response(request, page, "text/html; charset=utf-8")
        response.headers["vary"] = "accept-encoding, cookie"
        return response

    def private(
        self, request: Request, view: View, template: str, values: dict[str, Any], status: int = 200
    ) -> Response:
        """Return a page for one viewer, with the token for its forms.

        The page is not compressed: if a stranger chooses a part of a page, its compressed length can reveal a secret in
        it.
        """
        viewer, made = view.viewer, ""
        if not viewer.key:
            made = new_secret()
            viewer = viewer._replace(key=made)
        body = self._rendered(view._replace(viewer=viewer), template, values)
        headers = {"cache-control": "private, no-store", "vary": "cookie", "x-robots-tag": "noindex"}
        response = Response(body, status, headers, "text/html; charset=utf-8")
        if made:  # a viewer without cookies gets one, to which the tokens of forms are bound
            set_cookie(response, FORM_COOKIE, made, self._season.client(request))
        return response

    def _rendered(self, view: View, template: str, values: dict[str, Any]) -> str:
        menu = [("/", "Ladder"), ("/rounds", "Rounds"), ("/rules", "Rules"), ("/submit", "Submit")]
        menu += [("/mine", "Mine")] if view.viewer.author else []
        menu += [("/admin", "Admin")] if view.viewer.organiser else []
        common = {
            "season": view.season.value,
            "viewer": view.viewer,
            "menu": menu,
            "here": view.here,
            "live": self._season.news.edition(watched_by(view.viewer) if view.private else PUBLIC) if view.live else "",
            "private": view.private,
            "croupier": __version__,
            "reload": False,
        }
        return environment().get_template(template).render(common | values)


def _ladder_values(ladder: LadderDocument | None) -> dict[str, Any]:
    rows: Sequence[LadderRow] = ladder.rows if ladder else ()
    scale, drawn = rating_axis(rows)
    return {"ladder": ladder, "scale": scale, "rows": drawn, "sentences": order_sentences(rows)}


def headline(season: SiteDocument, ladder: LadderDocument | None) -> str:
    """Return the first sentence of the ladder's page; the name of the season if the ladder is empty."""
    if not ladder or not ladder.rows:
        return season.name
    first = ladder.rows[0]
    return f"{one_line(first.label)} by {one_line(first.author)} leads after round {ladder.round}"


def download(content: Path | bytes, file_name: str, media_type: str = "application/octet-stream") -> Response:
    """Return a response with `content`: the bytes, or the file of a path. The browser stores it as `file_name`.

    The browser never shows the content, so scripts in it do not run.
    """
    shown = re.sub(r"[^\w.+-]", "_", file_name)[:120] or "file"
    quoted = f"attachment; filename*=UTF-8''{quote(shown)}"
    headers = {
        "content-disposition": quoted,
        "content-security-policy": "sandbox; default-src 'none'",
        "cache-control": "private, no-cache",
    }
    if isinstance(content, bytes):
        return Response(content, media_type=media_type, headers=headers)
    return GrowingFile(content, media_type=media_type, headers=headers)


class GrowingFile(FileResponse):
    """A response with a file that may grow while it is sent. It sends no more bytes than its header has announced."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or the part that the client asks for."""
        left = 0

        async def bounded(message: Message) -> None:
            nonlocal left
            if message["type"] == "http.response.start":
                left = int(Headers(raw=message["headers"])["content-length"])
            elif message["type"] == "http.response.body":
                message = {**message, "body": message["body"][:left]}
                left -= len(message["body"])
            await send(message)

        await super().__call__(scope, receive, bounded)


NO_SEASON = msgspec.convert(
    {
        "name": "croupier", "game": "", "title": "", "state": "open", "submissions": "invited", "freeze": None, "round": 0,
        "next_round": None, "bots": 0, "versions": 0, "waiting": 0, "now": "", "active": 1, "limits": {}, "references": [],
        "card": "", "rules": {}, "seed_sha256": "",
    },
    SiteDocument,
)  # fmt: skip
"""The season that the page of an error shows while nothing has been published."""
TITLES = {401: "A link is needed", 403: "Not allowed", 404: "Not found", 429: "Too many requests", 503: "Not yet"}
