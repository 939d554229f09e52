"""What has been played, for other programs: a row a seat, an event a line, or the play.log of 2018 (docs/export.md)."""

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

from host.base.errors import Problem, UserError
from host.play.custom_games import game_by_name
from host.play.records import unpack
from host.play.table_plans import table_setups
from host.report.playlog import Death, Look, playlog, read_playlog
from host.report.table_replays import ReplayedTable, TableRef, evidence, find, json_value, load
from host.report.terminal import cell, one_line
from host.report.visibility import all_stages, known_seed, public_stages, stages_of
from host.tournament.journal import Journal
from host.tournament.stage_runner import fixture_of

COLUMNS = ("stage", "fixture", "table", "seat", "bot", "score", "won")
FOLDED = " tried to bet 0 chips. "


def public_seed(journal: Journal) -> bytes:
    """Return the seed; raise Refused where we may not read it."""
    seed = known_seed(journal)
    if seed is None:
        what = "its seed cannot be read from here, and without it nobody can deal the cards again"
        raise UserError([Problem("R010", str(journal.path), what, hint="the seed lies in run/seed beside it")], 3)
    return seed


def chosen(journal: Journal, selection: str | None, spoilers: bool) -> Iterator[tuple[str, str, list[int] | None]]:
    """Yield stage, fixture and tables (all without any) of what is meant: everything, a stage, a table or `last`.

    Raise Refused for what does not exist, and for a stage under way: its cards are nobody's business yet.
    """
    stages = [stage["name"] for stage in stages_of(journal.metadata())]
    meant = stages if selection is None else [stage for stage in stages if stage == selection]
    place: TableRef | None = None
    if selection == "last" and (paths := journal.paths()):
        place = TableRef(paths[-1], paths[-1], -1, "")
    elif selection is not None and not meant:
        place = find(journal, selection)
    if place is None and not meant:
        hint = f"a stage ({', '.join(stages)}), a table, or last"
        raise UserError([Problem("U001", "", f"there is no table and no stage {selection!r}", hint=hint)], 2)
    shown = all_stages(journal) if spoilers else public_stages(journal)
    for stage in stages:
        paths = journal.paths(stage)
        wanted: list[tuple[str, list[int] | None]] = [(path, None) for path in paths if stage in meant]
        if place is not None and place.fixture in paths:
            wanted = [(place.fixture, [place.nth])]
        if wanted and stage not in shown:
            raise still_running(stage)
        for path, tables in wanted:
            yield stage, path, tables


def still_running(stage: str) -> UserError:
    """Return the refusal of what is still being played."""
    hint = "--spoilers, and keep what comes to yourself"
    return UserError([Problem("R011", stage, "this stage is not over: its cards are still secret", hint=hint)], 5)


def refuse_secrets(journal: Journal, fixture: str) -> None:
    """Raise Refused when a fixture's stage is under way; friendly games have no stage, and no secrets."""
    shown = public_stages(journal)
    for stage in stages_of(journal.metadata()):
        if stage["name"] not in shown and fixture in journal.paths(stage["name"]):
            raise still_running(stage["name"])


def write_csv(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write a row for each seat at each table; return how many."""
    seed, meant = public_seed(journal), list(chosen(journal, selection, spoilers))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = 0
    for stage, path, tables in meant:
        whole = journal.full_record(path)
        assert whole is not None
        record, about = whole
        winners = game_by_name(about["game"]).winners
        seats = table_setups(fixture_of(about), seed, record.scores)
        for nth in range(len(seats)) if tables is None else tables:
            scores, won = record.scores[nth], winners(record.scores[nth]) if winners else ()
            for seat, bot in enumerate(seats[nth].bots):
                row = (stage, path, seats[nth].path, seat, bot, scores[seat], int(seat in won) if winners else "")
                writer.writerow([cell(each) if isinstance(each, str) else each for each in row])
                rows += 1
    return rows


def write_events(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write an event a line; return how many tables."""
    seed, tables = public_seed(journal), 0
    for _, path, wanted in list(chosen(journal, selection, spoilers)):
        for table in load(journal, seed, path, wanted):
            tables += 1
            file.write(as_lines(table))
    return tables


def as_lines(table: ReplayedTable) -> str:
    """Return a table's events, one a line."""
    events = (json.dumps({"v": 1} | event, separators=(",", ":"), ensure_ascii=False) for event in lines(table))
    return "".join(f"{event}\n" for event in events)


def lines(table: ReplayedTable) -> Iterator[dict[str, Any]]:
    """Yield a table's events as JSON has them; an answer comes with its price and evidence where they are kept."""
    kept = {piece.number: evidence(piece) for piece in sorted(table.evidence, key=lambda one: one.kind != "slowest")}
    about = {"game": table.game, "rules": json_value(table.sitting.rules._asdict())}
    for event in table.events:
        if event.twice:
            continue
        ev, facts = event
        told = {"ev": ev} | {key: json_value(value) for key, value in facts.items()}
        if ev == "table.start":
            told |= about
        if ev == "answer" and facts["n"] in table.times:
            told |= dict(zip(("us", "cpu_us"), table.times[facts["n"]], strict=True))
        if ev == "answer" and facts["n"] in kept:
            told |= kept[facts["n"]]
        yield told


def one_playlog(journal: Journal, selection: str, spoilers: bool) -> str:
    """Return the play.log of one table of hold'em. Raise Refused for another game."""
    seed = public_seed(journal)
    for _, path, tables in chosen(journal, selection, spoilers):
        whole = journal.full_record(path)
        assert whole is not None
        record, about = whole
        if about["game"] != "holdem":
            hint = "croupier export jsonl"
            raise UserError([Problem("U001", path, f"play.log is hold'em's; this is {about['game']}", hint=hint)], 2)
        if tables is None and len(record.scores) > 1:
            hint = f"name one: {path}"
            raise UserError([Problem("U001", selection, "a play.log holds one table, this is more", hint=hint)], 2)
        nth = tables[0] if tables else 0
        seat = table_setups(fixture_of(about), seed, record.scores)[nth]
        names = list(map(one_line, seat.bots))
        return playlog(seat.rules, seat.shuffler(seed), unpack(record.answers)[nth], names)
    raise UserError([Problem("R006", str(journal.path), "nothing has been played yet", hint="croupier run")], 3)


def told_playlog(text: str, name: str) -> dict[str, Any]:
    """Return what a play.log says, in short. Raise Refused, with its line, when it is torn or foreign."""
    try:
        read = read_playlog(text)
    except ValueError as wrong:
        hint = "a play.log is written by the engine of 2018, or by croupier export playlog"
        raise UserError([Problem("R012", name, one_line(str(wrong)), hint=hint)], 1) from wrong
    looks = [line for line in read if isinstance(line, Look)]
    return {
        "rounds": looks[-1].round - 1,
        "players": [one_line(player.name) for player in looks[0].players],
        "left": {one_line(player.name): player.chips for player in looks[-1].players},
        "looks": len(looks),
        "faults": sum(isinstance(line, Death) and FOLDED not in line.text for line in read),
    }
