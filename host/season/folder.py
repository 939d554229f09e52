"""The folder of a season: its files, its seed, and the seeds that follow from it (docs/season.md)."""

import json
import os
import re
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.config.resolver import CONFIG
from host.games.luck import derive
from host.journal.tournament_dir import Commitment, commitment
from protocols.strict_json import read_json

FINAL = "final"
"""What the seed of the final is derived from, before it is bound to the entries."""


CHAIN_FILE = "chain.ndjson"
"""The chain of the season, below published/."""


class MadeFinal(msgspec.Struct, frozen=True):
    """The final that has been made: where, when, and who plays it."""

    folder: str
    at: float
    digest: str  # of the hashes of its entries
    entries: tuple[str, ...]  # labels


class SeasonFolder(NamedTuple):
    """The folder of a season. The site reads `published` and `uploads`, and writes only to `inbox`."""

    path: Path

    @property
    def config(self) -> Path:
        """The croupier.toml."""
        return self.path / CONFIG

    @property
    def store(self) -> Path:
        """The database, which the season process alone writes."""
        return self.path / "season.sqlite"

    @property
    def inbox(self) -> Path:
        """The requests of the site and of commands."""
        return self.path / "inbox"

    @property
    def uploads(self) -> Path:
        """The files as authors have handed them in, by their SHA-256."""
        return self.path / "uploads"

    @property
    def published(self) -> Path:
        """What the site reads: its database (host/season/documents.py), and the reports of rounds."""
        return self.path / "published"

    @property
    def chain_file(self) -> Path:
        """The chain of the season (docs/checking.md), which everybody may read."""
        return self.published / CHAIN_FILE

    @property
    def rounds(self) -> Path:
        """The tournament folders of the rounds."""
        return self.path / "rounds"

    @property
    def final_file(self) -> Path:
        """Where the folder of the final is, once it has been made."""
        return self.path / "final.json"

    def final(self) -> MadeFinal | None:
        """Return the final; None if it has not been made, or its file is damaged."""
        try:
            return msgspec.json.decode(self.final_file.read_bytes(), type=MadeFinal)
        except (OSError, msgspec.MsgspecError):
            return None

    def round(self, number: int) -> Path:
        """Return the tournament folder of a round."""
        return self.rounds / f"{number:04d}"

    def create(self) -> None:
        """Create the folders that are missing."""
        for folder in (self.inbox, self.uploads, self.published / "rounds", self.rounds):
            folder.mkdir(parents=True, exist_ok=True)

    # Seeds.

    @property
    def seed_file(self) -> Path:
        """128 random bits, which only the owner can read."""
        return self.path / "seed"

    @property
    def commitment_file(self) -> Path:
        """The hash of the seed, and when it was fixed."""
        return self.path / "commitment.json"

    def draw_seed(self) -> Commitment:
        """Draw the seed of the season and commit to it, unless that has been done. Return the commitment.

        Raise UserError if the seed is not the one that was committed to.
        """
        if not self.seed_file.exists() and not self.commitment_file.exists():
            drawn = self.path / ".seed.drawn"
            drawn.unlink(missing_ok=True)
            descriptor = os.open(drawn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(16) + "\n")
                file.flush()
                os.fsync(file.fileno())
            drawn.rename(self.seed_file)
        if not self.commitment_file.exists():
            made = Commitment(commitment(self.seed()), time.time())
            write_atomically(self.commitment_file, json.dumps(made._asdict()).encode() + b"\n")
        promised = self.committed()
        if promised.sha256 != commitment(self.seed()):
            raise _wrong_seed(self.seed_file, "is not the seed that was committed to when the season opened")
        return promised

    def seed(self) -> bytes:
        """Return the seed of the season. Raise UserError if it cannot be read."""
        try:
            text = self.seed_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as failed:
            why = getattr(failed, "strerror", None) or "it is not text"
            raise _wrong_seed(self.seed_file, f"cannot be read: {why}") from failed
        if not re.fullmatch("[0-9a-f]{32}", text):
            raise _wrong_seed(self.seed_file, "is not a seed, which has 32 hexadecimal digits")
        return bytes.fromhex(text)

    def committed(self) -> Commitment:
        """Return the commitment. Raise UserError if it is missing or damaged."""
        try:
            said = read_json(self.commitment_file.read_text())
            return Commitment(str(said["sha256"]), float(said["at"]))
        except (OSError, ValueError, KeyError, TypeError) as broken:
            raise _wrong_seed(self.commitment_file, "cannot be read, or is not a commitment") from broken


def records_of(number: int) -> str:
    """Return the name of the records of a round below published/, and in the folder of an export."""
    return f"rounds/{number:04d}.ndjson"


def round_root(seed: bytes, number: int) -> bytes:
    """Return the 16 bytes from which a round deals: it can be revealed without revealing other rounds or the seed."""
    return derive(seed, f"round/{number}")[:16]


def final_seed(seed: bytes) -> bytes:
    """Return the 16 bytes of the seed of the final. The final binds them to its entries (`bind_seed`).

    So nobody can choose an entry to suit the seed, because only the organiser knows it; and the organiser cannot choose the
    seed to suit the entries, because he has committed to it before.
    """
    return derive(seed, FINAL)[:16]


def write_atomically(path: Path, content: bytes | Iterable[bytes], mode: int = 0o644) -> None:
    """Write a file, whole or in parts, completely or not at all, and on the disk. A reader sees the old or the new content."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            os.fchmod(file.fileno(), mode)
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _wrong_seed(file: Path, why: str) -> UserError:
    hint = "restore it from a backup: croupier season backup has it"
    return UserError([Problem("R010", str(file), why, hint=hint)], 3)
