"""The HTTP API of a season: JSON for programs, which send the secret of their author's link. See docs/season-api.md."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response

from host.base.errors import Problem
from host.season.documents import LadderDocument, SubmissionRow
from host.season.entries.inbox import Activate, Cancel, Practise
from host.season.entries.names import season_bot_name, whole_number
from host.season.site.cache import Cache
from host.season.site.charts import final, ladder_csv
from host.season.site.context import HandedIn, Season
from host.season.site.errors import Refusal, checked, not_allowed, not_found, unknown_link, unpublished
from host.season.site.forms import change_of, manage_of
from host.season.site.identity import ORGANISER, Viewer, bearer_of, name_of
from host.season.site.inbox import RECEIVED, submission_of
from host.season.site.pages import SHOWN_ANSWERS, SeasonPages, download
from host.season.site.published import Loaded
from host.season.site.uploads import received_file, received_form, small_body
from host.web.live import CachedResponse, cached_response
from host.web.server import conditional_response

MAX_WAIT_S = 60.0  # longest wait for a change of a submission
DOORS = ("api", "submit")
MAX_CACHED = 64


class PracticeWish(msgspec.Struct, frozen=True):
    """The body of a request for practice."""

    opponents: tuple[str, ...] = ()
    tables: int = 200


class ManageWish(msgspec.Struct, frozen=True):
    """The body of a request for an action of the organiser."""

    subject: str = ""
    reason: str = ""


class JoinWish(msgspec.Struct, frozen=True):
    """The body of a request for an author's name."""

    name: str


class SeasonApi:
    """The handlers of all addresses below /api/."""

    def __init__(self, season: Season, pages: SeasonPages) -> None:
        self._season, self._pages = season, pages
        self._cached = Cache[CachedResponse](MAX_CACHED)

    # For everybody.

    async def site(self, request: Request) -> Response:
        """Return the document about the season as a whole."""
        return self._document(request, "season", self._season.published.site())

    async def ladder(self, request: Request) -> Response:
        """Return the ladder."""
        return self._document(request, "ladder", self._ladder())

    def _ladder(self) -> Loaded[LadderDocument]:
        if (found := self._season.published.ladder()) is None:
            raise unpublished("ladder", "the season has not published this yet")
        return found

    async def ladder_table(self, request: Request) -> Response:
        """Return the ladder as CSV."""
        found = self._ladder()
        cached = self._once("ladder.csv", found.revision, lambda: ladder_csv(found.value).encode())
        return conditional_response(request, cached, "text/csv; charset=utf-8")

    async def rounds(self, request: Request) -> Response:
        """Return the list of rounds."""
        return self._document(request, "rounds", self._season.published.rounds())

    async def entries(self, request: Request) -> Response:
        """Return the entries of the final, which are fixed when entry closes."""
        found = self._season.published.entries()
        if found is None:
            raise not_found("entry has not been closed yet, so there are no entries of the final", "/api/entries")
        return self._document(request, "entries", found)

    async def round(self, request: Request) -> Response:
        """Return one round."""
        return self._document(request, "round", self._season.published.round(request.path_params["number"]))

    async def bot(self, request: Request) -> Response:
        """Return one bot."""
        return self._document(request, "bot", self._season.published.bot(request.path_params["name"]))

    async def events(self, request: Request) -> Response:
        """Return a stream of events about changed documents; with a secret, also about the author's own documents."""
        if "authorization" not in request.headers:
            return self._pages.stream(request, Viewer())
        name = bearer_of(request, self._season.published.tokens())
        return self._pages.stream(request, Viewer(author=name, organiser=name == ORGANISER))

    async def join(self, request: Request) -> Response:
        """Leave a request for the name of a new author; return the link of the author and the secret in it.

        Nobody can ask for the secret later, because the season stores only its hash.
        """
        client = self._season.client(request)
        secret = self._season.join((await _decoded(request, JoinWish)).name, client)
        return _json("join", {"secret": secret, "link": f"{client.base}/a/{secret}"}, 202)

    # For authors.

    async def put(self, request: Request) -> Response:
        """Receive the body as a file for the bot that the address names; return the submission."""
        author, query = self._author(request), request.query_params
        bot = checked(season_bot_name, request.path_params["name"])
        file_name, door = query.get("file") or bot, query.get("door", "api")
        with self._season.receiving(author) as limit:
            async with received_file(request, self._season.inbox.folder, limit, file_name) as upload:
                handed_in = self._season.submit(author, upload, door if door in DOORS else "api", bot)
        return self._handed_in(handed_in)

    async def post(self, request: Request) -> Response:
        """Receive a form with a file; return the submission."""
        return await self._form(request, self._author(request))

    async def post_to_link(self, request: Request) -> Response:
        """Receive a form with a file at the address of a link: `curl -F file=@bot.tar.gz LINK`."""
        author = name_of(self._season.published.tokens(), request.path_params["secret"])
        if not author:
            raise unknown_link()
        return await self._form(request, author)

    async def _form(self, request: Request, author: str) -> Response:
        with self._season.receiving(author) as limit:
            async with received_form(request, self._season.inbox.folder, limit) as upload:
                handed_in = self._season.submit(author, upload, "api")
        return self._handed_in(handed_in)

    async def submission(self, request: Request) -> Response:
        """Return a submission.

        With `wait` (seconds, at most MAX_WAIT_S), first wait until the state is final or differs from `since`. If
        `since` is missing, wait until the present state changes.
        """
        author, query = self._author(request), request.query_params
        row = self._submission(request, author)
        since = query.get("since", row.state)
        with trio.move_on_after(min(MAX_WAIT_S, whole_number(query.get("wait", "")))):
            while row.state == since and not final(row.state):
                await trio.sleep(0.25)
                row = self._submission(request, author)
        return _json("submission", submission_json(row))

    async def file(self, request: Request) -> Response:
        """Return the file of a submission."""
        row, path = self._season.file_of(self._author(request), request.path_params["id"])
        return download(path, row.file_name)

    async def cancel(self, request: Request) -> Response:
        """Leave a request to cancel a submission; return the request."""
        author = self._author(request)
        row = self._submission(request, author)
        return self._requested(author, Cancel(author, row.id))

    async def mine(self, request: Request) -> Response:
        """Return the data for one author, with the submissions that the season has not read yet."""
        author = self._author(request)
        found = self._season.published.author(author).value
        changed = msgspec.structs.replace(found, submissions=tuple(self._season.submissions(author)))
        own: dict[str, Any] = msgspec.to_builtins(changed)
        own["quota"] = found.quota.words(time.time())
        own["messages"] = [answer.text for answer in found.answers.values()][-SHOWN_ANSWERS:]
        own["tables"] = [f"/api/mine/tables/{number}" for number in range(1, len(found.tables) + 1)]
        return _json("mine", own)

    async def tables(self, request: Request) -> Response:
        """Return the tables of a round as the author's own bots saw them.

        The number in the address counts the rounds with such tables from 1, newest first.
        """
        name, content = self._season.own_tables(self._author(request), request.path_params["number"])
        return download(content, name, "application/x-ndjson")

    async def version(self, request: Request) -> Response:
        """Leave a request to let a version play, rest or practise; return the request."""
        author, params = self._author(request), request.path_params
        wish = await _decoded(request, PracticeWish) if params["action"] == "practice" else PracticeWish()
        mine, practice = self._season.published.author(author).value, (wish.opponents, wish.tables)
        return self._requested(author, change_of(mine, params["label"], params["action"], *practice))

    async def request(self, request: Request) -> Response:
        """Return the state of a request, with its answer if there is one."""
        author = bearer_of(request, self._season.published.tokens())
        name, inbox = request.path_params["id"], self._season.inbox
        answer = self._season.published.author(author).value.answers.get(name) if author else None
        known = any(found.id == name and found.author == author for found in inbox.pending())
        if answer is None and not known:
            raise not_found("you have no request with this id, or its answer is not kept any more", name[:64])
        state = "done" if answer is not None or (not author and not inbox.waiting(name)) else RECEIVED
        return _json("request", request_json(name) | {"state": state} | (_answer_json(answer) if answer else {}))

    # For the organiser.

    async def admin(self, request: Request) -> Response:
        """Return the data for the organiser."""
        self._organiser(request)
        return _json("admin", msgspec.to_builtins(self._season.published.admin().value))

    async def manage(self, request: Request) -> Response:
        """Leave a request for an action of the organiser; return the request."""
        self._organiser(request)
        wish = await _decoded(request, ManageWish)
        name = self._season.request(ORGANISER, manage_of(request.path_params["action"], wish.subject, wish.reason))
        return _json("request", request_json(name), 202)

    # How answers are made.

    def _author(self, request: Request) -> str:
        author = bearer_of(request, self._season.published.tokens())
        if author == ORGANISER:
            raise not_allowed("this is for authors, and the secret is the organiser's", "croupier season invite NAME")
        return author

    def _organiser(self, request: Request) -> None:
        if bearer_of(request, self._season.published.tokens()) != ORGANISER:
            raise not_allowed("this is for the organiser")

    def _submission(self, request: Request, author: str) -> SubmissionRow:
        return submission_of(self._season.submissions(author), request.path_params["id"])

    def _requested(self, author: str, wanted: Activate | Cancel | Practise) -> Response:
        return _json("request", request_json(self._season.change(author, wanted)), 202)

    def _handed_in(self, handed_in: HandedIn) -> Response:
        return _json("submission", submission_json(handed_in.row), 202 if handed_in.new else 200)

    def _document(self, request: Request, schema: str, found: Loaded[Any]) -> Response:
        def body() -> bytes:
            return msgspec.json.encode({"schema": f"croupier/{schema}/1"} | msgspec.to_builtins(found.value))

        return conditional_response(request, self._once(request.url.path, found.revision, body), "application/json")

    def _once(self, address: str, revision: int, body: Callable[[], bytes]) -> CachedResponse:
        """Return the compressed response of an address. Call `body` only if no response for this revision is cached."""
        return self._cached.get((address, revision), lambda: cached_response(body()))


def submission_json(row: SubmissionRow) -> dict[str, Any]:
    """Return a submission as JSON keys. A submission has all keys in every state, so programs need no special cases."""
    verdict: dict[str, Any] = msgspec.to_builtins(row.verdict) if row.verdict else {}
    found = {"checks": verdict.get("findings", [])}
    found |= {key: verdict.get(key, []) for key in ("problems", "practice", "slowest")}
    found |= {key: verdict.get(key, "") for key in ("build_log", "stderr", "first_wrong")}
    found |= {key: verdict.get(key, 0.0) for key in ("cpu_seconds", "cpu_limit_seconds", "compute_seconds")}
    names = ("id", "sha256", "bot", "file_name", "size", "at", "state", "place", "label")
    known = {key: getattr(row, key) for key in names} | {"why": row.reason, "accepted": verdict.get("accepted")}
    return known | found | {"url": f"/api/submissions/{row.id}"}


def request_json(name: str) -> dict[str, Any]:
    """Return the JSON keys of a request without an answer. `name` is the id of the request."""
    return {"id": name, "state": RECEIVED, "answer": "", "code": "", "cure": "", "url": f"/api/requests/{name}"}


def _answer_json(answer: Any) -> dict[str, Any]:
    return {"answer": answer.text, "code": answer.code, "cure": answer.cure}


def _json(schema: str, facts: dict[str, Any], status: int = 200) -> Response:
    body = msgspec.json.encode({"schema": f"croupier/{schema}/1"} | facts)
    return Response(body, status, {"cache-control": "private, no-store"}, "application/json")


async def _decoded(request: Request, kind: type[Any]) -> Any:
    """Return the JSON body as a value of the type `kind`. An empty body counts as {}.

    Raise Refusal (400) if the body is not JSON, or does not fit the type.
    """
    try:
        return msgspec.json.decode(await small_body(request) or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = Problem("W008", "", f"the body is not the JSON that this address expects: {error}")
        raise Refusal(400, problem) from error
