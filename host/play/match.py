"""Plays the tables of a fixture: carries views to seats and answers to tables, for many tables at once."""

import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import trio

from host.bots.seat import Seat, ask_all
from host.bots.values import Batch, IllegalMove, Question
from host.games.engine import Game, Scores, Table
from host.games.luck import Deal, Luck, Shuffler
from host.submissions.bot_spec import BuiltBot
from protocols.wire import Answer, View

MAX_PARALLEL_TABLES = 128
YIELD_INTERVAL_S = 0.002  # seconds after which other tasks get a turn, even if all answers are fast


class TableSetup(NamedTuple):
    """One table of a fixture before it is played: the bots by seat, the rules and the luck."""

    bots: tuple[str, ...]
    rules: Any
    path: str  # its name, and the path of its luck unless it shares luck
    luck: str = ""

    def shuffler(self, root: bytes) -> Shuffler:
        """Return the source of randomness of this table: its own luck, or the luck shared with other tables."""
        return Deal(root, self.luck) if self.luck else Luck(root, self.path)


class OpenTable:
    """A table that is being played and has an open question. `nth` is its index among the tables yielded together."""

    __slots__ = ("bots", "game", "nth", "sitting", "table", "view")

    def __init__(self, nth: int, table: int, sitting: TableSetup, game: Table) -> None:
        self.nth, self.table, self.sitting, self.game = nth, table, sitting, game
        self.bots = sitting.bots
        self.view: View = ()  # the view of the seat that is asked

    @property
    def number(self) -> int:
        """Return the number of the open question at this table, from 1."""
        return len(self.game.answers) + 1


class PlayedTable(NamedTuple):
    """A table that has been played."""

    sitting: TableSetup
    scores: Scores
    answers: tuple[Answer, ...]


TablePlan = Generator[Sequence[TableSetup], Sequence[Scores], None]
"""The plan of a fixture: a generator that yields the tables that can be played now, and is sent their scores. It ends
when all tables have been played."""


def usable_parallelism(seats: Iterable[Seat], most: int) -> int:
    """Return how many tables these bots can play at once, at most `most`.

    For an argv bot this is also the number that its bot.toml declares: several of its processes running at once would
    use each other's time.
    """
    return min((max_open_tables(seat.bot) for seat in seats if not seat.benched), default=most)


def max_open_tables(bot: BuiltBot) -> int:
    """Return how many tables one bot can play at once: 1 if tables would share its process or its state file."""
    return 1 if bot.spec.lifetime == "table" or bot.spec.state else bot.spec.parallel_tables


async def play(
    game: Game, plan: TablePlan, seats: Mapping[str, Seat], root: bytes, most_abreast: int = MAX_PARALLEL_TABLES
) -> list[PlayedTable]:
    """Play the tables of a fixture. Return them in the order of the plan, for any number of tables at once.

    Raise HostFailure or AmbiguousAnswers as `ask_all` does.
    """
    match = _Match(game, seats, root, most_abreast)
    played: list[PlayedTable] = []
    sittings = next(plan, None)
    while sittings is not None:
        now = await match.play(sittings, len(played))
        played += now
        try:
            sittings = plan.send([table.scores for table in now])
        except StopIteration:
            sittings = None
    await match.close()
    return played


class _Match:
    """Carries requests and answers between tables and seats, many tables at a time."""

    def __init__(self, game: Game, seats: Mapping[str, Seat], root: bytes, max_tables: int) -> None:
        self._game, self._seats, self._root, self._max_tables = game, seats, root, max_tables
        self._questions: defaultdict[str, list[OpenTable]] = defaultdict(list)  # by bot
        # Ended tables and illegal moves, by bot: a seat gets both with its next batch.
        self._ended: defaultdict[str, list[int]] = defaultdict(list)
        self._illegal: defaultdict[str, list[IllegalMove]] = defaultdict(list)
        self._yielded = 0.0  # time at which other tasks last had a turn

    async def play(self, sittings: Sequence[TableSetup], before: int) -> list[PlayedTable]:
        """Play tables that do not depend on each other. `before` is the number of tables that the fixture has had before."""
        at_once = max(1, min(self._max_tables, usable_parallelism(self._seats.values(), self._max_tables)))
        waiting = iter(enumerate(sittings))
        finished: dict[int, PlayedTable] = {}
        open_tables = 0
        while True:
            while open_tables < at_once and (following := next(waiting, None)):
                nth, sitting = following
                table = Table(self._game, sitting.rules, sitting.shuffler(self._root))
                if table.request is None:
                    finished[nth] = PlayedTable(sitting, table.scores or (), ())
                    continue
                opened = OpenTable(nth, before + nth + 1, sitting, table)
                seat, opened.view = table.request
                self._questions[opened.bots[seat]].append(opened)
                open_tables += 1
            if not open_tables:
                return [finished[nth] for nth in range(len(sittings))]
            if time.perf_counter() - self._yielded > YIELD_INTERVAL_S:
                await trio.lowlevel.checkpoint()
                self._yielded = time.perf_counter()
            for ended in await self._ask_and_advance():
                open_tables -= 1
                finished[ended.nth] = PlayedTable(ended.sitting, ended.game.scores or (), tuple(ended.game.answers))

    async def _ask_and_advance(self) -> list[OpenTable]:
        """Ask all open questions, and send the answers to their tables. Return the tables that have ended."""
        asked, seats = self._questions, self._seats
        questions = self._questions = defaultdict(list)
        batches = {}
        for bot, tables in asked.items():
            batches[seats[bot]] = Batch(tables, self._ended.pop(bot, ()), self._illegal.pop(bot, ()))
        answers = await ask_all(batches)
        ended = []
        for bot, tables in asked.items():
            for one, answer in zip(tables, answers[seats[bot]], strict=True):
                table = one.game
                if not table.answer(answer):
                    question = Question(one.table, len(table.answers), one.view)
                    self._illegal[bot].append(IllegalMove(question, answer))
                if table.request is not None:
                    seat, one.view = table.request
                    questions[one.bots[seat]].append(one)
                    continue
                ended.append(one)
                for each in one.bots:
                    self._ended[each].append(one.table)
        return ended

    async def close(self) -> None:
        """Send the ended tables and illegal moves that no batch has carried yet."""
        batches = {}
        for bot in {**self._ended, **self._illegal}:
            batches[self._seats[bot]] = Batch((), self._ended.pop(bot, ()), self._illegal.pop(bot, ()))
        await ask_all(batches)
