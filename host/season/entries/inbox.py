"""Defines the requests that the site, a hook or a command leaves in a season's inbox, and how they are stored there.

A request is a folder in `inbox/`: `request.json`, and `upload` if it carries a file. The folder is written under
another name and then renamed, so the season process sees it complete or not at all. Only the season process changes the
store. Its answers are in the documents that it publishes (host/season/documents.py).
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from host.base import paths
from host.base.errors import Problem
from host.base.safe_text import one_line
from host.submissions.file_tree import read_file

REQUEST_FILE, UPLOAD_FILE = "request.json", "upload"
SET_ASIDE = ".refused"  # the folder inside the inbox with damaged requests
MAX_SET_ASIDE = 50  # older ones are removed
MAX_REQUEST_BYTES = 64 << 10
MAX_REQUESTS = 1000  # requests that one call of `read_requests` returns
MAX_FILES = 4  # files of a request's folder that are counted; a request has at most two
MAX_PRACTICE_TABLES = 2000
UNFINISHED_S = 3600.0  # after this time, an incomplete request was left behind by a killed process
REQUEST_ID = re.compile(r"[0-9]{19}-[0-9a-f]{12}")
SHA256 = re.compile(r"[0-9a-f]{64}")


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """Submit a file, which is beside the request as `upload`."""

    author: str
    file_name: str
    door: str
    bot: str = ""  # the name of the bot; empty: the name of the file without its suffix
    licence: str = ""


class Activate(msgspec.Struct, frozen=True, tag="activate"):
    """Let a version play if `active` is True; otherwise stop it.

    A version that was taken off the ladder is on the ladder again when it is let play.
    """

    author: str
    bot: str
    number: int
    active: bool


class Practise(msgspec.Struct, frozen=True, tag="practise"):
    """Play practice tables of a version against others. They do not count."""

    author: str
    bot: str
    number: int
    opponents: tuple[str, ...] = ()  # labels of versions, and names of references; empty: all references
    tables: int = 200


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Cancel a submission that has no verdict yet."""

    author: str
    submission: str


class Join(msgspec.Struct, frozen=True, tag="join"):
    """Register as an author in a season that is open to anybody.

    `token_sha256` is the SHA-256 of the secret that the site has drawn for the author's link.
    """

    name: str
    token_sha256: str


class Invite(msgspec.Struct, frozen=True, tag="invite"):
    """Add an author, or replace the secret of the author's link (`again`).

    `token_sha256` is the SHA-256 of the secret, which the organiser's command has drawn.
    """

    name: str
    token_sha256: str
    again: bool = False


class Manage(msgspec.Struct, frozen=True, tag="manage"):
    """Carry out an `action` of the organiser on the season, or on the bot, the submission or the author `subject`."""

    action: Literal["pause", "resume", "freeze", "unfreeze", "withdraw", "readmit", "cancel", "rename", "remove"]
    subject: str = ""  # a bot, a submission or an author
    reason: str = ""
    name: str = ""  # the new name of an author


Request = Submit | Activate | Practise | Cancel | Join | Invite | Manage


def write_request(inbox: Path, request: Request, upload: Path | None = None) -> str:
    """Write a request into the inbox and return its id, which is the name of its folder. Ids sort by time.

    The file `upload` is moved into the folder; it must be on the same file system. Raise OSError if it cannot be written.
    """
    unfinished = inbox / f".{secrets.token_hex(8)}"
    unfinished.mkdir(parents=True)
    try:
        _write_durably(unfinished / REQUEST_FILE, msgspec.json.encode(request))
        if upload is not None:
            upload.replace(unfinished / UPLOAD_FILE)
        name = f"{time.time_ns():019d}-{secrets.token_hex(6)}"  # drawn last: the season reads in order of ids
        unfinished.rename(inbox / name)
    except OSError:
        for file in (REQUEST_FILE, UPLOAD_FILE):
            (unfinished / file).unlink(missing_ok=True)
        unfinished.rmdir()
        raise
    return name


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def written_at(identity: str) -> float:
    """Return when the request with an id was written, in seconds since 1970."""
    return int(identity.partition("-")[0]) / 1e9


def arrivals(inbox: Path) -> list[float]:
    """Return when the requests that an inbox has now were written, in seconds since 1970."""
    found = inbox.iterdir() if inbox.exists() else ()
    return [written_at(each.name) for each in found if REQUEST_ID.fullmatch(each.name)]


class StoredRequest(NamedTuple):
    """A request in the inbox.

    Its id is the name of its folder, which is removed after the request has been answered.
    """

    id: str
    folder: Path
    request: Request

    @property
    def at(self) -> float:
        """Return when the request was written, in seconds since 1970."""
        return written_at(self.id)

    @property
    def upload(self) -> Path:
        """Return the path of the file that belongs to the request, if there is one.

        Another process may change the file.
        """
        return self.folder / UPLOAD_FILE

    def remove(self) -> None:
        """Remove the request from the inbox."""
        paths.remove_tree(self.folder)


class Inbox(NamedTuple):
    """The content of an inbox: requests, oldest first, and a problem for each damaged request that was set aside."""

    requests: tuple[StoredRequest, ...]
    refused: tuple[Problem, ...]


class Damaged(Exception):
    """Raised for a folder in the inbox that `write_request` cannot have written."""


def read_requests(inbox: Path) -> Inbox:
    """Return the oldest requests of an inbox, at most MAX_REQUESTS of them.

    Move damaged requests into its folder `.refused`, and remove incomplete ones that are older than UNFINISHED_S.

    A process that can write into the inbox can write anything there. So no link is followed, and only small regular
    files are read.
    """
    inbox.mkdir(parents=True, exist_ok=True)
    found, refused = [], []
    with os.scandir(inbox) as entries:
        names = sorted(entry.name for entry in entries)
    for name in [each for each in names if not each.startswith(".")][:MAX_REQUESTS]:
        try:
            found.append(StoredRequest(name, inbox / name, request_in(inbox / name)))
        except (OSError, Damaged) as damaged:
            refused.append(_set_aside(inbox, name, damaged))
    for name in names:
        if name.startswith(".") and name != SET_ASIDE and _is_old(inbox / name):
            paths.remove_tree(inbox / name)
    return Inbox(tuple(found), tuple(refused))


def request_in(folder: Path) -> Request:
    """Return the request in a folder. Raise Damaged or OSError if the folder has no valid request."""
    if not REQUEST_ID.fullmatch(folder.name):
        raise Damaged("its name is not the id of a request")
    content, _ = read_file(folder.parent, f"{folder.name}/{REQUEST_FILE}", MAX_REQUEST_BYTES + 1)
    if len(content) > MAX_REQUEST_BYTES:
        raise Damaged(f"its {REQUEST_FILE} has more than {MAX_REQUEST_BYTES} bytes")
    try:
        request: Request = msgspec.json.decode(content, type=Request)
    except (ValueError, RecursionError) as wrong:  # also a UnicodeDecodeError, which is not a MsgspecError
        raise Damaged(str(wrong)) from wrong
    with os.scandir(folder) as entries:
        found = {entry.name: entry.is_file(follow_symlinks=False) for entry in islice(entries, MAX_FILES)}
    wanted = {REQUEST_FILE, UPLOAD_FILE} if isinstance(request, Submit) else {REQUEST_FILE}
    if found.keys() != wanted or not all(found.values()):
        raise Damaged(f"it should have {' and '.join(sorted(wanted))} and nothing else")
    if isinstance(request, Join | Invite) and not SHA256.fullmatch(request.token_sha256):
        raise Damaged("its hash of a secret is not a SHA-256")
    return request


def _set_aside(inbox: Path, name: str, why: Exception) -> Problem:
    """Move a damaged request into `.refused`, or remove it if it cannot be moved.

    Return a problem that describes it.
    """
    aside = inbox / SET_ASIDE
    try:
        if aside.is_symlink():
            aside.unlink()
        aside.mkdir(exist_ok=True)
        for old in sorted(_entries_of(aside))[: -(MAX_SET_ASIDE - 1)]:
            paths.remove_tree(old[1])
        (inbox / name).rename(aside / f"{time.time_ns()}-{secrets.token_hex(4)}")
    except OSError:
        paths.remove_tree(inbox / name)
    reason = (why.strerror or "cannot be read") if isinstance(why, OSError) else str(why)
    hint = "it did not come from croupier; look for what else writes into the inbox"
    return Problem("E010", one_line(name)[:100], f"is not a request: {one_line(reason)[:200]}", hint=hint)


def _entries_of(aside: Path) -> Iterator[tuple[str, Path]]:
    with os.scandir(aside) as entries:
        yield from ((entry.name, Path(entry.path)) for entry in entries)


def _is_old(path: Path) -> bool:
    try:
        return path.lstat().st_mtime < time.time() - UNFINISHED_S
    except OSError:
        return False
