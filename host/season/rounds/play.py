"""Plays one round of a season: writes its tournament folder, plays it, and reads from its journal what it has brought."""

import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.output import write_atomically
from host.base.paths import remove_tree
from host.base.toml_file import read, toml_lines
from host.bots.values import BENCHING
from host.config.difference import canonical, settings_of
from host.config.resolver import CONFIG, registry_of
from host.config.tournament_config import Tournament
from host.journal.reader import Journal, reading
from host.journal.tournament_dir import Folder
from host.play.fixture_id import FixtureId
from host.play.records import Record
from host.rating.units import orders
from host.results.course import positions_of
from host.rules.catalogue import ref_of
from host.rules.own_code import files_of
from host.season.documents import MeetingRow
from host.season.rounds.book import RoundSums
from host.season.rounds.scheduler import Meeting
from host.stages import results_of

STAGE = "round"
REFEREE = "referee"
"""The folder of the game in a round's folder, if its rules are a program."""
MEETINGS = "meetings.txt"
"""The file of a round's folder with the meetings that the scheduler has written down."""


def how_tables_are_played(tournament: Tournament) -> str:
    """Return the settings that the results of rounds depend on, as canonical JSON."""
    settings = canonical(tournament)
    return json.dumps({key: settings[key] for key in ("game", "rules", "limits", "sandbox")}, sort_keys=True)


def write_round(
    folder: Path,
    number: int,
    root: bytes,
    tournament: Tournament,
    bots: Sequence[str],
    meetings: Sequence[Meeting],
) -> Path | None:
    """Write the tournament folder of a round, whole or not at all. It names its bots in the store and copies none.

    The seed lies in `run/seed`, readable for its owner, with its commitment. A folder with these meetings and bots stays: this
    function wrote it before a crash. Rename a folder with others, and return its new path: somebody unpacked a backup over a
    season that had gone on.
    """
    listed = "".join(f"{meeting.tables} {' / '.join(meeting.labels)}\n" for meeting in meetings).encode()
    aside = None
    if folder.exists():
        is_same = (folder / MEETINGS).is_file() and (folder / MEETINGS).read_bytes() == listed
        if is_same and read(folder / CONFIG).data.get("bots") == [*bots]:
            return None
        aside = folder.rename(folder.with_name(f"{folder.name}.{time.time_ns()}"))
    unfinished = folder.with_name(f".{folder.name}")
    if unfinished.exists():
        remove_tree(unfinished)
    (unfinished / "run").mkdir(parents=True)
    write_atomically(unfinished / MEETINGS, listed)
    stage = {"name": STAGE, "kind": "pairs", "list": MEETINGS, "mirror": True}  # each deal is played from every seat
    text = toml_of(tournament, f"{tournament.name}, round {number}", bots, [stage])
    write_atomically(unfinished / CONFIG, text.encode())
    copy_own_code(tournament, unfinished)
    made = Folder(unfinished)
    write_atomically(made.seed_file, f"{root.hex()}\n".encode(), 0o600)
    made.commit()
    unfinished.rename(folder)
    return aside


def toml_of(tournament: Tournament, name: str, bots: Sequence[str], stages: list[dict[str, Any]]) -> str:
    """Return the text of a croupier.toml with the game, rules, limits and sandbox of a season, and these bots and stages."""
    settings = settings_of(tournament)
    settings["sandbox"]["level"] = str(tournament.level)
    game = f"{REFEREE}/" if ref_of(tournament.game).has_referee else settings["game"]
    top = {"game": game, "name": name[:100], "seed": "random", "bots": list(bots)}
    top |= {key: settings[key] for key in ("rules", "limits", "sandbox", "run")}
    return "".join(f"{line}\n" for line in toml_lines(top | ({"stage": stages} if stages else {})))


def copy_own_code(tournament: Tournament, target: Path) -> None:
    """Copy the organiser's modules and packages beside croupier.toml, if it names a value of one.

    Copy a referee as well: a round is verified with the program that it was played with.
    """
    known = ref_of(tournament.game)
    if known.has_referee:
        shutil.copytree(known.folder, target / REFEREE)
    if not tournament.registry.own():
        return
    code = tournament.path.parent.absolute()
    for file in {*files_of(str(code)), *code.glob("*.py")}:  # a module may import another one while it plays
        if not file.is_file():  # imported once, and renamed since then
            continue
        copy = target / file.relative_to(code)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


# What a round has brought.


class Brought(NamedTuple):
    """What a round has brought, its last seal, and its seed, which may be known now."""

    sums: RoundSums
    seal: str
    seed: str


def reading_round(folder: Path, tournament: Tournament) -> AbstractContextManager[Journal]:
    """Open the journal of a round. A round has a copy of the referee that it was played with."""
    has_referee = ref_of(tournament.game).has_referee
    return reading(Folder(folder).journal, registry_of(folder) if has_referee else tournament.registry)


def read_round(folder: Path, tournament: Tournament, speed: float = 0.0) -> Brought:
    """Return what a round that is over has brought. Raise UserError if its journal is damaged.

    `speed` is the number of tables in a second that has been measured; 0: none has been.
    """
    place = Folder(folder)
    with reading_round(folder, tournament) as journal:
        if not journal.state().finished:
            raise UserError([Problem("R006", str(folder), "has not been played to its end", hint="croupier run")], 3)
        records = [record for _, record in journal.records(STAGE)]
        sums = RoundSums(
            orders=_orders(journal, records),
            tables=_tables(records),
            faults=_faults(records),
            crashed=_crashed(records),
            meetings=meetings_of(records),
            speed=speed,
            seconds=_seconds(records),
            bytes=place.journal.stat().st_size,
        )
        return Brought(sums, journal.seal(), place.seed("random").hex())


def _orders(journal: Journal, records: Sequence[Record]) -> tuple[tuple[tuple[tuple[str, ...], ...], float], ...]:
    """Return how often the versions of a table ended in each order, in a fixed order."""
    (position,) = positions_of(journal)
    found = orders(results_of(position.config, records, journal.bots()))
    return tuple(sorted((order, times) for order, times in found.items() if times))


def _tables(records: Iterable[Record]) -> dict[str, int]:
    counts = Counter[str]()
    for record in records:
        counts.update({label: result.tables for label, result in record.results.items()})
    return dict(sorted(counts.items()))


def _seconds(records: Iterable[Record]) -> dict[str, float]:
    """Return what the tables of each version have taken of the time of workers: its part by the time of its answers."""
    found = Counter[str]()
    for record in records:
        walls = {label: record.usage[label].wall for label in record.results if label in record.usage}
        total = sum(walls.values())
        for label in record.results:
            share = walls.get(label, 0.0) / total if total else 1 / len(record.results)
            found[label] += record.seconds * share  # type: ignore[assignment]  # a Counter adds fractions, too
    return {label: round(seconds, 6) for label, seconds in sorted(found.items())}


def _faults(records: Iterable[Record]) -> dict[str, int]:
    counts = Counter[str]()
    for record in records:
        counts.update({label: sum(kinds.values()) for label, kinds in record.faults.items()})
    return dict(sorted(counts.items()))


def _crashed(records: Iterable[Record]) -> dict[str, tuple[bool, ...]]:
    """Return for each version, in the order of the paths, whether it crashed in a fixture.

    It did if it was benched, or if its process ended or was late at half of the tables.
    """
    ends = defaultdict[str, list[bool]](list)
    for record in sorted(records, key=lambda record: FixtureId.parse(record.path).sort_key):
        for label in record.results:
            fatal = sum(times for kind, times in record.faults.get(label, {}).items() if kind in BENCHING)
            ends[label].append(label in record.benched or 2 * fatal >= record.results[label].tables > 0)
    return {label: tuple(each) for label, each in sorted(ends.items()) if any(each)} | {
        label: (False,) for label, each in ends.items() if not any(each)
    }


def meetings_of(records: Iterable[Record]) -> tuple[MeetingRow, ...]:
    """Return the tables of each meeting, with what each version has won and its faults."""
    met = dict[tuple[str, ...], list[Record]]()
    for record in records:
        met.setdefault(tuple(sorted(record.results)), []).append(record)
    return tuple(
        MeetingRow(
            labels=labels,
            tables=sum(record.results[labels[0]].tables for record in some),
            won=tuple(float(sum(record.results[label].wins for record in some)) for label in labels),
            faults=tuple(sum(sum(record.faults.get(label, {}).values()) for record in some) for label in labels),
        )
        for labels, some in sorted(met.items())
    )
