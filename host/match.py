"""Tables and seats: views go down, answers come up, many tables abreast."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import trio

from host.bots.build import Bot
from host.bots.seat import Seat
from host.bots.told import Question
from host.games.engine import Game, Scores, Table
from host.games.luck import Luck
from protocols.words import Answer, View

MOST_ABREAST = 128


class SeatLost(Exception):
    """Raised when our own part fails under a bot: nothing is scored, the fixture is played again."""

    def __init__(self, bot: str) -> None:
        super().__init__(f"the keeper of {bot} has died")
        self.bot = bot


class Muddled(SeatLost):
    """Raised when a bot cannot be asked for many tables at once: the fixture is played again, one table at a time."""


class Sitting(NamedTuple):
    """One table of a fixture, before it is played: who sits where, under which rules, with which luck."""

    bots: tuple[str, ...]
    rules: Any
    path: str  # its name, and its part of the seed unless it shares another's luck
    luck: str = ""


class Open:
    """A table under way, its question open: the nth of those that were given together."""

    __slots__ = ("game", "nth", "sitting", "table")

    def __init__(self, nth: int, table: int, sitting: Sitting, game: Table) -> None:
        self.nth, self.table, self.sitting, self.game = nth, table, sitting, game

    @property
    def number(self) -> int:
        """Which of the table's questions is open, from 1."""
        return len(self.game.answers) + 1

    @property
    def view(self) -> View:
        """What the seat that is asked is shown."""
        assert self.game.request is not None
        return self.game.request.view


class Played(NamedTuple):
    """One table that has been played."""

    sitting: Sitting
    scores: Scores
    answers: tuple[Answer, ...]


Sittings = Generator[Sequence[Sitting], Sequence[Scores], None]
"""A fixture's plan: it yields the tables that may be played now, is sent their scores, and ends when all are played."""


def abreast(seats: Iterable[Seat], most: int) -> int:
    """Return how many tables these bots can bear at once, at the most.

    It is a bot's own word by argv too: four bots that compute at the same time would pay for each other's time.
    """
    return min((bears(seat.bot) for seat in seats if not seat.benched), default=most)


def bears(bot: Bot) -> int:
    """Return how many tables one bot can bear: one where tables would meet in its process or its state file."""
    return 1 if bot.lifetime == "table" or bot.state else bot.abreast


async def play(
    game: Game, plan: Sittings, seats: Mapping[str, Seat], root: bytes, most_abreast: int = MOST_ABREAST
) -> list[Played]:
    """Play a fixture's tables; return them in the plan's order, which does not depend on how many are abreast."""
    played: list[Played] = []
    sittings = next(plan, None)
    while sittings is not None:
        now = await play_some(game, sittings, seats, root, most_abreast, len(played))
        played += now
        try:
            sittings = plan.send([table.scores for table in now])
        except StopIteration:
            sittings = None
    return played


async def play_some(
    game: Game, sittings: Sequence[Sitting], seats: Mapping[str, Seat], root: bytes, most_abreast: int, before: int
) -> list[Played]:
    """Play tables that do not depend on each other, in waves; `before` is how many the fixture has had."""
    at_once = max(1, min(most_abreast, abreast(seats.values(), most_abreast)))
    waiting = iter(enumerate(sittings))
    finished: dict[int, Played] = {}
    open_tables: list[Open] = []

    while True:
        while len(open_tables) < at_once:
            nth, sitting = next(waiting, (-1, None))
            if sitting is None:
                break
            table = Table(game, sitting.rules, Luck(root, sitting.luck or sitting.path))
            if table.scores is not None:
                finished[nth] = Played(sitting, table.scores, ())
            else:
                open_tables.append(Open(nth, before + nth + 1, sitting, table))
        if not open_tables:
            return [finished[nth] for nth in range(len(sittings))]

        wave: dict[str, list[Open]] = {}
        for one in open_tables:
            asked = one.sitting.bots[one.game.request[0]]  # type: ignore[index]  # it is open
            if asked in wave:
                wave[asked].append(one)
            else:
                wave[asked] = [one]
        answers = await ask(wave, seats)

        ended = 0
        for name, questions in wave.items():
            for one, answer in zip(questions, answers[name], strict=True):
                game_under_way = one.game
                request, illegal = game_under_way.request, len(game_under_way.illegal)
                game_under_way.answer(answer)
                if len(game_under_way.illegal) > illegal:
                    assert request is not None
                    asked_then = Question(one.table, len(game_under_way.answers), request.view)
                    seats[name].illegal(asked_then, answer)
                if game_under_way.scores is not None:
                    ended += 1
                    finished[one.nth] = Played(one.sitting, game_under_way.scores, tuple(game_under_way.answers))
                    for bot in one.sitting.bots:
                        await seats[bot].over(one.table)
        if ended:
            open_tables = [one for one in open_tables if one.game.request is not None]


async def ask(wave: Mapping[str, Sequence[Open]], seats: Mapping[str, Seat]) -> dict[str, list[Answer]]:
    """Show every seat its questions, all seats at once. Raise SeatLost when a keeper has died."""
    answers: dict[str, list[Answer]] = {}

    async def one(name: str) -> None:
        answers[name] = await seats[name].decide(wave[name])

    if len(wave) == 1:
        await one(next(iter(wave)))
    else:
        async with trio.open_nursery() as nursery:
            for name in wave:
                nursery.start_soon(one, name)
    for name in wave:
        if seats[name].lost:
            raise SeatLost(name)
        if seats[name].muddled:
            raise Muddled(name)
    return answers
