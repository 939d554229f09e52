"""Plays tables step by step: the caller has one seat at each table, and bots have the other seats.

Tables, questions and news are those of a match (match.py). Bots are asked immediately. A question to the caller stays
open until the caller answers it with `advance`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from host.bots.seat import Seat
from host.games.engine import Scores, Table
from host.games.luck import Luck
from host.play.match import News, OpenQuestion, OpenTable, OwnRules, OwnTable, ask
from host.play.table_plans import TableSetup, bot_of
from protocols.wire import Answer, Fault, View

NAME = "env"  # the first part of the names of tables, on which the cards depend
PLAYER = "/"  # the caller among the bots of a table; no bot has this name


def endless_setups(rules: Any, opponents: Sequence[str], root: bytes) -> Iterator[TableSetup]:
    """Yield tables without end: the seat of the caller rotates, and the bots at the other seats are drawn."""
    for number in count(1):
        path, seat = f"{NAME}/{number}", (number - 1) % rules.seats
        draw = Luck(root, f"{path}/opponents")
        others = [opponents[draw.below(len(opponents))] for _ in range(rules.seats - 1)]
        yield TableSetup((*others[:seat], PLAYER, *others[seat:]), rules, path)


class SteppedTable:
    """A table at which the caller has a seat. `was_illegal` says whether its last answer was illegal or unreadable."""

    __slots__ = ("open", "seat", "was_illegal")

    def __init__(self, table: OwnTable) -> None:
        self.open, self.seat, self.was_illegal = table, table.bots.index(PLAYER), False

    @property
    def number(self) -> int:
        """Return the number of the table, from 1."""
        return self.open.table

    @property
    def bots(self) -> tuple[str, ...]:
        """Return the names of the bots by seat. At the seat of the caller the name is PLAYER."""
        return tuple([bot if bot == PLAYER else bot_of(bot) for bot in self.open.bots])

    @property
    def played(self) -> Table:
        """Return the game at the table: rules, answers and open questions."""
        return self.open.game

    @property
    def scores(self) -> Scores | None:
        """Return the scores by seat; None while the table is played."""
        return self.open.game.scores

    @property
    def question(self) -> OpenTable | OpenQuestion | None:
        """Return the open question to the caller; None if the caller is not asked."""
        return next((question for question in self.open.questions if question.bot == PLAYER), None)

    @property
    def view(self) -> View | None:
        """Return the view of the caller; None if the caller is not asked."""
        question = self.question
        return question.view if question is not None else None


class SteppedTables:
    """Several tables that are played at the same time. `new_table` returns a new table for an index."""

    def __init__(
        self, count: int, new_table: Callable[[int], OwnTable], rules: OwnRules, seats: Mapping[str, Seat]
    ) -> None:
        """`seats` has the seats of the bots by process name. It may be filled later, before `advance` is called."""
        self._new_table, self._rules, self._seats, self._news = new_table, rules, seats, News(seats)
        self.tables = [SteppedTable(new_table(index)) for index in range(count)]
        self.new = [*self.tables]  # tables at which no bot has been asked yet

    def renew(self, index: int) -> None:
        """Replace the table with this index by a new one."""
        old = self.tables[index].open
        self._news.report_end(old.bots, old.table)
        self.tables[index] = SteppedTable(self._new_table(index))
        self.new.append(self.tables[index])

    async def advance(self, answers: Mapping[int, Answer]) -> None:
        """Give tables the caller's answers, by index of the table.

        Then play these tables and all new ones, until each of them asks the caller or is over. Raise HostFailure as
        `ask_all` does, and GameFailed if the rules fail.
        """
        answered = [self.tables[index] for index in answers]
        for table, answer in zip(answered, answers.values(), strict=True):
            assert table.question is not None  # only then the caller answers
            table.question.answer = answer
        await self._rules.advance([table.open for table in answered], self._news)
        illegal = {move.question.table for move in self._news.illegal.pop(PLAYER, ())}
        for table, answer in zip(answered, answers.values(), strict=True):
            table.was_illegal = table.number in illegal or isinstance(answer, Fault)
        going, self.new = [*self.new, *answered], []
        while going:
            asked = [question for table in going for question in table.open.questions if question.bot != PLAYER]
            await ask(asked, self._seats, self._news)
            going = [table for table in going if table.open.questions and table.question is None]
            await self._rules.advance([table.open for table in going], self._news)
