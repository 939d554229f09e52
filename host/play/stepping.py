"""Plays tables step by step: one seat at each table is the caller's, bots answer for the others."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from host.bots.seat import Seat, ask_all
from host.bots.values import Batch, IllegalMove, Question
from host.games.engine import Game, Scores, Table, new_tuple
from host.games.luck import Luck
from protocols.wire import Answer, Fault, View

NAME = "env"  # the first part of the names of tables, on which the cards depend
PLAYER = ""  # the caller among the bots of a table


class SteppedTable:
    """A table at which the caller has a seat. `number` counts the tables from 1: seats rotate from table to table."""

    __slots__ = ("_given", "bots", "number", "played", "seat", "seats", "view", "was_illegal")

    def __init__(self, game: Game, rules: Any, opponents: Sequence[str], root: bytes, number: int) -> None:
        path = f"{NAME}/{number}"
        self.number, self.seat = number, (number - 1) % rules.seats
        draw = Luck(root, f"{path}/opponents")
        others = [opponents[draw.below(len(opponents))] for _ in range(rules.seats - 1)]
        self.bots = (*others[: self.seat], PLAYER, *others[self.seat :])
        self.seats: Mapping[int, Seat] = {}  # of the bots, by place; they are needed before the table is played
        self.played = Table(game, rules, Luck(root, path), name=path)
        self.view: View | None = None  # of the caller, once it is asked
        self.was_illegal = False  # whether the caller's last answer was illegal or unreadable
        self._given: dict[int, Answer] = {}  # to questions that are asked at the same time, by seat

    @property
    def scores(self) -> Scores | None:
        """The scores by seat; None while the table is played."""
        return self.played.scores

    def questions(self) -> Sequence[tuple[int, Question]]:
        """Return the open questions to bots, each with its seat, and store the view of the caller if it is asked."""
        played = self.played
        if played.request is None:
            return ()
        first = len(played.answers) + 1
        if not played.together:
            seat, view = played.request
            if seat != self.seat:
                return ((seat, new_tuple(Question, (self.number, first, view, None))),)
            self.view = view
            return ()
        found = list[tuple[int, Question]]()
        for nth, (seat, view) in enumerate(played.together):
            if seat == self.seat:
                self.view = None if seat in self._given else view
            elif seat not in self._given:
                found.append((seat, Question(self.number, first + nth, view)))
        return found

    def give(self, seat: int, answer: Answer) -> Sequence[tuple[int, IllegalMove]]:
        """Give the answer of a seat. When all open questions are answered, play on.

        Return the illegal moves of bots, each with its seat.
        """
        played = self.played
        if not played.together:
            request = played.request
            return self._answer(seat, request.view if request else (), answer)
        self._given[seat] = answer
        if len(self._given) < len(played.together):
            return ()
        asked, given, self._given = played.together, self._given, {}
        return [illegal for one, view in asked for illegal in self._answer(one, view, given[one])]

    def _answer(self, seat: int, view: View, answer: Answer) -> Sequence[tuple[int, IllegalMove]]:
        fair = self.played.answer(answer)
        if seat == self.seat:
            self.was_illegal = not fair or isinstance(answer, Fault)
            return ()
        return () if fair else [(seat, IllegalMove(Question(self.number, len(self.played.answers), view), answer))]


class SteppedTables:
    """Several tables that are played at the same time. `new_table` begins one."""

    def __init__(self, count: int, new_table: Callable[[], SteppedTable]) -> None:
        self._new_table = new_table
        self.tables = [new_table() for _ in range(count)]
        self._ended: defaultdict[Seat, list[int]] = defaultdict(list)
        self._illegal: defaultdict[Seat, list[IllegalMove]] = defaultdict(list)

    def renew(self, index: int) -> None:
        """Begin a new table in the place of another."""
        old = self.tables[index]
        for seat in {*old.seats.values()}:
            self._ended[seat].append(old.number)
        self.tables[index] = self._new_table()

    async def advance(self, answers: Mapping[int, Answer]) -> None:
        """Play the caller's answers, by index of the table, and then all tables until they ask the caller or are over.

        Raise HostFailure as `ask_all` does, and GameFailed if the rules fail.
        """
        for index, answer in answers.items():
            table = self.tables[index]
            table.view = None
            self._give(table, table.seat, answer)
        going = [table for table in self.tables if table.view is None]
        while going:
            asked: defaultdict[Seat, list[tuple[SteppedTable, int, Question]]] = defaultdict(list)
            for table in going:
                for place, question in table.questions():
                    asked[table.seats[place]].append((table, place, question))
            going = [*{id(table): table for some in asked.values() for table, _, _ in some}.values()]
            if not asked:
                return
            batches = {
                seat: Batch([question for *_, question in some], self._ended.pop(seat, ()), self._illegal.pop(seat, ()))
                for seat, some in asked.items()
            }
            found = await ask_all(batches)
            for seat, some in asked.items():
                for (table, place, _), given in zip(some, found[seat], strict=True):
                    self._give(table, place, given)

    def _give(self, table: SteppedTable, place: int, answer: Answer) -> None:
        for other, illegal in table.give(place, answer):
            self._illegal[table.seats[other]].append(illegal)
