"""Leaves requests in a season's inbox, and remembers them until their answers are published."""

import hashlib
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import trio

from host.base.errors import Problem
from host.base.safe_text import one_line
from host.season.documents import AuthorDocument, SubmissionRow
from host.season.entries.inbox import UPLOAD_FILE, Damaged, Request, Submit, request_in, write_request, written_at
from host.season.entries.values import Answer, SubmissionState, submission_id
from host.season.site.errors import RETRY_AFTER_S, Refusal, not_found
from host.season.site.uploads import Upload, no_room

MAX_PENDING_OF_AN_AUTHOR = 20  # requests that the season has not read yet
MAX_PENDING = 2000
MIN_FREE_BYTES = 256 << 20  # on the disk of the inbox
REMEMBERED_S = 120.0  # a request that the season has read, until its answer is published
MAX_REMEMBERED = 5000
RECEIVED = "received"  # the state of a submission that the season has not read yet
NOT_READ = "the season has not read it yet; it does so within seconds while it is open"


class Pending(NamedTuple):
    """A request that is in the inbox, or was there in the last REMEMBERED_S.

    `sha256` and `size` (bytes) describe the submitted file. They are empty and 0 for a request without a file.
    """

    id: str
    request: Request
    sha256: str = ""
    size: int = 0

    @property
    def author(self) -> str:
        """Return the name of the author of the request; empty for a request of the organiser or of a new author."""
        return getattr(self.request, "author", "")

    @property
    def row(self) -> SubmissionRow:
        """Return the row that the author sees for this submission until the season has read the request."""
        assert isinstance(self.request, Submit)
        bot = self.request.bot
        known = submission_id(self.request.author, bot, self.sha256)
        name, at = self.request.file_name, written_at(self.id)
        return SubmissionRow(known, bot, name, self.sha256, self.size, at, RECEIVED, NOT_READ, 0, "", None)


class Inbox:
    """The folder `inbox/` of a season, and the requests that were there in the last REMEMBERED_S."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: OrderedDict[str, tuple[float, Pending]] = OrderedDict()  # by id, with the time when last seen

    def pending(self) -> Sequence[Pending]:
        """Return the requests that are in the inbox, or were there in the last REMEMBERED_S, oldest first."""
        now = trio.current_time()
        for name in self._names():
            if name in self._known:
                self._known[name] = now, self._known[name][1]
            elif found := read_request(self.folder / name):
                self._known[name] = now, found
        for name, (seen, _) in list(self._known.items()):
            if seen < now - REMEMBERED_S or len(self._known) > MAX_REMEMBERED:
                del self._known[name]
        return [found for _, found in sorted(self._known.values(), key=lambda each: each[1].id)]

    def waiting(self, name: str) -> bool:
        """Return whether the request with the id `name` is in the inbox."""
        return name in self._names()

    def _names(self) -> set[str]:
        try:
            return {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        except OSError:
            return set()

    def check_room(self, author: str) -> None:
        """Raise Refusal if too many requests, of the author or in total, are unread, or if the disk is almost full."""
        names = self._names()
        of_author = sum(found.author == author and found.id in names for found in self.pending())
        if author and of_author >= MAX_PENDING_OF_AN_AUTHOR:
            message = f"{of_author} requests of yours have not been read yet"
            raise Refusal(429, Problem("W007", "", message, hint="wait for the season to read them"), RETRY_AFTER_S)
        if len(names) >= MAX_PENDING:
            message = f"the season does not read its inbox: {len(names)} requests wait"
            raise Refusal(503, Problem("W010", "inbox", message, hint="tell the organiser"), 60)
        try:
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise no_room(error) from error
        if free < MIN_FREE_BYTES:
            raise Refusal(503, Problem("W010", "inbox", "the disk is almost full", hint="tell the organiser"), 60)

    def put(self, request: Request) -> str:
        """Leave a request; return its id. Raise Refusal (503) if it cannot be written."""
        return self._write(Pending("", request), None)

    def submit(self, request: Submit, upload: Upload) -> SubmissionRow:
        """Leave a request to submit a received file, and return the submission.

        If a request with the same bytes for the same bot is pending, return its submission and leave no other request.
        Raise Refusal (503) if the request cannot be written.
        """
        for known in self.pending():
            same = isinstance(known.request, Submit) and (known.request.author, known.request.bot)
            if same == (request.author, request.bot) and known.sha256 == upload.sha256:
                return known.row
        made = Pending("", request, upload.sha256, upload.size)
        return made._replace(id=self._write(made, upload.path)).row

    def _write(self, pending: Pending, upload: Path | None) -> str:
        try:
            name = write_request(self.folder, pending.request, upload)
        except OSError as error:
            raise no_room(error) from error
        self._known[name] = trio.current_time(), pending._replace(id=name)
        return name


def read_request(folder: Path) -> Pending | None:
    """Return the request in a folder, which an earlier site or another program has left in the inbox.

    Return None if the season has just taken the request, or if it is damaged.
    """
    try:
        request = request_in(folder)
        if not isinstance(request, Submit):
            return Pending(folder.name, request)
        with (folder / UPLOAD_FILE).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Pending(folder.name, request, digest, file.tell())
    except (OSError, Damaged):
        return None


def submissions_of(author: AuthorDocument, pending: Sequence[Pending]) -> Sequence[SubmissionRow]:
    """Return the submissions of an author: first those that the season has not stored, then the others.

    Both parts begin with the newest submission.

    A file that is handed in again replaces its earlier submission if that was cancelled, or refused before it ran.
    """
    stored = {row.id for row in author.submissions if settled(row)}
    rows = {}
    for each in pending:
        if isinstance(each.request, Submit) and each.author == author.author:
            answer = author.answers.get(each.id)
            row = each.row
            if answer is not None and answer.code:
                row = msgspec.structs.replace(row, state=SubmissionState.REFUSED, reason=_why(answer))
            elif answer is not None:  # the season has stored it, and publishes it in the same document
                continue
            rows[row.id] = row
    fresh = [row for name, row in rows.items() if name not in stored]
    return [*reversed(fresh), *(row for row in author.submissions if row.id not in {each.id for each in fresh})]


def _why(answer: Answer) -> str:
    return f"{answer.text}; {answer.cure}" if answer.cure else answer.text


def submission_of(rows: Sequence[SubmissionRow], name: str) -> SubmissionRow:
    """Return the submission with an id, or with the SHA-256 of its file. Raise Refusal (404) if there is none."""
    found = next((row for row in rows if name in (row.id, row.sha256)), None)
    if found is None:
        raise not_found("you have no submission with this id", one_line(name)[:64])
    return found


def settled(row: SubmissionRow) -> bool:
    """Return whether a submission waits, runs, or has a verdict. If so, the site does not take the same bytes again.

    A submission that was cancelled, or refused before it ran (a full queue, a quota), may be handed in again.
    """
    if row.state == SubmissionState.CANCELLED:
        return False
    return row.state != SubmissionState.REFUSED or row.verdict is not None
