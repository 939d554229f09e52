"""The rules in this process: croupier's own games, an organiser's Python code, OpenSpiel.

This is the fast path of the seam (source.py). A match answers a `Table` directly instead of calling `advance`: an answer
takes the rules a few microseconds, and a value for each step of each table would cost a tenth of that.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from host.games.engine import Game, GameFailed, Table, Tell
from host.games.luck import Shuffler
from host.play.answer_log import COMMAND_LOG, MAX_STOPS, UNINTERRUPTED, AnswerLog, GivenAnswer, Interrupted
from host.play.custom_games import game_failure, origin
from host.play.sources.steady import MAX_FAILURES_IN_A_ROW, FixtureUndecided, undecided_at
from host.play.table_plans import TableSetup
from protocols.wire import Answer


class InProcess:
    """Begins the tables of a fixture, and begins a table again if its rules raise an exception.

    `failures` has a sentence for each exception.
    """

    def __init__(
        self, game: Game, root: bytes, log: AnswerLog | None = None, before: Interrupted = UNINTERRUPTED
    ) -> None:
        """With a log, the rules may end the process: the next one gets what is in the log as `before`."""
        self._game, self._root, self._before, self.log = game, root, before, log
        self.failures = [f"{stop.table}: the game failed: {stop.reason}" for stop in before.stops]

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
                    table.answer(answers[step - 1])
                return table
            except GameFailed as once_more:
                failed = once_more

    def _new(self, setup: TableSetup) -> Table:
        luck = setup.shuffler(self._root)
        if self.log is None:
            return Table(self._game, setup.rules, luck, name=setup.path)
        return LoggedTable(self.log, setup.path, self._game, setup.rules, luck, (), None, setup.path)


class LoggedTable(Table):
    """A table whose rules may end the process, or never return: a log has what they compute."""

    __slots__ = ("_number", "_place")

    def __init__(self, log: AnswerLog, logged_name: str, *table: Any) -> None:
        """Begin a table with the arguments of `Table`. In the log it has a name of its own."""
        self._place, self._number = log.place, log.add_table(logged_name)
        self._place[1] = 0
        self._place[0] = self._number
        try:
            super().__init__(*table)
        finally:
            self._place[0] = 0

    def answer(self, answer: Answer) -> bool:
        """Answer the next question, as any table."""
        place = self._place
        place[1] = len(self.answers) + 1
        place[0] = self._number
        try:
            return Table.answer(self, answer)  # half the time of `super`
        finally:
            place[0] = 0


def begin_table(
    game: Game, rules: Any, luck: Shuffler, answers: Iterable[Answer] = (), tell: Tell = None, name: str = ""
) -> Table:
    """Return a table that a command plays in its own process. If the rules end the process, its parent says so."""
    log, said = COMMAND_LOG.get(), origin(game.name).said
    if log is None or not said:
        return Table(game, rules, luck, answers, tell, name)
    return LoggedTable(log, f"the game {said} failed at table {name}", game, rules, luck, answers, tell, name)
