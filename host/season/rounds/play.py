"""Writes the tournament folder of a round of a season, and reads the results of the round from its journal."""

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
from host.config.difference import result_settings, settings_of
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
"""The folder inside a round's folder that has the game, if its rules are a program."""
MEETINGS = "meetings.txt"
"""The file in a round's folder that lists the meetings of the scheduler."""


def how_tables_are_played(tournament: Tournament) -> str:
    """Return the settings that the results of rounds depend on, as JSON."""
    settings = result_settings(tournament)
    return json.dumps({key: settings[key] for key in ("game", "rules", "limits", "sandbox")}, sort_keys=True)


def write_round(
    folder: Path,
    number: int,
    root: bytes,
    tournament: Tournament,
    bots: Sequence[str],
    meetings: Sequence[Meeting],
) -> Path | None:
    """Write the tournament folder of a round, completely or not at all. Return the path of a renamed folder, or None.

    The folder's croupier.toml names the bots in the store; no bot is copied. The seed is in `run/seed`, which only its
    owner may read, and its commitment is beside it. If the folder exists with these meetings and bots, it stays as it
    is: this function wrote it before a crash. A folder with other meetings or bots is renamed: somebody unpacked a
    backup over a season that had gone on.
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
    """Return the text of a croupier.toml with a name, bots and stages. All other settings are those of `tournament`."""
    settings = settings_of(tournament)
    settings["sandbox"]["level"] = str(tournament.level)
    game = f"{REFEREE}/" if ref_of(tournament.game).has_referee else settings["game"]
    top = {"game": game, "name": name[:100], "seed": "random", "bots": list(bots)}
    top |= {key: settings[key] for key in ("rules", "limits", "sandbox", "run")}
    return "".join(f"{line}\n" for line in toml_lines(top | ({"stage": stages} if stages else {})))


def copy_own_code(tournament: Tournament, target: Path) -> None:
    """Copy the organiser's Python modules and packages beside croupier.toml into `target`, if croupier.toml uses any.

    Copy the folder of a referee as well: a round is verified with the program that it was played with.
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


# The results of a round.


class Brought(NamedTuple):
    """The results of a finished round, the last seal of its journal, and its seed, which may be published now."""

    sums: RoundSums
    seal: str
    seed: str


def reading_round(folder: Path, tournament: Tournament) -> AbstractContextManager[Journal]:
    """Open the journal of a round. If its game has a referee, use the copy that is in the folder of the round."""
    has_referee = ref_of(tournament.game).has_referee
    return reading(Folder(folder).journal, registry_of(folder) if has_referee else tournament.registry)


def read_round(folder: Path, tournament: Tournament, speed: float = 0.0) -> Brought:
    """Return the results of a finished round. Raise UserError if it is not finished, or its journal is damaged.

    `speed` is the measured number of tables per second; 0 if it was not measured.
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
    """Return pairs, sorted: an order in which the versions of a table ended, and how often it occurred."""
    (position,) = positions_of(journal)
    found = orders(results_of(position.config, records, journal.bots()))
    return tuple(sorted((order, times) for order, times in found.items() if times))


def _tables(records: Iterable[Record]) -> dict[str, int]:
    counts = Counter[str]()
    for record in records:
        counts.update({label: result.tables for label, result in record.results.items()})
    return dict(sorted(counts.items()))


def _seconds(records: Iterable[Record]) -> dict[str, float]:
    """Return the worker time of each version in seconds, by label.

    The time of a fixture is divided among its versions in proportion to the time of their answers.
    """
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
    """Return by label whether the version crashed in each of its fixtures, in the order of the fixtures' paths.

    A version that crashed in no fixture has one False instead. A version crashed in a fixture if it was benched, or if
    it had at least half as many faults of the kinds BENCHING as tables.
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
    """Return a row for each set of versions that met, sorted by labels: tables, and each version's wins and faults."""
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
