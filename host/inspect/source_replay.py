"""Plays recorded answers again through the program that knows the rules, and compares what it says with the transcript."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import trio

from host.base.errors import Problem, UserError
from host.bots.monitor import running_monitor
from host.inspect.recorded import RecordedTable, load_fixture
from host.journal.reader import Journal
from host.journal.state import RunState
from host.play.sources.source import Opened, OpenSource, Source, SourceFailed, SourcePlace
from host.play.transcript import are_same, encode_step
from host.rules.catalogue import origin
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.stages import Registry
from host.submissions.referees import is_complete, prepare_referee, referee_hash
from protocols.wire import Answer

TABLES_AT_ONCE = 64


def prepare_game(path: Path, run: RunState, registry: Registry) -> None:
    """Build the referee of a run, if its game has one. If that is not possible here, the transcripts are checked only.

    Raise UserError (exit code 5) if the run was played with another referee than the one that is here.
    """
    game, played = registry.game(run.game), run.terms.referee if run.terms else ""
    if not origin(game).has_referee or not is_complete(game):
        return
    if played and (here := referee_hash(game)) != played:
        message = f"was played with the referee {played[:16]}…, and {origin(game).said} is another one: {here[:16]}…"
        hint = "restore the folder of the game as it was"
        raise UserError([Problem("R008", str(path), message, hint=hint)], 5)
    try:
        trio.run(prepare_referee, game, DEFAULT_LEVEL)
    except UserError as refused:
        if refused.exit_code != 6:
            raise


class ForeignTables(NamedTuple):
    """Tables of a fixture whose rules ran elsewhere: which of them to play again, from 0."""

    path: str
    number: int  # of the fixture in the journal
    chosen: Sequence[int]


class SourceReplay(NamedTuple):
    """What is needed to play tables of a journal again: also the game, whose program is built, and a sandbox level."""

    journal: Journal
    seed: bytes
    open_source: OpenSource
    level: Level

    def differences(self, fixtures: Sequence[ForeignTables]) -> list[str]:
        """Play the answers of tables again, and return where the program says something else than it did.

        Raise UserError (exit code 6) if the program cannot run here.
        """
        return trio.run(self._differences, fixtures) if fixtures else []

    async def _differences(self, fixtures: Sequence[ForeignTables]) -> list[str]:
        found, number, left = list[str](), 1, list(fixtures)
        async with running_monitor() as monitor:
            while left:
                path = left[0].path
                try:
                    async with self.open_source(SourcePlace(self.level, (), monitor)) as source:
                        while left:
                            path, fixture, chosen = left[0]
                            recorded = load_fixture(self.journal, self.seed, path, fixture)
                            for first in range(0, len(chosen), TABLES_AT_ONCE):
                                some = [recorded.table(nth) for nth in chosen[first : first + TABLES_AT_ONCE]]
                                found += await _compare(source, some, number)
                                number += len(some)
                            del left[0]
                except SourceFailed as failed:
                    found.append(f"{path}: the game failed when it was played again: {failed.reason}")
                    del left[0]
        return found


async def _compare(source: Source, tables: Sequence[RecordedTable], first: int) -> list[str]:
    """Play tables again at the same time. Return a sentence about each that differs. `first` numbers them in the source."""
    again = {first + nth: _Again(table) for nth, table in enumerate(tables)}
    opened = [Opened(number, each.table.sitting, each.table.seed) for number, each in again.items()]
    answers: dict[int, Sequence[Answer]] = {}
    dropped: list[int] = []
    found = list[str]()
    while opened or answers or dropped:
        said = await source.advance(opened, answers, dropped)
        opened, answers, dropped = [], {}, []
        for number, progress in said.items():
            given = next(again[number].steps, None)
            path = again[number].table.sitting.path
            if given is None or not are_same(encode_step(progress), encode_step(given)):
                found.append(f"{path}: its program says something else than its transcript, given the same answers")
                dropped += [number] if progress.requests else []
            elif progress.requests:
                answers[number] = [next(again[number].answers) for _ in progress.requests]
    return found


class _Again:
    """A table that is played again: its recorded steps and answers that are left."""

    def __init__(self, table: RecordedTable) -> None:
        self.table = table
        self.steps = iter(table.steps or ())
        self.answers: Iterator[Answer] = iter(table.answers)
