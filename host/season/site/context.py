"""Gives all request handlers of a season's site access to the same documents, inbox and limits."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request

from host.base.errors import Problem
from host.base.safe_text import one_line
from host.season.documents import AuthorDocument, SubmissionRow, VersionRow
from host.season.entries.inbox import SHA256, UPLOAD_FILE, Activate, Cancel, Join, Practise, Submit
from host.season.entries.inbox import Request as InboxRequest
from host.season.entries.names import author_name, name_beside, season_bot_name, whole_number
from host.season.entries.queue import why_refused
from host.season.entries.values import hash_of, new_secret
from host.season.site.errors import Refusal, checked, not_found, unknown_link
from host.season.site.events import News
from host.season.site.identity import AUTHOR_COOKIE, Client, SiteOptions, Viewer, client_of, name_of, viewer_of
from host.season.site.inbox import Inbox, settled, submission_of, submissions_of
from host.season.site.limits import (
    CHANGES,
    JOINS,
    STREAMS,
    STREAMS_OF_AN_ADDRESS,
    UPLOADS,
    UPLOADS_OF_AN_AUTHOR,
    RateLimiter,
    Slots,
)
from host.season.site.published import Published
from host.season.site.uploads import Upload, unreadable
from host.submissions.intake_log import file_stem

MAX_LICENCE_CHARS = 200
LATER_S = {"E004": 10, "E005": 1}
"""The shortest time in seconds after which a client may send a refused submission again, by error code of the limit.

A refused submission does not become possible later if its error code is missing here.
"""


class HandedIn(NamedTuple):
    """A submission. `new` is False if the same bytes had been handed in for the same bot before."""

    row: SubmissionRow
    new: bool


class Season:
    """A season as its site sees it. It reads `published/` and `uploads/`, and writes only to `inbox/`."""

    def __init__(self, folder: Path, options: SiteOptions) -> None:
        self.options = options
        self.published = Published(folder / "published")
        self.inbox = Inbox(folder / "inbox")
        self.news = News(self.published)
        self.changes, self.joins = RateLimiter(CHANGES), RateLimiter(JOINS)
        self.uploading = Slots(UPLOADS_OF_AN_AUTHOR, UPLOADS)
        self.listening = Slots(STREAMS_OF_AN_ADDRESS, STREAMS)
        self._uploads = folder / "uploads"

    def client(self, request: Request) -> Client:
        """Return the client that has sent a request."""
        return client_of(request, self.options)

    def viewer(self, request: Request) -> Viewer:
        """Return the viewer of a page. Raise Refusal (403) if a proxy names an unknown author."""
        return viewer_of(request, self.published.tokens(), self.options)

    def author(self, request: Request) -> Viewer:
        """Return the viewer of a page that is for authors.

        Raise Refusal (401) if the viewer is not an author, and (503) if the season has not read his name yet.
        """
        viewer = self.viewer(request)
        if not viewer.author:
            if self.joining(request.cookies.get(AUTHOR_COOKIE, "")):
                raise Refusal(503, unknown_link().problem._replace(message="the season has not read your name yet"), 5)
            raise unknown_link()
        return viewer

    def submissions(self, author: str) -> Sequence[SubmissionRow]:
        """Return the submissions of an author, newest first, including those that the season has not read yet."""
        return submissions_of(self.published.author(author).value, self.inbox.pending())

    @contextmanager
    def receiving(self, author: str) -> Iterator[int]:
        """Count a submission of an author, and hold one of his slots for uploads during the block.

        Yield the largest size of a file, in bytes. Raise Refusal (429) if he submits too often, or if too many uploads
        are under way.
        """
        self.changes.check(author, "submissions")
        with self.uploading.held(author, "uploads"):
            yield self.published.site().value.upload_bytes

    def submit(self, author: str, upload: Upload, door: str, bot: str = "") -> HandedIn:
        """Hand in a file for a bot, and return the submission. Raise Refusal if the site does not accept it.

        The bot gets the name `bot`; if that is empty, the name in the form; if the form has none, the name of the
        file. If another author has a bot of this name, the author's name is added to it.
        """
        if not upload.size:
            raise unreadable("there is no file in the form" if not upload.file_name else "the file is empty")
        wanted = bot or upload.fields.get("bot", "").strip() or file_stem(upload.file_name)
        name = checked(season_bot_name, wanted)
        if self.published.owner(name) not in (author, ""):
            name = checked(season_bot_name, name_beside(name, author))
        licence = one_line(upload.fields.get("licence", ""))[:MAX_LICENCE_CHARS]
        for row in self.submissions(author):
            if (row.bot, row.sha256) == (name, upload.sha256) and settled(row):
                return HandedIn(row, new=False)
        self._check_quota(author, upload.size)
        self.inbox.check_room(author)
        return HandedIn(self.inbox.submit(Submit(author, upload.file_name, door, name, licence), upload), new=True)

    def _check_quota(self, author: str, size: int) -> None:
        """Raise Refusal if a file of `size` bytes exceeds a limit of the author. The season would refuse it, too."""
        own = [each for each in self.inbox.pending() if isinstance(each.request, Submit) and each.author == author]
        left = [each.id for each in own if self.inbox.waiting(each.id)]  # the others are answered
        mine, now = self.published.author(author).value, time.time()
        used = mine.quota.used
        unread = sum(each not in mine.answers for each in left)
        quota = mine.quota._replace(used=used._replace(waiting=used.waiting + unread))
        if problem := why_refused(quota, size, now):
            seconds = max(LATER_S.get(problem.code, 0), math.ceil(quota.free_in(now)))
            raise Refusal(429 if seconds else 409, problem, seconds)

    def request(self, author: str, wanted: InboxRequest) -> str:
        """Leave a request of an author, or of the organiser (""), in the inbox; return its id."""
        self.inbox.check_room(author)
        return self.inbox.put(wanted)

    def change(self, author: str, wanted: Activate | Cancel | Practise) -> str:
        """Count a request of an author, leave it in the inbox, return its id. Raise Refusal (429) above the limit."""
        self.changes.check(author, "requests")
        return self.request(author, wanted)

    def join(self, name: str, client: Client) -> str:
        """Leave a request for the name of a new author; return the secret of his link.

        Raise Refusal if the name is taken or not allowed, or if the season is only for invited authors.
        """
        if self.published.site().value.submissions != "anybody":
            raise Refusal(
                409, Problem("W011", "", "this season is for invited authors", hint="ask its organiser for a link")
            )
        name = checked(author_name, name.strip())
        taken = {known.casefold() for known in self.published.tokens()}
        taken |= {found.request.name.casefold() for found in self.inbox.pending() if isinstance(found.request, Join)}
        if name.casefold() in taken:
            raise Refusal(409, Problem("W009", name, "this name is taken", hint="choose another one"))
        self.joins.check(client.address, "names")
        secret = new_secret()
        self.request("", Join(name, hash_of(secret)))
        return secret

    def owner_of(self, secret: str) -> str | None:
        """Return the author whose link has a secret; None if the season has not read the author's name yet.

        Raise Refusal (401) if no link has this secret.
        """
        found = name_of(self.published.tokens(), secret)
        if found is None and not self.joining(secret):
            raise unknown_link()
        return found

    def joining(self, secret: str) -> bool:
        """Return whether a secret belongs to a new author whose name the season has not read yet."""
        wanted = hash_of(secret)
        requests = (found.request for found in self.inbox.pending())
        return any(isinstance(each, Join) and each.token_sha256 == wanted for each in requests)

    def file_of(self, author: str, name: str) -> tuple[SubmissionRow, Path]:
        """Return a submission of an author and the path of its file. Raise Refusal (404) if either does not exist."""
        row = submission_of(self.submissions(author), name)
        places = [self._uploads / row.sha256] if SHA256.fullmatch(row.sha256) else []
        waiting = [found for found in self.inbox.pending() if found.author == author and found.sha256 == row.sha256]
        places += [self.inbox.folder / found.id / UPLOAD_FILE for found in waiting]
        path = next((place for place in places if place.is_file() and not place.is_symlink()), None)
        if path is None:
            raise not_found("the season does not keep this file any more", row.file_name)
        return row, path

    def own_tables(self, author: str, number: str) -> tuple[str, bytes]:
        """Return the file name and the bytes of an author's own tables of a round.

        `number` counts the rounds with such tables from 1, newest first. Raise Refusal (404) if there is no such round.
        """
        rounds = self.published.author(author).value.tables
        if not 1 <= whole_number(number) <= len(rounds):
            raise not_found("you have no tables with this number", number[:20])
        which = rounds[whole_number(number) - 1]
        return f"{which:05d}.ndjson", self.published.own_tables(author, which)


def own_version(mine: AuthorDocument, label: str) -> VersionRow:
    """Return a version of an author by its label. Raise Refusal (404) if the author has no such version."""
    found = next((version for version in mine.versions if version.label == label), None)
    if found is None:
        raise not_found("you have no version with this label", one_line(label)[:80])
    return found
