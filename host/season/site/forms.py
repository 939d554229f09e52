"""The forms of a season's pages. A handler checks the token, leaves a request in the inbox, and redirects to a page."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from host.base.errors import Problem
from host.season.documents import AuthorDocument
from host.season.entries.inbox import MAX_PRACTICE_TABLES, Activate, Cancel, Manage, Practise
from host.season.entries.names import whole_number
from host.season.site.context import Season, own_version
from host.season.site.errors import Refusal, not_found, unknown_link
from host.season.site.identity import (
    AUTHOR_COOKIE,
    FORM_COOKIE,
    ORGANISER_COOKIE,
    Viewer,
    check_form,
    set_cookie,
)
from host.season.site.inbox import submission_of
from host.season.site.pages import SeasonPages
from host.season.site.uploads import fields_of, received_form

ACTIONS = ("pause", "resume", "freeze", "unfreeze", "withdraw", "readmit", "cancel")
FREEZE_WORD = "freeze"  # that the organiser must write, so that no accidental click closes entry
ABOUT_A_SUBJECT = ("withdraw", "readmit", "cancel")
MAX_OPPONENTS = 32
MAX_REASON_CHARS = 200


class SeasonForms:
    """The handlers of forms."""

    def __init__(self, season: Season, pages: SeasonPages) -> None:
        self._season, self._pages = season, pages

    async def submit(self, request: Request) -> Response:
        """Receive a submission, and redirect to its page. If it is refused, return the form with the reason."""
        viewer = self._season.author(request)
        try:
            with self._season.receiving(viewer.author) as limit:
                async with received_form(request, self._season.inbox.folder, limit) as upload:
                    check_form(request, viewer, upload.fields.get("token", ""))
                    row = self._season.submit(viewer.author, upload, "web").row
        except Refusal as refused:
            if refused.status in (401, 403):
                raise
            return self._pages.submit_form(request, refused)
        return RedirectResponse(f"/mine/submissions/{row.id}", 303)

    async def join(self, request: Request) -> Response:
        """Leave a request for the name of a new author, and return a page that shows the link of the author once.

        If the name is refused, return the form with the reason.
        """
        viewer = self._season.viewer(request)
        fields = await self._fields(request, viewer)
        client = self._season.client(request)
        try:
            secret = self._season.join(_first(fields, "name"), client)
        except Refusal as refused:
            return self._pages.submit_form(request, refused)
        response = self._pages.message(request, "Welcome", link=f"{client.base}/a/{secret}")
        set_cookie(response, AUTHOR_COOKIE, secret, client)
        return response

    async def enter(self, request: Request) -> Response:
        """Store the secret of another author's link in this browser, and redirect to his page."""
        secret = _first(await self._fields(request, self._season.viewer(request)), "secret")
        return self._pages.entered(request, secret, self._season.owner_of(secret))

    async def leave(self, request: Request) -> Response:
        """Remove the cookies, and redirect to the ladder."""
        await self._fields(request, self._season.viewer(request))
        response = RedirectResponse("/", 303)
        for cookie in (AUTHOR_COOKIE, ORGANISER_COOKIE, FORM_COOKIE):
            response.delete_cookie(cookie, path="/")
        return response

    async def cancel(self, request: Request) -> Response:
        """Put a request to cancel a submission of the author into the inbox, and redirect to the page of the submission."""
        viewer = self._season.author(request)
        await self._fields(request, viewer)
        row = submission_of(self._season.submissions(viewer.author), request.path_params["id"])
        self._season.change(viewer.author, Cancel(viewer.author, row.id))
        return RedirectResponse(f"/mine/submissions/{row.id}", 303)

    async def version(self, request: Request) -> Response:
        """Leave a request to let a version of the author play, rest or practise."""
        viewer, params = self._season.author(request), request.path_params
        fields = await self._fields(request, viewer)
        mine = self._season.published.author(viewer.author).value
        practice = fields.get("opponent", []), whole_number(_first(fields, "tables"))
        self._season.change(viewer.author, change_of(mine, params["label"], params["action"], *practice))
        return RedirectResponse("/mine", 303)

    async def manage(self, request: Request) -> Response:
        """Leave a request for an action of the organiser.

        Raise Refusal (401) for anybody else, and (400) if entry shall be closed and the form does not have FREEZE_WORD.
        """
        viewer = self._season.viewer(request)
        if not viewer.organiser:
            raise unknown_link()
        fields = await self._fields(request, viewer)
        wanted = manage_of(request.path_params["action"], _first(fields, "subject"), _first(fields, "reason"))
        if wanted.action == "freeze" and _first(fields, "word").strip().lower() != FREEZE_WORD:
            hint = f"write {FREEZE_WORD} into the field beside the button"
            raise Refusal(400, Problem("W008", "word", "entry is closed only with this word", hint=hint))
        self._season.request("", wanted)
        return RedirectResponse("/admin", 303)

    async def _fields(self, request: Request, viewer: Viewer) -> Mapping[str, Sequence[str]]:
        """Return the values of a form without a file, by field. Raise Refusal (403) if the form is forged."""
        fields = await fields_of(request)
        check_form(request, viewer, _first(fields, "token"))
        return fields


def _first(fields: Mapping[str, Sequence[str]], name: str) -> str:
    return (fields.get(name) or [""])[0]


def change_of(
    mine: AuthorDocument, label: str, action: str, opponents: Sequence[str], tables: int
) -> Activate | Practise:
    """Return the request for an action on a version: "activate", "deactivate" or "practice".

    `mine` is the document of the author, and `label` names the version. `opponents` and `tables` are for practice.
    Raise Refusal if the version or the action does not exist, or if this practice is not possible.
    """
    version = own_version(mine, label)
    bot = version.label.rpartition("-")[0]
    match action:
        case "activate" | "deactivate":
            return Activate(mine.author, bot, version.number, action == "activate")
        case "practice":
            check_practice(opponents, tables)
            return Practise(mine.author, bot, version.number, tuple(opponents), tables)
    raise not_found("there is no such action", action[:40], "activate, deactivate, practice")


def check_practice(opponents: Sequence[str], tables: int) -> None:
    """Raise Refusal (400) if the number of tables is out of range, or if `opponents` are too many or not labels."""
    if not 1 <= tables <= MAX_PRACTICE_TABLES:
        hint = f"1 to {MAX_PRACTICE_TABLES}"
        raise Refusal(400, Problem("W008", "tables", "is not a number of tables", hint=hint))
    if len(opponents) > MAX_OPPONENTS or any(len(each) > 80 or not each.isprintable() for each in opponents):
        raise Refusal(400, Problem("W008", "opponents", "are too many, or not labels", hint="mine-4, sample:nestor"))


def manage_of(action: str, subject: str, reason: str) -> Manage:
    """Return the request for an action of the organiser.

    Raise Refusal (404) if there is no such action, and (400) if the action needs a subject and has none or the
    reverse, or if the subject or the reason is too long or has control characters.
    """
    if action not in ACTIONS:
        raise not_found("there is no such action", action[:40], ", ".join(ACTIONS))
    if (action in ABOUT_A_SUBJECT) != bool(subject) or len(subject) > 80 or not subject.isprintable():
        hint = "a bot, or the id of a submission; none for the season as a whole"
        raise Refusal(400, Problem("W008", "subject", "is missing, or not one of this action", hint=hint))
    if len(reason) > MAX_REASON_CHARS or not reason.isprintable():
        raise Refusal(400, Problem("W008", "reason", "is too long, or has control characters"))
    return Manage(action, subject, reason)  # type: ignore[arg-type]
