"""The folder of a season: its files, its seed, and the seeds that follow from it (docs/season.md)."""

import time
from pathlib import Path

import msgspec

from host.config.resolver import CONFIG
from host.games.luck import derive
from host.journal.tournament_dir import (
    Commitment,
    commitment,
    damaged_seed,
    draw_seed,
    drawn_seed,
    read_commitment,
    write_commitment,
)

FINAL = "final"
"""The path with which the seed of the final is derived from the seed of the season."""

RESTORE = "restore it from a backup: croupier season backup has it"
"""The hint for a damaged file with the seed or its commitment."""

CHAIN_FILE = "chain.ndjson"
"""The name of the file with the chain of the season, below published/."""


class MadeFinal(msgspec.Struct, frozen=True):
    """The content of final.json: the folder of the final, when the final was made, and its entries."""

    folder: str
    at: float  # seconds since 1970
    digest: str  # of the hashes of its entries
    entries: tuple[str, ...]  # labels


class SeasonFolder:
    """The folder of a season. The site reads `published` and `uploads`, and writes only to `inbox`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / CONFIG
        self.store = path / "season.sqlite"  # the database, which the season process alone writes
        self.inbox = path / "inbox"  # the requests of the site and of commands
        self.uploads = path / "uploads"  # the files as authors have handed them in, by their SHA-256
        self.work = path / "work"  # what is being examined
        self.versions = path / "store"  # the bots of all versions (`Version.place`)
        self.published = path / "published"  # what the site reads: its database, and the reports of rounds
        self.chain_file = self.published / CHAIN_FILE  # which everybody may read (docs/checking.md)
        self.rounds = path / "rounds"  # the tournament folders of the rounds
        self.final_file = path / "final.json"  # where the final is, once it has been made
        self.seed_file = path / "seed"  # 128 random bits, which only the owner can read
        self.commitment_file = path / "commitment.json"  # the hash of the seed, and when it was fixed

    def final(self) -> MadeFinal | None:
        """Return the content of final.json; None if the final has not been made, or the file is damaged."""
        try:
            return msgspec.json.decode(self.final_file.read_bytes(), type=MadeFinal)
        except (OSError, ValueError):
            return None

    def round(self, number: int) -> Path:
        """Return the tournament folder of a round."""
        return self.rounds / f"{number:04d}"

    def create(self) -> None:
        """Create the folders that are missing."""
        for folder in (self.inbox, self.uploads, self.published / "rounds", self.rounds):
            folder.mkdir(parents=True, exist_ok=True)

    # Seeds.

    def draw_seed(self) -> Commitment:
        """Draw the seed of the season and commit to it, unless both exist already. Return the commitment.

        Raise UserError if a file is damaged, or if the seed is not the one that the season has committed to.
        """
        if not self.seed_file.exists() and not self.commitment_file.exists():
            draw_seed(self.seed_file)
        if not self.commitment_file.exists():
            made = Commitment(commitment(self.seed()), time.time())
            write_commitment(self.commitment_file, made)
        promised = self.committed()
        if promised.sha256 != commitment(self.seed()):
            why = "is not the seed that was committed to when the season opened"
            raise damaged_seed(self.seed_file, why, RESTORE)
        return promised

    def seed(self) -> bytes:
        """Return the seed of the season. Raise UserError if it cannot be read."""
        return drawn_seed(self.seed_file, RESTORE)

    def committed(self) -> Commitment:
        """Return the commitment to the seed. Raise UserError if it is missing or damaged."""
        try:
            return read_commitment(self.commitment_file)
        except (OSError, ValueError) as broken:
            why = "cannot be read, or is not a commitment"
            raise damaged_seed(self.commitment_file, why, RESTORE) from broken


def records_of(number: int) -> str:
    """Return the path of a round's records, relative to published/ and to the folder of an export."""
    return f"rounds/{number:04d}.ndjson"


def round_root(seed: bytes, number: int) -> bytes:
    """Return the seed of a round: 16 bytes. It reveals neither the seeds of other rounds nor the season's own seed."""
    return derive(seed, f"round/{number}")[:16]


def final_seed(seed: bytes) -> bytes:
    """Return the 16 bytes of the seed of the final. The final binds them to its entries (`bind_seed`).

    Authors cannot choose an entry to suit the seed, because only the organiser knows the seed. The organiser cannot
    choose the seed to suit the entries, because he has committed to the seed before.
    """
    return derive(seed, FINAL)[:16]
