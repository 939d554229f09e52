"""The folder of a tournament: its config, its bots, and everything that a run writes."""

import hashlib
import json
import re
import secrets
import stat
import time
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.output import write_atomically
from host.journal.check import journal_exists, wal_files
from host.journal.kept_lines import kept_lines_file
from host.journal.reader import Journal
from protocols.strict_json import read_json

START_AGAIN = "start again with  croupier run --fresh"
"""The last part of a hint, or all of it."""

RESTORE = f"restore it from a backup, or {START_AGAIN}"
"""The hint for a damaged file with a seed or a commitment."""

RECORDINGS = "run/models"
"""The path, in a tournament's folder, of the recorded messages between bots and models, if croupier.toml wants them."""


class Commitment(NamedTuple):
    """The hash of a seed, and the time before the tournament when the seed was fixed, in seconds since 1970."""

    sha256: str
    at: float


class Folder:
    """The folder of a tournament. A run writes only below `run/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run"
        self.journal = self.run / "run.sqlite"
        self.seed_file = self.run / "seed"
        self.commitment_file = self.run / "commitment.json"
        self.undecided = self.run / "undecided"  # bundles of tables at which the game has failed
        self.open = self.run / "open"  # answers of fixtures that are being played, if a bot asks models
        self.recordings = self.path / RECORDINGS

    @property
    def has_journal(self) -> bool:
        """Whether a run has written a journal here."""
        return journal_exists(self.journal)

    def create_seed(self) -> None:
        """Draw a seed of 128 random bits into a file that only its owner can read. Keep an existing seed."""
        if self.seed_file.exists():
            return
        self.run.mkdir(parents=True, exist_ok=True)
        draw_seed(self.seed_file)

    def seed(self, chosen: str) -> bytes:
        """Return the seed: the text `chosen` in the config, or the drawn seed if that is "random".

        Raise UserError if the drawn seed cannot be read.
        """
        if chosen != "random":
            return read_seed(chosen)
        return drawn_seed(self.seed_file, RESTORE)

    def reveal(self) -> None:
        """Make the seed readable for all users, after the tournament."""
        if self.seed_file.exists():
            self.seed_file.chmod(0o644)

    def revealed(self, journal: Journal) -> bool:
        """Return whether authors could know the drawn seed: others can read its file, or the run has been finished.

        After a finished run the seed is public, whatever the mode of its file is now. Later changes of the run record
        this as `revealed`.
        """
        if not self.seed_file.exists():
            return False
        if journal.state().finished or any(change.about.get("revealed") for change in journal.changes()):
            return True
        return bool(self.seed_file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))

    def commit(self) -> Commitment:
        """Fix the seed before the tournament, and return the commitment to publish.

        Draw a seed if there is none. If there is a commitment already, return it.
        """
        if before := self.committed():
            return before
        self.create_seed()
        made = Commitment(commitment(self.seed("random")), time.time())
        write_commitment(self.commitment_file, made)
        return made

    def committed(self) -> Commitment | None:
        """Return the commitment; None if there is none. Raise UserError if its file is damaged."""
        if not self.commitment_file.exists():
            return None
        try:
            return read_commitment(self.commitment_file)
        except ValueError as broken:
            raise damaged_seed(self.commitment_file, "is not a commitment", RESTORE) from broken

    def reset(self) -> None:
        """Delete the journal, the seed, its commitment, and the folders that the run has written, as `--fresh` asks.

        A committed seed that no table has used is not deleted, because its hash may have been published.
        """
        unused = self.commitment_file.exists() and not self.has_journal
        seed = () if unused else (self.seed_file, self.commitment_file)
        # Delete the journal first: it is useless without its seed.
        for path in (self.journal, *wal_files(self.journal), kept_lines_file(self.journal), *seed):
            path.unlink(missing_ok=True)
        for path in (self.run / "stderr", self.run / "build", self.undecided, self.open, self.recordings):
            if path.is_symlink():
                path.unlink()
            elif path.exists():
                paths.remove_tree(path)


def draw_seed(file: Path) -> None:
    """Write 128 random bits into a file that only its owner can read, completely or not at all.

    Anybody could compute the deals of an empty seed.
    """
    write_atomically(file, f"{secrets.token_hex(16)}\n".encode(), 0o600)


def drawn_seed(file: Path, hint: str) -> bytes:
    """Return the seed in a file that `draw_seed` wrote. Raise UserError with `hint` if the seed cannot be read."""
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as failed:
        why = getattr(failed, "strerror", None) or "it is not text"
        raise damaged_seed(file, f"cannot be read: {why}", hint) from failed
    if not re.fullmatch("[0-9a-f]{32}", text):
        raise damaged_seed(file, "is not a seed, which has 32 hexadecimal digits", hint)
    return bytes.fromhex(text)


def write_commitment(file: Path, made: Commitment) -> None:
    """Write a commitment into a file, as `read_commitment` reads it."""
    write_atomically(file, json.dumps(made._asdict()).encode() + b"\n", mode=None)


def read_commitment(file: Path) -> Commitment:
    """Return the commitment in a file. Raise OSError if it cannot be read, ValueError if it is not a commitment."""
    said = read_json(file.read_text())
    try:
        return Commitment(str(said["sha256"]), float(said["at"]))
    except (KeyError, TypeError, OverflowError) as broken:
        raise ValueError(str(broken)) from broken


def damaged_seed(file: Path, why: str, hint: str) -> UserError:
    """Return the error for a damaged file with a seed or a commitment."""
    return UserError([Problem("R010", str(file), why, hint=hint)], 3)


def read_seed(text: str) -> bytes:
    """Convert the text of a seed, from croupier.toml or the command line, into its bytes.

    32 hexadecimal digits, as `croupier seed reveal` prints them, are the 128 bits of a seed. Any other text is the seed
    itself, in UTF-8.
    """
    return bytes.fromhex(text) if re.fullmatch("[0-9a-fA-F]{32}", text) else text.encode(errors="surrogateescape")


def seed_text(seed: bytes) -> str:
    """Return the text of a seed, which `read_seed` converts back to the same bytes."""
    return seed.hex() if len(seed) == 16 else seed.decode(errors="surrogateescape")


def commitment(seed: bytes) -> str:
    """Return the hash of a seed, which may be published before the tournament ends."""
    return hashlib.sha256(seed).hexdigest()


def hash_command(text: str) -> str:
    """Return a shell command that prints the hash of a seed, as in its commitment. `text` comes from `seed_text`."""
    as_bytes = (
        f"printf {text} | xxd -r -p" if len(read_seed(text)) == 16 and len(text) == 32 else f"printf %s {quote(text)}"
    )
    return f"{as_bytes} | sha256sum"
