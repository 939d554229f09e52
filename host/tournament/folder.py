"""A tournament's folder: its config, its bots, and everything a run writes."""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path


class Folder:
    """Where a tournament lives; a run writes only below `run/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run"
        self.journal = self.run / "run.sqlite"
        self.seed_file = self.run / "seed"

    def seed(self, chosen: str) -> bytes:
        """Return the cup's seed: the config's text, or 128 random bits kept in a file that only its owner reads."""
        if chosen != "random":
            return chosen.encode()
        self.run.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(self.seed_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(16) + "\n")
        return bytes.fromhex(self.seed_file.read_text())

    def reveal(self) -> None:
        """Let everybody read the seed: the cup is over."""
        if self.seed_file.exists():
            self.seed_file.chmod(0o644)

    def forget(self) -> None:
        """Throw away what has been played, and its seed: only `--fresh` asks for that."""
        for name in ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "seed"):
            (self.run / name).unlink(missing_ok=True)


def commitment(seed: bytes) -> str:
    """Return the hash that may be shown before the cup ends."""
    return hashlib.sha256(seed).hexdigest()
