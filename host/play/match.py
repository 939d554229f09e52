"""Tables and seats: views go down, answers come up, many tables abreast."""

import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import trio

from host.bots.persistent import poll_all
from host.bots.seat import Seat
from host.bots.values import Question
from host.games.engine import Game, Scores, Table
from host.games.luck import Deal, Luck, Shuffler
from host.submissions.bot_spec import Bot
from protocols.wire import Answer, View

MAX_PARALLEL_TABLES = 128
YIELD_INTERVAL_S = 0.002  # seconds after which others get their turn, however brisk the answers


class HostFailure(Exception):
    """Raised when our own part fails under a bot: nothing is scored, the fixture is played again."""

    def __init__(self, bot: str) -> None:
        super().__init__(f"the keeper of {bot} has died")
        self.bot = bot


class AmbiguousAnswers(HostFailure):
    """Raised when a bot cannot be asked for many tables at once: the fixture is played again, one table at a time."""


class TableSetup(NamedTuple):
    """One table of a fixture, before it is played: who sits where, under which rules, with which luck."""

    bots: tuple[str, ...]
    rules: Any
    path: str  # its name, and its part of the seed unless it shares another's luck
    luck: str = ""

    def shuffler(self, root: bytes) -> Shuffler:
        """Return what deals at this table: luck of its own, or what it shares with others."""
        return Deal(root, self.luck) if self.luck else Luck(root, self.path)


class OpenTable:
    """A table under way, its question open: the nth of those that were given together."""

    __slots__ = ("bots", "game", "nth", "sitting", "table", "view")

    def __init__(self, nth: int, table: int, sitting: TableSetup, game: Table) -> None:
        self.nth, self.table, self.sitting, self.game = nth, table, sitting, game
        self.bots = sitting.bots
        self.view: View = ()  # what the seat that is asked is shown

    @property
    def number(self) -> int:
        """Which of the table's questions is open, from 1."""
        return len(self.game.answers) + 1


class PlayedTable(NamedTuple):
    """One table that has been played."""

    sitting: TableSetup
    scores: Scores
    answers: tuple[Answer, ...]


TablePlan = Generator[Sequence[TableSetup], Sequence[Scores], None]
"""A fixture's plan: it yields the tables that may be played now, is sent their scores, and ends when all are played."""


def usable_parallelism(seats: Iterable[Seat], most: int) -> int:
    """Return how many tables these bots can bear at once, at the most.

    It is a bot's own word by argv too: four bots that compute at the same time would pay for each other's time.
    """
    return min((max_open_tables(seat.bot) for seat in seats if not seat.benched), default=most)


def max_open_tables(bot: Bot) -> int:
    """Return how many tables one bot can bear: one where tables would meet in its process or its state file."""
    return 1 if bot.lifetime == "table" or bot.state else bot.parallel_tables


async def play(
    game: Game, plan: TablePlan, seats: Mapping[str, Seat], root: bytes, most_abreast: int = MAX_PARALLEL_TABLES
) -> list[PlayedTable]:
    """Play a fixture's tables; return them in the plan's order, which does not depend on how many are abreast."""
    played: list[PlayedTable] = []
    sittings = next(plan, None)
    while sittings is not None:
        now = await play_batch(game, sittings, seats, root, most_abreast, len(played))
        played += now
        try:
            sittings = plan.send([table.scores for table in now])
        except StopIteration:
            sittings = None
    return played


async def play_batch(
    game: Game, sittings: Sequence[TableSetup], seats: Mapping[str, Seat], root: bytes, most_abreast: int, before: int
) -> list[PlayedTable]:
    """Play tables that do not depend on each other, in waves; `before` is how many the fixture has had."""
    at_once = max(1, min(most_abreast, usable_parallelism(seats.values(), most_abreast)))
    waiting = iter(enumerate(sittings))
    finished: dict[int, PlayedTable] = {}
    wave: defaultdict[str, list[OpenTable]] = defaultdict(list)
    open_tables, gave_way = 0, 0.0

    while True:
        while open_tables < at_once and (following := next(waiting, None)):
            nth, sitting = following
            table = Table(game, sitting.rules, sitting.shuffler(root))
            if table.request is None:
                finished[nth] = PlayedTable(sitting, table.scores or (), ())
                continue
            opened = OpenTable(nth, before + nth + 1, sitting, table)
            seat, opened.view = table.request
            wave[opened.bots[seat]].append(opened)
            open_tables += 1
        if not open_tables:
            return [finished[nth] for nth in range(len(sittings))]

        if time.perf_counter() - gave_way > YIELD_INTERVAL_S:
            await trio.lowlevel.checkpoint()
            gave_way = time.perf_counter()
        answers = await ask(wave, seats)
        asked, wave = wave, defaultdict(list)
        for name, questions in asked.items():
            for one, answer in zip(questions, answers[name], strict=True):
                table = one.game
                if not table.answer(answer):
                    seats[name].illegal(Question(one.table, len(table.answers), one.view), answer)
                if table.request is not None:
                    seat, one.view = table.request
                    wave[one.bots[seat]].append(one)
                    continue
                open_tables -= 1
                finished[one.nth] = PlayedTable(one.sitting, table.scores or (), tuple(table.answers))
                for bot in one.bots:
                    await seats[bot].over(one.table)


async def ask(wave: Mapping[str, Sequence[OpenTable]], seats: Mapping[str, Seat]) -> dict[str, list[Answer]]:
    """Show every seat its questions, all seats at once. Raise SeatLost when a keeper has died."""
    shown = {name: talker for name in wave if (talker := seats[name].show(wave[name])) is not None}
    poll_all(shown.values())
    answers: dict[str, list[Answer]] = {}

    async def one(name: str) -> None:
        answers[name] = await seats[name].ask(wave[name])

    late = [name for name in wave if name not in shown or not shown[name].answered]
    for name in wave:
        if name not in late:
            await one(name)
    if len(late) == 1:
        await one(late[0])
    elif late:
        async with trio.open_nursery() as nursery:
            for name in late:
                nursery.start_soon(one, name)
    for name in wave:
        if seats[name].host_failed:
            raise HostFailure(name)
        if seats[name].muddled:
            raise AmbiguousAnswers(name)
    return answers
