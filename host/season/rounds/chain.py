"""Keeps the chain of a season: one line for each thing that happens, as in the chain of a journal (host/journal/chain.py).

The lines are in the store, and in published/chain.ndjson, which everybody may read. They follow from the rest of the store:
whatever it lacks is appended, so nothing is forgotten after a crash, and what is changed later is appended again.
docs/checking.md describes the lines.
"""

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from host import __version__
from host.base.errors import UserError
from host.journal.chain import canonical, line_after, parsed, seal_of
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.report.public import WINNERS
from host.season.entries.store import Store
from host.season.entries.table import Table
from host.season.folder import SeasonFolder, final_seed, round_root, write_atomically
from host.season.intake.requests import ENTRIES
from host.season.rounds.book import Round

if TYPE_CHECKING:
    from host.season.rounds.season import Season

TERMS = "terms"
"""The setting of the store with [season] and how tables are played, as it was shown last."""

NOTICES = (
    "terms",
    "pause",
    "resume",
    "freeze",
    "unfreeze",
    "withdraw",
    "readmit",
    "rename",
    "entries",
    "final",
    "damaged",
)
"""The events that everybody may see."""

CHANGES = (*NOTICES, "off ladder")
"""The events that are in the chain."""

HOSTS = ("address", "proxy", "login_header")
"""Keys of [season] that concern the site alone."""

UNTIMED = {"speed": 0.0, "seconds": {}, "bytes": 0}
"""What sums have of the machine, which no record proves."""


class Link(NamedTuple):
    """A line of the chain, without its line end. Of several lines about the same thing, the last one counts."""

    number: int  # from 1
    about: str  # for example "version mine-4" or "round 12"
    line: str


class Fact(NamedTuple):
    """What a line says."""

    kind: str
    about: str
    content: Mapping[str, Any]


CHAIN = Table("chain", Link, "number")


class SeasonChain:
    """The chain of a season that is open in this process."""

    def __init__(self, store: Store) -> None:
        self._database = store.database
        self._links = links_of(store)
        self._last = {link.about: link.line for link in self._links}
        self._written: int | None = None  # lines in the published file; None: it is not known

    def update(self, season: "Season", rounds: Sequence[Round]) -> None:
        """Append what the chain lacks, and publish it. Raise UserError or OSError if it cannot be written."""
        new, seal = list[Link](), seal_of(self._links[-1].line) if self._links else ""
        for kind, about, content in facts(season, rounds, self._last):
            before = self._last.get(about)
            if before is None or canonical(parsed(before)[kind]) != canonical(content):
                new.append(Link(len(self._links) + len(new) + 1, about, line_after(seal, kind, content)))
                seal = seal_of(new[-1].line)
        if new:
            with self._database.transaction():
                self._database.change(CHAIN.create)
                for link in new:
                    self._database.add(CHAIN, link)
            self._links += new
            self._last |= {link.about: link.line for link in new}
        self._publish(season.folder)

    def _publish(self, folder: SeasonFolder) -> None:
        """Write the lines that the published file lacks."""
        written, self._written = self._written, None
        text = "".join(f"{link.line}\n" for link in self._links[written or 0 :]).encode()
        if written is None or not folder.chain_file.exists():
            write_atomically(folder.chain_file, text)
        elif text:
            with folder.chain_file.open("ab") as file:
                file.write(text)
        self._written = len(self._links)


def links_of(store: Store) -> list[Link]:
    """Return the chain of a season; it is empty if an older croupier has written the store."""
    return store.database.select(CHAIN, "ORDER BY number") if store.database.has(CHAIN) else []


def facts(season: "Season", rounds: Sequence[Round], known: Container[str] = ()) -> Iterator[Fact]:
    """Yield what a chain must say. Rounds and events that are `known` are left out, because they never change."""
    yield Fact("terms", "terms", _terms(season))
    for label, content in _versions(season.store):
        yield Fact("version", f"version {label}", content)
    for event in season.store.events.of(*CHANGES):
        if (about := f"change {event.number}") not in known:
            yield Fact("change", about, event._asdict())
    for which in rounds:
        if (about := f"list {which.number}") not in known:
            yield Fact("list", about, _list(which, round_root(season.seed, which.number)))
        if (about := f"round {which.number}") not in known and which.state in ("finished", "damaged"):
            yield Fact("round", about, round_content(which))
    if said := season.store.setting(ENTRIES):
        yield Fact("entries", "entries", json.loads(said))
    if (final := season.folder.final()) is not None:
        told = {"at": final.at, "digest": final.digest, "entries": [*final.entries]}
        yield Fact("final", "final", told | {"seed_sha256": _sha256(final_seed(season.seed))})
        if "seed" in known or _is_over(season, final.folder):
            yield Fact("seed", "seed", {"seed": season.seed.hex()})


def _terms(season: "Season") -> dict[str, Any]:
    terms, promised = json.loads(season.store.setting(TERMS, "{}")), season.folder.committed()
    own = {key: value for key, value in terms.get("season", {}).items() if key not in HOSTS}
    return {
        "name": season.tournament.name,
        "croupier": __version__,
        "winners": WINNERS.get(season.tournament.game.winners, "none"),
        "terms": terms | {"season": own},
        "seed_sha256": promised.sha256,
        "committed": promised.at,
        "final_sha256": _sha256(final_seed(season.seed)),
    }


def _versions(store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each version with the hash of the file that was handed in, and when."""
    files = store.submissions.files()
    for version in store.versions.all():
        sha256, at = files[version.submission]
        yield (
            version.label,
            {
                "label": version.label,
                "author": version.author,
                "sha256": version.sha256,
                "file": sha256,
                "handed_in": at,
                "entered": version.entered,
            },
        )


def _list(which: Round, root: bytes) -> dict[str, Any]:
    """Return who plays a round, with the hash of its seed."""
    return {
        "number": which.number,
        "seed_sha256": _sha256(root),
        "terms": which.terms._asdict(),
        "players": [player._asdict() for player in which.players],
        "meetings": [[[*meeting.labels], meeting.tables] for meeting in which.meetings],
    }


def round_content(which: Round) -> dict[str, Any]:
    """Return what the line of a round that is over says."""
    sums: dict[str, Any] = msgspec.to_builtins(which.counted) if which.counted else {}
    return {
        "number": which.number,
        "state": which.state,
        "began": which.began,
        "ended": which.ended,
        "seal": which.seal,
        "seed": which.seed,
        "sums": {key: value for key, value in sums.items() if key not in UNTIMED},
    }


def _is_over(season: "Season", final: str) -> bool:
    """Return whether the final has been played: then the seed of the season decides nothing any more."""
    try:
        with reading(Folder(season.folder.path / final).journal, season.tournament.registry) as journal:
            return journal.state().finished
    except (UserError, OSError):  # it has not begun, or lies on another machine
        return False


def _sha256(seed: bytes) -> str:
    return hashlib.sha256(seed).hexdigest()
