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
from host.journal.check import wal_files
from host.journal.kept_lines import kept_lines_file
from host.journal.reader import Journal
from protocols.strict_json import read_json

BEGIN_AGAIN = "restore it from a backup, or start again with  croupier run --fresh"
"""The hint of a file with a seed that is damaged."""


RECORDINGS = "run/models"
"""The folder in that of a tournament for what bots and models say to each other, if croupier.toml wants it recorded."""


class Commitment(NamedTuple):
    """The hash of a seed that was fixed before the tournament, and the time of that in seconds since 1970."""

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

    def create_seed(self) -> None:
        """Draw a seed of 128 random bits into a file that only its owner can read. Keep an existing seed."""
        if self.seed_file.exists():
            return
        self.run.mkdir(parents=True, exist_ok=True)
        draw_seed(self.seed_file)

    def seed(self, chosen: str) -> bytes:
        """Return the seed: the text in the config, or the drawn seed. Raise UserError if that cannot be read."""
        if chosen != "random":
            return read_seed(chosen)
        return drawn_seed(self.seed_file, BEGIN_AGAIN)

    def reveal(self) -> None:
        """Make the seed readable for all users, after the tournament."""
        if self.seed_file.exists():
            self.seed_file.chmod(0o644)

    def revealed(self, journal: Journal) -> bool:
        """Return whether authors could know the drawn seed: others can read it, or the run has been finished.

        After a finished run the seed is public, whatever the mode of its file is now. The changes of a run keep that.
        """
        if not self.seed_file.exists():
            return False
        if journal.state().finished or any(change.about.get("revealed") for change in journal.changes()):
            return True
        return bool(self.seed_file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))

    def commit(self) -> Commitment:
        """Fix the seed before the tournament, drawing one if there is none. Return the commitment to publish."""
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
            raise damaged_seed(self.commitment_file, "is not a commitment", BEGIN_AGAIN) from broken

    def reset(self) -> None:
        """Delete what has been played, and its seed. Only `--fresh` does this.

        A committed seed that no table has used is not deleted, because its hash may have been published.
        """
        unused = self.commitment_file.exists() and not self.journal.exists()
        seed = () if unused else (self.seed_file, self.commitment_file)
        # The journal first, because it is useless without its seed.
        for path in (self.journal, *wal_files(self.journal), kept_lines_file(self.journal), *seed):
            path.unlink(missing_ok=True)
        for path in (self.run / "stderr", self.run / "build", self.undecided, self.open, self.recordings):
            if path.is_symlink():
                path.unlink()
            elif path.exists():
                paths.remove_tree(path)


def draw_seed(file: Path) -> None:
    """Draw 128 random bits into a file that only its owner can read. Anybody could compute the deals of an empty seed."""
    write_atomically(file, f"{secrets.token_hex(16)}\n".encode(), 0o600)


def drawn_seed(file: Path, hint: str) -> bytes:
    """Return the seed that was drawn into a file. Raise UserError with a hint if it cannot be read."""
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as failed:
        why = getattr(failed, "strerror", None) or "it is not text"
        raise damaged_seed(file, f"cannot be read: {why}", hint) from failed
    if not re.fullmatch("[0-9a-f]{32}", text):
        raise damaged_seed(file, "is not a seed, which has 32 hexadecimal digits", hint)
    return bytes.fromhex(text)


def write_commitment(file: Path, made: Commitment) -> None:
    """Write a commitment that `read_commitment` reads."""
    write_atomically(file, json.dumps(made._asdict()).encode() + b"\n", mode=None)


def read_commitment(file: Path) -> Commitment:
    """Return the commitment in a file. Raise OSError if it cannot be read, ValueError if it is not a commitment."""
    said = read_json(file.read_text())
    try:
        return Commitment(str(said["sha256"]), float(said["at"]))
    except (KeyError, TypeError, OverflowError) as broken:
        raise ValueError(str(broken)) from broken


def damaged_seed(file: Path, why: str, hint: str) -> UserError:
    """Return the error of a file with a seed or a commitment."""
    return UserError([Problem("R010", str(file), why, hint=hint)], 3)


def read_seed(text: str) -> bytes:
    """Convert the text of a seed, from croupier.toml or the command line, into its bytes.

    32 hexadecimal digits, as `croupier seed reveal` prints them, are the 128 bits of a seed. Any other text is the seed
    itself, in UTF-8.
    """
    return bytes.fromhex(text) if re.fullmatch("[0-9a-fA-F]{32}", text) else text.encode(errors="surrogateescape")


def seed_text(seed: bytes) -> str:
    """Return the text that `read_seed` reads as this seed."""
    return seed.hex() if len(seed) == 16 else seed.decode(errors="surrogateescape")


def commitment(seed: bytes) -> str:
    """Return the hash of a seed, which may be published before the tournament ends."""
    return hashlib.sha256(seed).hexdigest()


def hash_command(text: str) -> str:
    """Return a command of a shell that prints the commitment to a seed, given as `seed_text` spells it."""
    as_bytes = (
        f"printf {text} | xxd -r -p" if len(read_seed(text)) == 16 and len(text) == 32 else f"printf %s {quote(text)}"
    )
    return f"{as_bytes} | sha256sum"
