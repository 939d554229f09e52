"""The rules in this process: croupier's own games, an organiser's Python code, OpenSpiel.

This is the fast path of the seam (source.py). A match answers a `Table` directly instead of calling `advance`: an answer
takes the rules a few microseconds, and a value for each step of each table would cost a tenth of that.
"""

from collections.abc import Sequence

from host.games.engine import Game, GameFailed, Table
from host.play.custom_games import game_failure
from host.play.sources.steady import MAX_FAILURES_IN_A_ROW, FixtureUndecided, undecided_at
from host.play.table_plans import TableSetup
from protocols.wire import Answer


class InProcess:
    """Begins the tables of a fixture, and begins a table again if its rules raise an exception.

    `failures` has a sentence for each exception.
    """

    def __init__(self, game: Game, root: bytes) -> None:
        self._game, self._root = game, root
        self.failures: list[str] = []

    def begin(self, setup: TableSetup) -> Table:
        """Return a new table. Raise FixtureUndecided if the game fails twice, GameFailed if it is croupier's own."""
        try:
            return self._new(setup)
        except GameFailed as failed:
            return self.again(failed, setup, (), ())

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
        return Table(self._game, setup.rules, setup.shuffler(self._root), name=setup.path)
