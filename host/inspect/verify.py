"""Verify a journal: play the recorded answers through the rules again, and compare the outcome with the journal."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from host.base.errors import UserError
from host.base.format import thousands
from host.base.safe_text import one_line
from host.bots.values import Evidence
from host.games.engine import Game
from host.inspect.recorded import (
    AnswersDoNotFit,
    Decision,
    RecordedFixture,
    RecordedTable,
    load_fixture,
    root_from,
    root_of,
)
from host.inspect.source_replay import ForeignTables, Replayed, SourceReplay
from host.journal.changes import Change, explains
from host.journal.reader import Journal
from host.journal.state import RecordedBot, StageStatus
from host.play import match
from host.play.lines import NO_LINE, lines_of
from host.play.records import cause_text, count_faults
from host.play.results import results_of, seats_of
from host.results.course import Played, course
from host.sandbox.levels import DEFAULT_LEVEL
from host.sandbox.limits import Limits
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind

BENCHED = Fault(FaultKind.BENCHED)
UNASKED = (BENCHED, Fault(FaultKind.CRASH))
"""The answers that are recorded for a bot that was benched, or that had lost its sandbox before it was asked."""


CHANGED_LATER = "it was changed after it was sealed"


class Audit(NamedTuple):
    """The result of verifying a journal: the number of tables played again, and all differences in order."""

    tables: int
    differences: list[str]
    sealed: int = 0  # fixtures up to the one with the published seal
    since: int = 0  # fixtures after that one
    changes: Sequence[Change] = ()  # after the published seal; without one, all changes of the run
    only_told: int = 0  # tables of which only the transcript and the sums were checked
    why_told: str = ""
    undecided: int = 0  # fixtures without a result
    reduced: int = 0  # fixtures whose answers have been removed: their seals and results were checked
    cause: str = ""  # why the undecided fixtures have no result, in words


def only_told_text(tables: int, reason: str) -> str:
    """Return the line about tables whose rules could not be run."""
    return f"{thousands(tables)} of them: transcript and sums checked only, because {one_line(reason)}"


def verify(
    journal: Journal,
    share: float = 1.0,
    published: str = "",
    seed: bytes | None = None,
    prepared: Game | None = None,
) -> Audit:
    """Play the recorded answers through the rules again. Return the differences between the journal and the outcome.

    With a `share` below 1 only that share of the tables, drawn at random, is played. `published` must be the seal of an
    entry of the chain: a journal that was cut off, or changed and sealed again, does not have this seal. `seed` is the
    seed that the organiser has published; None means the seed in the folder. `prepared` is the game with its built
    referee, if it has one (see `prepared_game`); without it the tables are checked by their transcripts. Raise
    UserError if the journal or its seed cannot be read, or if the run has another seed.
    """
    tables, reduced, differences, is_reduced, game = 0, 0, list[str](), journal.reduced, prepared
    bots = journal.bots()
    entries, aside = list(journal.entries()), journal.set_aside()
    changes, foreign = {change.number: change for change in journal.changes()}, list[ForeignTables]()
    seed = (root_of(journal) if entries else b"") if seed is None else root_from(journal, seed)
    if published and published not in [entry.seal for entry in entries]:
        none = f"none of the {len(entries)} entries has the seal {published}"
        differences.append(f"{none}: the journal was cut off, or changed and sealed again")
    for kind, number, path, _, sound, _ in entries:
        if kind != "fixture" or (is_reduced and not aside):
            differences += [] if sound else [f"{path}: {CHANGED_LATER}"]
            reduced += kind == "fixture"
            continue
        try:
            if aside:  # the bots may have been others then
                bots = journal.bots(number)
            recorded = load_fixture(journal, seed, path, number)
            replayed, found = replay(recorded, bots, chosen := _chosen(recorded, share))
            if recorded.record.transcript and not found:
                foreign.append(ForeignTables(path, number, chosen))
                game = game or recorded.game
            if number in aside and not _is_explained(changes.get(aside[number]), number, recorded):
                found = [*found, f"{path}: it was set aside, and no change says so"]
        except UserError as refused:
            if sound or refused.problems[0].code not in ("R005", "R006", "R008"):
                raise
            replayed, found = 0, [f"{path}: {refused.problems[0].message}"]
        except (ValueError, LookupError, TypeError, AttributeError) as damaged:  # a journal may hold anything
            replayed, found = 0, [f"{path}: its record is damaged: {damaged}"]
        tables += replayed
        differences += found if sound else [*found, f"{path}: {CHANGED_LATER}"]
    differences += journal.unsealed()
    told = SourceReplay(journal, seed, game, DEFAULT_LEVEL).play(foreign) if game and foreign else Replayed()
    differences += told.differences
    if not differences:
        differences += incomplete_stages(journal, seed)
        differences += wrong_places(journal, seed)
        differences += [f"{stage}: its stored sums are not those of its records" for stage in journal.wrong_sums()]
    at = next((nth for nth, entry in enumerate(entries, 1) if published and entry.seal == published), 0)
    undecided = journal.undecided()
    return Audit(
        tables=tables,
        differences=differences,
        sealed=sum(entry.kind == "fixture" for entry in entries[:at]),
        since=sum(entry.kind == "fixture" for entry in entries[at:]),
        changes=tuple(changes[entry.ref] for entry in entries[at:] if entry.kind == "change" and entry.ref in changes),
        only_told=told.only_told,
        why_told=told.reason,
        undecided=len(undecided),
        reduced=reduced,
        cause=cause_text(each.why for each in undecided),
    )


def _chosen(recorded: RecordedFixture, share: float) -> list[int]:
    """Return the indexes, from 0, of the tables to check: all tables, or a share that is drawn at random."""
    return [nth for nth in range(len(recorded.sittings)) if share >= 1 or random.random() < share]


def _is_explained(change: Change | None, number: int, recorded: RecordedFixture) -> bool:
    """Return whether a change explains why the fixture with this number no longer counts."""
    fixture = recorded.fixture
    return change is not None and number <= change.after and explains(change, fixture.path, fixture.bots)


def incomplete_stages(journal: Journal, seed: bytes) -> Iterator[str]:
    """Yield each difference between the fixtures of a finished stage and those of its schedule.

    The other checks go through the entries of the journal. This one goes through the schedule, so it finds what is
    missing.
    """
    played = Played(journal.stage_records, journal.sizes)
    for position in course(journal.state(), journal.bots(), seed, played):
        if not position.state.over:
            continue
        if not journal.begun:
            yield f"{position.state.name}: is recorded as finished, and no fixture is recorded"
            continue
        agenda = position.agenda(journal.blank())
        if due := agenda.next():
            yield f"{position.state.name}: is recorded as finished, but {one_line(due.fixture.path)} has not been played"
        elif agenda.known != len(position.records):
            yield f"{position.state.name}: its schedule has {agenda.known} fixtures, the journal {len(position.records)}"


def wrong_places(journal: Journal, seed: bytes) -> Iterator[str]:
    """Yield each difference between the recorded places of a stage and those that follow from its records."""
    run = journal.state()
    unplaced = replace(run, stages=[replace(stage, places=()) for stage in run.stages])
    played = Played(journal.stage_records, journal.sizes)
    for stage, position in zip(run.stages, course(unplaced, journal.bots(), seed, played), strict=True):
        if stage.status is StageStatus.SKIPPED:
            if not position.skipped:
                yield f"{stage.name}: was skipped, but {len(position.bots)} bots reach it"
        elif not stage.over:
            return
        else:
            if list(stage.field) != position.bots:
                yield f"{stage.name}: its recorded bots are {_named(stage.field)}, they should be {_named(position.bots)}"
            if list(stage.places) != position.places:
                expected = _named(position.places)
                yield f"{stage.name}: its recorded places are {_named(stage.places)}, its records give {expected}"


def _named(bots: Sequence[str]) -> str:
    return ", ".join(map(one_line, bots)) or "nobody"


def replay(recorded: RecordedFixture, bots: Mapping[str, RecordedBot], chosen: Sequence[int]) -> tuple[int, list[str]]:
    """Play tables of a fixture again. Return the number of tables, and a sentence for each difference.

    If the record does not fit its tables, play none of them; the number is then 0.

    `chosen` has the indexes of the tables in the fixture, from 0. `bots` are the bots of the journal by name.
    """
    fixture, record = recorded.fixture, recorded.record
    if record.path != fixture.path:
        return 0, [f"{fixture.path}: the record is that of {record.path}"]
    if not len(recorded.answers) == len(recorded.sittings) == len(record.scores):
        return 0, [f"{record.path}: answers of {len(recorded.answers)} tables, but scores of {len(record.scores)}"]
    if record.seats != seats_of(fixture, recorded.sittings):
        return 0, [f"{record.path}: its recorded seats are not those of its tables"]
    lines = lines_of(record)
    if lines and len(lines) != len(record.scores):
        return 0, [f"{record.path}: lines of {len(lines)} tables, but scores of {len(record.scores)}"]
    differences: list[str] = []
    faults: Counter[tuple[str, str]] = Counter()
    kept: dict[int, list[Evidence]] = defaultdict(list)
    for piece in record.evidence:
        kept[piece.table - 1].append(piece)
    banks, played = BankCheck(bots), 0
    complete = len(chosen) == len(recorded.sittings)
    if recorded.transcripts is not None and len(recorded.transcripts) != len(recorded.sittings):
        return 0, [f"{record.path}: transcripts of {len(recorded.transcripts)} tables"]
    for nth in chosen:
        table = recorded.table(nth)
        sitting, given, scores = table.sitting, table.answers, table.scores
        try:
            again = table.play()
        except ValueError as over:
            differences.append(str(over) if isinstance(over, AnswersDoNotFit) else f"{sitting.path}: {over}")
            continue
        played += 1
        if (lines[nth] if lines else NO_LINE) != table.line(again):
            differences.append(f"{sitting.path}: what the journal compares with other tables is not what was played")
        if again.scores != scores:
            differences.append(f"{sitting.path}: the recorded scores are {scores}, the answers give {again.scores}")
        elif again.illegal or nth in kept or banks.concerns(table) or any(type(answer) is Fault for answer in given):
            asked = [(table.seated[decision.seat], decision) for decision in table.decisions()]
            wrongs = {decision.number: kind for _, decision in asked if (kind := _fault(decision))}
            faults.update((bot, wrongs[decision.number]) for bot, decision in asked if decision.number in wrongs)
            differences += banks.differences(table, asked, is_complete=complete)
            differences += [
                f"{sitting.path}:{piece.number}: its evidence is {wrong}"
                for piece in kept.get(nth, ())
                if (wrong := _unlike(piece, asked, wrongs, bots))
            ]
    tables = len(recorded.sittings)
    differences += [f"{record.path}: evidence of a table {nth + 1}" for nth in kept if not 0 <= nth < tables]
    if not differences:
        differences += _sums(recorded, faults if complete else None)
    return played, differences


class BankCheck:
    """Checks the recorded time banks of a fixture: no bot can have had more time than its limits give."""

    def __init__(self, bots: Mapping[str, RecordedBot]) -> None:
        self._limits = {name: bot.limits for name, bot in bots.items() if bot.limits.bank.seconds}
        self._bounds: dict[str, tuple[int, int]] = {}  # least and most milliseconds at the next question, by process

    def concerns(self, table: RecordedTable) -> bool:
        """Return whether a bot at the table has a time bank, or was recorded with one."""
        return bool(table.banks) or not self._limits.keys().isdisjoint(table.seated)

    def differences(
        self, table: RecordedTable, asked: Sequence[tuple[str, Decision]], *, is_complete: bool
    ) -> Iterator[str]:
        """Yield a sentence for each recorded time bank at a table that cannot be true.

        `asked` has each decision at the table, with its bot. `is_complete` is whether all tables of the fixture are
        checked, in order.
        """
        players, begun = table.sitting.players(table.game), set[str]()
        for bot, decision in asked:
            player, limits = players[decision.seat], self._limits.get(bot)
            where = f"{table.sitting.path}:{decision.number}: the time bank of {bot}"
            if limits is None or decision.bank is None:
                if (limits is None) != (decision.bank is None) and decision.answer not in UNASKED:
                    yield f"{where} is {'not recorded' if limits else 'recorded, and it has none'}"
                continue
            full = int(limits.bank.seconds * 1000 + 1e-6)
            if player not in begun and (limits.bank.scope == "table" or table.number == 1):
                least, most = full, full
            elif player in begun or is_complete:
                least, most = self._bounds.get(player, (full, full))
            else:
                least, most = 0, decision.bank
            begun.add(player)
            if not least <= decision.bank <= most:
                right = f"it had {most} ms" if least == most else f"it had at most {most} ms"
                yield f"{where} is recorded with {decision.bank} ms, but {right}"
            self._bounds[player] = (0, _most_after(decision, limits))


def _most_after(decision: Decision, limits: Limits) -> int:
    """Return the maximum number of milliseconds that can be left in a time bank after a decision."""
    answer, left = decision.answer, decision.bank or 0
    if isinstance(answer, Fault):
        return 0 if answer.kind is FaultKind.TIMEOUT and answer.ends_process else left
    return left + int(limits.increment * 1000) + 1  # what is recorded is rounded down


def _fault(decision: Decision) -> str:
    """Return the kind of the fault in a decision: "illegal" for an illegal move, "" for a move that was allowed."""
    if isinstance(decision.answer, Fault):
        return str(decision.answer.kind)
    return "" if decision.allowed else str(FaultKind.ILLEGAL)


def _unlike(
    piece: Evidence, asked: Sequence[tuple[str, Decision]], wrongs: Mapping[int, str], bots: Mapping[str, RecordedBot]
) -> str:
    """Describe the mismatch between recorded evidence and the replayed decision. Return "" if they agree."""
    if not 0 < piece.number <= len(asked):
        return "of a question that was not asked"
    bot, decision = asked[piece.number - 1]
    if piece.bot != bot:
        return f"of {piece.bot}, but {bot} was asked"
    if bot not in bots:
        return f"of {bot}, which is not in the journal"
    if piece.question != PROTOCOLS[bots[bot].protocol].encode(decision.view).rstrip(b"\n"):
        return "of another question"
    if piece.bank != decision.bank:
        return f"of {piece.bank} ms in the time bank, but {decision.bank} ms were left"
    if piece.kind != "slowest" and piece.kind != wrongs.get(piece.number):
        return f"of the kind {piece.kind}, but the answer is {wrongs.get(piece.number) or 'no fault'}"
    return ""


def _sums(recorded: RecordedFixture, faults: Counter[tuple[str, str]] | None) -> Iterator[str]:
    """Yield a sentence for each sum in a fixture's record that does not fit its tables.

    `faults` has the number of faults by bot and kind. It is None if not all tables were played again; then faults are
    not compared.
    """
    record, path = recorded.record, recorded.record.path
    tables = [
        match.PlayedTable(sitting, tuple(scores), ())
        for sitting, scores in zip(recorded.sittings, record.scores, strict=True)
    ]
    results = results_of(recorded.game, tables)
    if results != record.results:
        odd = sorted(
            bot for bot in results.keys() | record.results.keys() if results.get(bot) != record.results.get(bot)
        )
        yield f"{path}: the results of {', '.join(odd)} are not those of its tables"
    benched = sum(answer == BENCHED for given in recorded.answers for answer in given)
    answered = sum(map(len, recorded.answers)) - benched
    questions = sum(usage.questions for usage in record.usage.values())
    if questions != answered:
        yield f"{path}: {questions} questions were recorded, but {answered} answers"
    recorded_faults = count_faults([record])
    for bot, kind in sorted((recorded_faults - faults) + (faults - recorded_faults)) if faults is not None else ():
        given = (faults or recorded_faults)[bot, kind]
        yield f"{path}: {kind} of {bot} was recorded {recorded_faults[bot, kind]} times, the answers give {given}"
