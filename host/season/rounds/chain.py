"""Writes the chain of a season: one line of JSON for each version, round and event, after the seal of the line before.

The lines have the form of those of a journal (host/journal/chain.py). They are in the store, and in
published/chain.ndjson, which everybody may read. They follow from the rest of the store: the season process appends
each line that the chain lacks, so no line is missing after a crash. If something changes later, the process appends
another line about it. docs/checking.md describes the lines.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from host import __version__
from host.base.errors import UserError
from host.base.output import write_atomically
from host.journal.chain import canonical, line_after, parsed, seal_of
from host.journal.lock import lock_holder
from host.journal.reader import reading
from host.journal.tournament_dir import Folder, commitment
from host.report.public import WINNERS
from host.season.entries.store import Store
from host.season.entries.table import Table
from host.season.folder import SeasonFolder, final_seed, round_root
from host.season.intake.requests import ENTRIES
from host.season.rounds.book import Round
from host.stages import Registry

if TYPE_CHECKING:
    from host.season.rounds.season import Season

TERMS = "terms"
"""The name of the setting of the store that has the terms in force as JSON: [season], and how tables are played."""

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
"""The kinds of events that everybody may see."""

CHANGES = (*NOTICES, "off ladder")
"""The kinds of events that are in the chain."""

HOSTS = ("address", "proxy", "login_header")
"""Keys of [season] that concern only the site. The chain does not have them."""

UNTIMED = ("speed", "seconds", "bytes")
"""Fields of `RoundSums` that are not in the chain: figures of the machine, which no record proves."""


class Link(NamedTuple):
    """A line of the chain, without its line end. Of several lines about the same thing, the last one counts."""

    number: int  # from 1
    about: str  # for example "version mine-4" or "round 12"
    line: str


class Fact(NamedTuple):
    """The content of a line that the chain must have, with its kind and its subject (`Link.about`)."""

    kind: str
    about: str
    content: Mapping[str, Any]


class Known(NamedTuple):
    """Facts that `facts` may leave out, because the chain has them already."""

    about: Container[str] = ()  # the subjects of the lines that the chain has
    authors: Collection[str] | None = None  # authors whose versions may have changed; None: all authors
    event: int = 0  # the number of the last event that the chain has


NOTHING = Known()

CHAIN = Table("chain", Link, "number")
READ_LINES = 100  # the lines in memory at the same time; the line of a round may have many kilobytes
FIXED = ("change", "list", "round")
"""The kinds of lines whose content never changes."""


class SeasonChain:
    """The chain of a season that is open in this process.

    The lines are in the store. This object has the number, the seal and the last lines, which the next line depends on.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._number, self._seal = store, 0, ""
        self._last = dict[str, str]()  # by subject: the last line about it; empty if its content never changes
        self._event = 0  # the number of the last event that `update` has read; 0: none since the season was opened
        self._written: int | None = None  # the number of lines in the published file; None: not known
        for link in _links(store, 0):
            self._take(link)

    def update(self, season: "Season", rounds: Sequence[Round]) -> None:
        """Append the lines that the chain lacks, to the store and to the published file.

        Raise UserError or OSError if a line cannot be written.
        """
        new, seal, last = list[Link](), self._seal, season.store.events.last(1)
        known = Known(self._last, season.store.touched().authors, self._event)
        for kind, about, content in facts(season, rounds, known):
            before = self._last.get(about)
            if before is None or canonical(parsed(before)[kind]) != canonical(content):
                new.append(Link(self._number + len(new) + 1, about, line_after(seal, kind, content)))
                seal = seal_of(new[-1].line)
        if new:
            database = self._store.database
            with database.transaction():
                database.change(CHAIN.create)
                for link in new:
                    database.add(CHAIN, link)
            for link in new:
                self._take(link)
        self._event = last[0].number if last else 0
        self._publish(season.folder)

    def _take(self, link: Link) -> None:
        self._number, self._seal = link.number, seal_of(link.line)
        self._last[link.about] = "" if link.about.startswith(FIXED) else link.line

    def _publish(self, folder: SeasonFolder) -> None:
        """Append the lines that the published file lacks. If their number is not known, write the file again."""
        written, self._written = self._written if folder.chain_file.exists() else None, None
        lines = (f"{link.line}\n".encode() for link in _links(self._store, written or 0))
        if written is None:
            write_atomically(folder.chain_file, lines)
        elif written < self._number:
            with folder.chain_file.open("ab") as file:
                file.writelines(lines)
        self._written = self._number


def links_of(store: Store) -> list[Link]:
    """Return all lines of the chain of a season, in their order; empty if an older croupier has written the store."""
    return [*_links(store, 0)]


def _links(store: Store, after: int) -> Iterator[Link]:
    """Yield the lines that follow line number `after`, in their order.

    READ_LINES of them are in memory at the same time.
    """
    found = [Link(after, "", "")] if store.database.has(CHAIN) else []
    while found:
        condition = "WHERE number > ? ORDER BY number LIMIT ?"
        found = store.database.select(CHAIN, condition, found[-1].number, READ_LINES)
        yield from found


def facts(season: "Season", rounds: Sequence[Round], known: Known = NOTHING) -> Iterator[Fact]:
    """Yield the facts that the chain of a season must have.

    Leave out the facts that the chain has already according to `known`.
    """
    yield Fact("terms", "terms", _terms(season))
    for label, content in _versions(season.store, known.authors):
        yield Fact("version", f"version {label}", content)
    for event in season.store.events.of(*CHANGES, after=known.event):
        if (about := f"change {event.number}") not in known.about:
            yield Fact("change", about, event._asdict())
    for which in rounds:
        if (about := f"list {which.number}") not in known.about:
            yield Fact("list", about, _list(which, round_root(season.seed, which.number)))
        if (about := f"round {which.number}") not in known.about and which.state in ("finished", "damaged"):
            yield Fact("round", about, round_content(which))
    if (entries := season.store.value(ENTRIES, dict)) is not None:
        yield Fact("entries", "entries", entries)
    if (final := season.folder.final()) is not None:
        told = {"at": final.at, "digest": final.digest, "entries": [*final.entries]}
        yield Fact("final", "final", told | {"seed_sha256": commitment(final_seed(season.seed))})
        if season.final_over:
            yield Fact("seed", "seed", {"seed": season.seed.hex()})


def public_terms(terms: dict[str, Any]) -> dict[str, Any]:
    """Return the terms of a season as everybody may see them. `terms` is the value of the setting TERMS."""
    own = {key: value for key, value in terms.get("season", {}).items() if key not in HOSTS}
    return terms | {"season": own}


def _terms(season: "Season") -> dict[str, Any]:
    promised = season.folder.committed()
    return {
        "name": season.tournament.name,
        "croupier": __version__,
        "winners": WINNERS.get(season.tournament.game.winners, "none"),
        "terms": public_terms(season.store.value(TERMS, dict) or {}),
        "seed_sha256": promised.sha256,
        "committed": promised.at,
        "final_sha256": commitment(final_seed(season.seed)),
    }


def _versions(store: Store, authors: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the label of each version, and the content of its line in the chain.

    Yield only versions of `authors`; if it is None, of all authors. The content also has the hash of the submitted
    file, and the time at which it was submitted.
    """
    if authors is None:
        authors = [author.name for author in store.authors.all()]
    files = store.submissions.files(authors)
    for version in store.versions.of_authors(authors):
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
    """Return the content of the line about the players and meetings of a round, with the hash of its seed `root`."""
    return {
        "number": which.number,
        "seed_sha256": commitment(root),
        "terms": which.terms._asdict(),
        "players": [player._asdict() for player in which.players],
        "meetings": [[[*meeting.labels], meeting.tables] for meeting in which.meetings],
    }


def round_content(which: Round) -> dict[str, Any]:
    """Return the content of the line about the results of a finished or damaged round."""
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


def is_final_over(season: "Season") -> bool:
    """Return whether the final has been played: then the seed of the season decides nothing any more.

    The function checks the whole journal of the final, which takes a while. It may be called in a thread.
    """
    if (final := season.folder.final()) is None:
        return False
    journal = Folder(season.folder.path / final.folder).journal
    try:
        found = journal.stat()
    except OSError:  # the final has not begun, or another machine plays it
        return False
    registry = season.tournament.registry
    return not lock_holder(journal) and _has_ended(journal, registry, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1)
def _has_ended(journal: Path, registry: Registry, *_state: int) -> bool:
    """Return whether the tournament of a journal has ended; False if the journal cannot be read.

    `_state` identifies a state of the journal's file: the cache opens the journal once for each state.
    """
    try:
        with reading(journal, registry) as opened:
            return opened.state().finished
    except (UserError, OSError):
        return False
