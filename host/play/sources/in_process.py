"""The rules in this process: croupier's own games, an organiser's Python code, OpenSpiel.

This is the fast path of the seam (source.py). A match answers a `Table` directly instead of calling `advance`: an answer
takes the rules a few microseconds, and a value for each step of each table would cost a tenth of that.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from host.games.engine import Game, GameFailed, Table, Tell
from host.games.luck import Shuffler
from host.play.answer_log import COMMAND_LOG, MAX_STOPS, UNINTERRUPTED, AnswerLog, GivenAnswer, Interrupted
from host.play.sources.steady import MAX_FAILURES_IN_A_ROW, FixtureUndecided, undecided_at
from host.play.table_plans import TableSetup
from host.rules.catalogue import game_failure, origin
from protocols.wire import Answer

_T = TypeVar("_T")


class InProcess:
    """Begins the tables of a fixture, and begins a table again if its rules raise an exception.

    `failures` has a sentence for each exception.
    """

    def __init__(
        self, game: Game, root: bytes, log: AnswerLog | None = None, before: Interrupted = UNINTERRUPTED
    ) -> None:
        """With a log, the rules may end the process: the next one gets what is in the log as `before`."""
        self._game, self._root, self._before, self.log = game, root, before, log
        self._numbers: dict[str, int] = {}  # of the tables in the log, by name
        self.failures = [f"{stop.table}: the game failed: {stop.reason}" for stop in before.stops]

    def expect_tables(self, first: int, setups: Sequence[TableSetup]) -> None:
        """Number the tables that begin next from `first` on, at least 1, as the match does, and store their names."""
        if self.log is not None:
            names = [setup.path for setup in setups]
            self._numbers |= {name: number for number, name in enumerate(names, first)}
            self.log.add_tables(first, names)

    def begin(self, setup: TableSetup) -> Table:
        """Return a new table. Raise FixtureUndecided if the game fails twice, GameFailed if it is croupier's own."""
        if self._before.stops:
            self.expect(setup, (), ())
        try:
            return self._new(setup)
        except GameFailed as failed:
            return self.again(failed, setup, (), ())

    def given(self, setup: TableSetup) -> Sequence[GivenAnswer]:
        """Return the answers that a table has been given already, by a process that its rules have ended."""
        return self._before.given(setup.path) if self._before.answers else ()

    def expect(self, setup: TableSetup, answers: Sequence[Answer], given_by: Sequence[str]) -> None:
        """Raise FixtureUndecided if the rules have ended two processes after these answers, or too many in all."""
        stops = self._before.stops
        here = [stop.reason for stop in stops if (stop.table, stop.answer) == (setup.path, len(answers))]
        if len(here) > 1 or (here and len(stops) >= MAX_STOPS):
            raise FixtureUndecided(undecided_at(setup, answers, given_by, here[-1]))

    def again(self, failed: GameFailed, setup: TableSetup, answers: Sequence[Answer], given_by: Sequence[str]) -> Table:
        """Return a new table with all answers of one that has failed. The bots of `given_by` gave the last of them.

        Raise FixtureUndecided if a new table fails at the same answer, or too many fail; GameFailed as `begin`.
        """
        places, step = set[int](), len(answers)
        if self.log is not None:
            self.log.place[0] = 0
        while True:
            reason, where = game_failure(self._game.name, failed)
            self.failures.append(f"{setup.path}: the game failed: {reason}")
            if step in places or len(places) >= MAX_FAILURES_IN_A_ROW:
                last = given_by if step == len(answers) else ()
                why = undecided_at(setup, answers[:step], last, reason)
                raise FixtureUndecided(why._replace(where=where)) from failed
            places.add(step)
            step = 0
            try:
                table = self._new(setup)
                while step < len(answers):
                    if table.request is None:
                        raise GameFailed(setup.path) from ValueError("given the same answers, it ended before the last")
                    step += 1
                    self.answer(setup, table, answers[step - 1])
                return table
            except GameFailed as once_more:
                failed = once_more

    def answer(self, setup: TableSetup, table: Table, answer: Answer) -> bool:
        """Give a new table one of the answers so far, as `Table.answer`."""
        return self._run(setup, len(table.answers) + 1, table.answer, answer)

    def _new(self, setup: TableSetup) -> Table:
        luck = setup.shuffler(self._root)
        return self._run(setup, 0, Table, self._game, setup.rules, luck, (), None, setup.path)

    def _run(self, setup: TableSetup, answer: int, rules: Callable[..., _T], *values: Any) -> _T:
        return rules(*values) if self.log is None else self.log.run(self._numbers[setup.path], answer, rules, *values)


class LoggedTable(Table):
    """A table of a command. Its rules may end the process, or never return: a log has what they compute."""

    __slots__ = ("_log", "_number")

    def __init__(self, log: AnswerLog, number: int, *table: Any) -> None:
        """Begin a table with the arguments of `Table`. In the log it has a number, which has been stored with its name."""
        self._log, self._number = log, number
        log.run(number, 0, super().__init__, *table)

    def answer(self, answer: Answer) -> bool:
        """Answer the next question, as any table."""
        return self._log.run(self._number, len(self.answers) + 1, super().answer, answer)


COMMAND_TABLES = itertools.count(1)


def begin_table(
    game: Game, rules: Any, luck: Shuffler, answers: Iterable[Answer] = (), tell: Tell = None, name: str = ""
) -> Table:
    """Return a table that a command plays in its own process. If the rules end the process, its parent says so."""
    log, said = COMMAND_LOG.get(), origin(game.name).said
    if log is None or not said:
        return Table(game, rules, luck, answers, tell, name)
    number = next(COMMAND_TABLES)
    log.add_tables(number, [f"the game {said} failed at table {name}"])
    return LoggedTable(log, number, game, rules, luck, answers, tell, name)
