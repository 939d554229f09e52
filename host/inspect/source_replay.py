"""Plays recorded answers again through the program with the rules, and compares its steps with the transcript."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import trio

from host.base.errors import Problem, UserError
from host.bots.monitor import running_monitor
from host.games.engine import Game
from host.inspect.recorded import RecordedTable, load_fixture
from host.journal.reader import Journal
from host.play.sources.own_rules import room_of, source_of
from host.play.sources.source import OpenSource, SourcePlace
from host.play.sources.steady import FixtureUndecided, SteadySource
from host.play.transcript import are_same, encode_step
from host.rules.catalogue import ref_of
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.referees import is_complete, prepare_referee, referee_hash
from protocols.wire import Answer


def prepared_game(journal: Journal) -> Game | None:
    """Build the referee of a run, and return its game. Return None if it has no referee, or if none can be built here.

    Raise UserError (exit code 5) if the run was played with another referee than the one that is here.
    """
    run = journal.state()
    game, played = journal.registry.known_game(run.game), run.terms.referee if run.terms else ""
    if game is None or not ref_of(game).has_referee or not is_complete(game):
        return None
    if played and (here := referee_hash(game)) != played:
        message = f"was played with the referee {played[:16]}…, and {ref_of(game).said} is another one: {here[:16]}…"
        hint = "restore the folder of the game as it was"
        raise UserError([Problem("R008", str(journal.path), message, hint=hint)], 5)
    try:
        return trio.run(prepare_referee, game, DEFAULT_LEVEL)
    except UserError as refused:
        if refused.exit_code not in (4, 6):
            raise
        return None


class ForeignTables(NamedTuple):
    """Tables to play again, in a fixture whose rules ran in another process."""

    path: str
    number: int  # of the fixture in the journal
    chosen: Sequence[int]  # indexes of the tables, from 0


NOT_HERE = "the game's program cannot be run here"


class Replayed(NamedTuple):
    """The result of playing tables again."""

    differences: Sequence[str] = ()
    only_told: int = 0  # tables that could not be played again
    reason: str = ""  # why the first of these tables could not be played again


class SourceReplay(NamedTuple):
    """Plays tables of a journal again. `game` has its program built. `level` is the sandbox level of this program."""

    journal: Journal
    seed: bytes
    game: Game
    level: Level

    def play(self, fixtures: Sequence[ForeignTables]) -> Replayed:
        """Play the answers of tables again, and return the differences between the program and the transcripts.

        A program that cannot begin a table here, or that has too little memory or time, proves nothing about the
        journal. Its tables are counted in `only_told`. Raise UserError (exit code 6) if no sandbox can be made here.
        """
        if open_source := source_of(self.game):
            return trio.run(self._play, fixtures, open_source)
        return Replayed((), sum(len(each.chosen) for each in fixtures), NOT_HERE)

    async def _play(self, fixtures: Sequence[ForeignTables], open_source: OpenSource) -> Replayed:
        found, only_told, reason = list[str](), 0, ""
        async with running_monitor() as monitor:
            source = SteadySource(open_source, SourcePlace(self.level, (), monitor), room_of(self.game))
            try:
                for path, number, chosen in fixtures:
                    recorded = load_fixture(self.journal, self.seed, path, number)
                    await source.begin_fixture()
                    try:
                        found += await _compare(source, map(recorded.table, chosen))
                    except FixtureUndecided as failed:
                        if failed.lacks:
                            only_told, reason = only_told + len(chosen), reason or f"here {failed.why.reason}"
                        else:
                            found.append(f"{path}: the game failed when it was played again: {failed.why.reason}")
            finally:
                await source.close()
        return Replayed(found, only_told, reason)


async def _compare(source: SteadySource, tables: Iterable[RecordedTable]) -> list[str]:
    """Play tables again, as many at the same time as the source holds. Return a sentence about each table that differs."""
    waiting, playing, found = iter(tables), list[_Again](), list[str]()
    while True:
        room = source.room
        playing += [_Again(table, source) for table in islice(waiting, max(0, room - len(playing)))]
        if not playing:
            return found
        opened = [each.again for each in playing[:room] if not each.again.steps]
        answers = {each.again.number: each.next_answers() for each in playing[:room] if each.again.steps}
        await source.advance(opened, answers)
        for each in playing[:room]:
            if not each.is_as_recorded():
                found.append(
                    f"{each.path}: its program says something else than its transcript, given the same answers"
                )
                playing.remove(each)
            elif not each.again.last.requests:
                playing.remove(each)


class _Again:
    """A table that is played again, with its remaining recorded steps and answers."""

    def __init__(self, table: RecordedTable, source: SteadySource) -> None:
        self.path, self.again = table.sitting.path, source.table(table.sitting, table.seed, table.seated)
        self._steps, self._answers = iter(table.steps or ()), iter(table.answers)

    def next_answers(self) -> list[Answer]:
        """Return the recorded answers to the open requests."""
        return [next(self._answers) for _ in self.again.last.requests]

    def is_as_recorded(self) -> bool:
        """Return whether the last step equals the next recorded step. Each call takes one recorded step."""
        recorded = next(self._steps, None)
        return recorded is not None and are_same(encode_step(self.again.last), encode_step(recorded))
