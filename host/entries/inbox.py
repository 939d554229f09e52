"""Defines the requests that the site, a hook or a command leaves in a season's inbox, and how they are stored there.

A request is a folder in `inbox/`: `request.json`, and `upload` if it carries a file. It is written under another name and
renamed, so the season process, which alone changes the store, sees it whole or not at all. What it answers is in the
documents that it publishes (host/season/documents.py).
"""

import os
import secrets
import time
from pathlib import Path
from typing import Literal

import msgspec

REQUEST_FILE, UPLOAD_FILE = "request.json", "upload"


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """Hand in a file, which lies beside the request as `upload`."""

    author: str
    file_name: str
    door: str
    bot: str = ""  # its name; empty: that of its file without suffix
    licence: str = ""


class Activate(msgspec.Struct, frozen=True, tag="activate"):
    """Let a version play, or not. It also puts a version back on the ladder that was taken off it."""

    author: str
    bot: str
    number: int
    active: bool


class Practise(msgspec.Struct, frozen=True, tag="practise"):
    """Play practice tables of a version against others. They do not count."""

    author: str
    bot: str
    number: int
    opponents: tuple[str, ...] = ()  # labels of versions, or references; none: all references
    tables: int = 200


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Cancel a submission that has no verdict yet."""

    author: str
    submission: str


class Join(msgspec.Struct, frozen=True, tag="join"):
    """Take a name in a season that is open to anybody. `token_sha256` is the hash of the secret that the site has drawn."""

    name: str
    token_sha256: str


class Manage(msgspec.Struct, frozen=True, tag="manage"):
    """An action of the organiser: pause, resume or freeze the season; withdraw or take back a bot."""

    action: Literal["pause", "resume", "freeze", "withdraw", "readmit", "cancel"]
    subject: str = ""  # a bot or a submission
    reason: str = ""


Request = Submit | Activate | Practise | Cancel | Join | Manage


def write_request(inbox: Path, request: Request, upload: Path | None = None) -> str:
    """Leave a request in the inbox and return its id, which is the name of its folder. Ids sort by time.

    The file `upload` is moved into the folder; it must be on the same file system. Raise OSError if it cannot be written.
    """
    name = f"{time.time_ns():019d}-{secrets.token_hex(6)}"
    unfinished = inbox / f".{name}"
    unfinished.mkdir(parents=True)
    try:
        _write_durably(unfinished / REQUEST_FILE, msgspec.json.encode(request))
        if upload is not None:
            upload.replace(unfinished / UPLOAD_FILE)
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
