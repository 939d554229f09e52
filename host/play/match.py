"""Plays the tables of a fixture: carries views to seats and answers to tables, for many tables at once.

A match knows rules that run in another process only as a source of questions (sources/source.py). Tables of croupier's own
games run in this process and are answered directly: an answer takes their rules a few microseconds, and a value for each
step of each table would cost a tenth of that.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import trio

from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor
from host.bots.seat import Seat, ask_all
from host.bots.values import Batch, HasQuestion, IllegalMove, Question
from host.games.engine import Game, Request, Scores, Table, new_tuple
from host.play.lines import NO_LINE, line_of, line_of_moves
from host.play.sources.steady import SourceTable, SteadySource
from host.play.table_plans import TablePlan, TableSetup
from protocols.wire import Answer, View

MAX_PARALLEL_TABLES = 128
YIELD_INTERVAL_S = (
    0.01  # seconds after which other tasks get a turn, even if all answers are fast; it costs 10 to 40 µs
)


class OpenTable:
    """A table that is being played and has an open question. `index` is its index among the tables yielded together."""

    __slots__ = ("bots", "game", "index", "limit", "table", "table_setup", "view")

    def __init__(self, index: int, table: int, table_setup: TableSetup, game: Table) -> None:
        self.index, self.table, self.table_setup, self.game = index, table, table_setup, game
        self.bots = table_setup.bots if game.game.sides is None else table_setup.players(game.game)  # by seat
        self.view: View = ()  # the view of the seat that is asked
        self.limit: float | None = None  # its questions have none; a slot is read faster than a class attribute

    @property
    def number(self) -> int:
        """Return the number of the open question at this table, from 1."""
        return len(self.game.answers) + 1


class Together(NamedTuple):
    """A table that asks several seats at once, and these questions with their bots."""

    one: OpenTable
    parts: tuple[tuple[str, Question], ...]

    @classmethod
    def of(cls, one: OpenTable) -> "Together":
        """Return the open questions of a table."""
        asked = enumerate(one.game.open, one.number)
        return cls(one, tuple((one.bots[seat], Question(one.table, number, view)) for number, (seat, view) in asked))


class PlayedTable(NamedTuple):
    """A table that has been played."""

    table_setup: TableSetup
    scores: Scores
    answers: tuple[Answer, ...]
    line: bytes = NO_LINE
    transcript: bytes = b""  # of a table of a referee

    @classmethod
    def of(cls, table_setup: TableSetup, table: Table) -> "PlayedTable":
        """Return a table that has ended."""
        return cls(table_setup, table.scores or (), tuple(table.answers), line_of(table_setup, table))

    @classmethod
    def of_source(cls, table: SourceTable) -> "PlayedTable":
        """Return a table of a source that has ended."""
        setup, last = table.opened.setup, table.last
        return cls(setup, last.scores or (), tuple(table.answers), line_of_moves(setup, last.moves), table.transcript)


def usable_parallelism(seats: Iterable[Seat], most: int) -> int:
    """Return how many tables these bots can play at once, at most `most`.

    For an argv bot this is also the number that its bot.toml declares: several of its processes running at once would
    use each other's time.
    """
    return min((max_open_tables(seat.bot) for seat in seats if not seat.benched), default=most)


def max_open_tables(bot: BuiltBot) -> int:
    """Return how many tables one bot can play at once: 1 if tables would share its process, its state file or its bank."""
    alone = bot.spec.process_lifetime != "fixture" or bot.spec.state or bot.limits.bank.seconds
    return 1 if alone else bot.spec.parallel_tables


class Seating(NamedTuple):
    """The seats of a fixture, by the name of the process, and how many tables they play at once at most."""

    seats: Mapping[str, Seat]
    monitor: Monitor  # gets a turn when it is due
    max_tables: int


async def play(plan: TablePlan, seating: Seating, game: Game, root: bytes) -> list[PlayedTable]:
    """Play the tables of a fixture with rules that run in this process. `root` is that of all luck.

    Return them in the order of the plan, for any number of tables at once. Raise HostFailure as `ask_all` does.
    """
    return await _played(plan, _Match(seating, game, root))


async def play_source(
    plan: TablePlan, seating: Seating, game: Game, root: bytes, source: SteadySource
) -> list[PlayedTable]:
    """Do the same with rules that run in another process. Raise FixtureUndecided as `SteadySource.advance` does."""
    return await _played(plan, _SourceMatch(seating, game, root, source))


async def _played(plan: TablePlan, match: "_Match | _SourceMatch") -> list[PlayedTable]:
    """Play the tables of a plan."""
    played: list[PlayedTable] = []
    table_setups = next(plan, None)
    while table_setups is not None:
        now = await match.play(table_setups, len(played))
        played += now
        try:
            table_setups = plan.send([table.scores for table in now])
        except StopIteration:
            table_setups = None
    await match.news.close()
    return played


class _News:
    """What seats must learn besides their questions: ended tables and illegal moves. A seat gets both with its next batch."""

    def __init__(self, seats: Mapping[str, Seat]) -> None:
        self._seats = seats
        self.ended: defaultdict[str, list[int]] = defaultdict(list)  # by bot
        self.illegal: defaultdict[str, list[IllegalMove]] = defaultdict(list)
        self._numbering = {bot for bot, seat in seats.items() if seat.bot.spec.table_ids}

    def batch(self, bot: str, questions: Sequence[HasQuestion]) -> Batch:
        """Return a batch of questions to a bot, with what it must learn."""
        return Batch(questions, self.ended.pop(bot, ()), self.illegal.pop(bot, ()))

    def report_end(self, bots: Iterable[str], table: int) -> None:
        """Let the bots that number their tables know that one has ended."""
        for bot in bots:
            if bot in self._numbering:
                self.ended[bot].append(table)

    async def close(self) -> None:
        """Send what no batch has carried yet."""
        await ask_all({self._seats[bot]: self.batch(bot, ()) for bot in {**self.ended, **self.illegal}})


class _Turns:
    """Lets other tasks run from time to time."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.due = 0.0  # time at which other tasks get the next turn

    async def give(self) -> None:
        """Let other tasks run."""
        await trio.lowlevel.checkpoint()
        self.due = min(time.perf_counter() + YIELD_INTERVAL_S, self._monitor.due)


class _Match:
    """Carries requests and answers between tables in this process and seats, many tables at a time."""

    def __init__(self, seating: Seating, game: Game, root: bytes) -> None:
        self._seats, self._max_tables = seating.seats, seating.max_tables
        self._game, self._root = game, root
        self._turns, self.news = _Turns(seating.monitor), _News(seating.seats)
        self._questions: defaultdict[str, list[OpenTable]] = defaultdict(list)  # by bot
        self._together: list[Together] = []  # tables that ask several seats at once

    async def play(self, table_setups: Sequence[TableSetup], before: int) -> list[PlayedTable]:
        """Play tables that do not depend on each other. `before` is the number of tables that the fixture has had before."""
        at_once = max(1, min(self._max_tables, usable_parallelism(self._seats.values(), self._max_tables)))
        if at_once == 1 or len(table_setups) == 1:
            return [
                await self._play_alone(before + index, table_setup) for index, table_setup in enumerate(table_setups, 1)
            ]
        waiting = iter(enumerate(table_setups))
        finished: dict[int, PlayedTable] = {}
        open_tables = 0
        while True:
            while open_tables < at_once and (following := next(waiting, None)):
                index, table_setup = following
                opened = self._begin(index, before + index + 1, table_setup)
                if self._queue(opened):
                    open_tables += 1
                else:
                    finished[index] = PlayedTable.of(table_setup, opened.game)
            if not open_tables:
                return [finished[index] for index in range(len(table_setups))]
            if time.perf_counter() > self._turns.due:
                await self._turns.give()
            for ended in await self._ask_and_advance():
                open_tables -= 1
                finished[ended.index] = PlayedTable.of(ended.table_setup, ended.game)

    async def _play_alone(self, number: int, table_setup: TableSetup) -> PlayedTable:
        """Play one table, one question after the other. Most answers come without a batch and without other tasks."""
        opened = self._begin(0, number, table_setup)
        table = opened.game
        bots, seats, turns = opened.bots, [self._seats[bot] for bot in opened.bots], self._turns
        all_ended, all_illegal = self.news.ended, self.news.illegal
        while (request := table.request) is not None:
            if table.together:
                await self._ask_together(Together.of(opened))
                continue
            at, opened.view = request
            bot, seat = bots[at], seats[at]
            if bot in all_ended or bot in all_illegal:
                (answer,) = await seat.ask(self.news.batch(bot, (opened,)))
            else:
                answer = await seat.ask_one(opened)
            if not table.answer(answer):
                all_illegal[bot].append(IllegalMove(Question(number, len(table.answers), opened.view), answer))
            if time.perf_counter() > turns.due:
                await turns.give()
        self.news.report_end(bots, number)
        return PlayedTable.of(table_setup, table)

    def _begin(self, index: int, number: int, table_setup: TableSetup) -> OpenTable:
        luck = table_setup.shuffler(self._root)
        return OpenTable(index, number, table_setup, Table(self._game, table_setup.rules, luck, name=table_setup.path))

    def _queue(self, one: OpenTable) -> bool:
        """Queue the open questions of a table. Return False if the game is over."""
        table = one.game
        if table.together:
            self._together.append(Together.of(one))
        elif table.request is not None:
            seat, one.view = table.request
            self._questions[one.bots[seat]].append(one)
        return table.request is not None

    async def _ask_together(self, asked: Together) -> None:
        """Ask several seats of one table at once, and send the answers to the table."""
        seats = self._seats
        answers = await ask_all({seats[bot]: self.news.batch(bot, (question,)) for bot, question in asked.parts})
        self._answer_together(asked, {bot: iter(answers[seats[bot]]) for bot, _ in asked.parts})

    def _answer_together(self, asked: Together, given: Mapping[str, Iterator[Answer]]) -> None:
        """Send the next answer of each bot to a table that has asked several seats at once."""
        for bot, question in asked.parts:
            answer = next(given[bot])
            if not asked.one.game.answer(answer):
                self.news.illegal[bot].append(IllegalMove(question, answer))

    async def _ask_and_advance(self) -> list[OpenTable]:
        """Ask all open questions, and send the answers to their tables. Return the tables that have ended."""
        asked, together, seats, news = self._questions, self._together, self._seats, self.news
        questions = self._questions = defaultdict(list)
        self._together = []
        all_asked = _joined(asked, together) if together else asked
        answers = await ask_all({seats[bot]: news.batch(bot, tables) for bot, tables in all_asked.items()})
        ended = []
        for bot, tables in asked.items():
            for one, answer in zip(tables, answers[seats[bot]], strict=not together):
                table = one.game
                if not table.answer(answer):
                    news.illegal[bot].append(IllegalMove(Question(one.table, len(table.answers), one.view), answer))
                if table.request is None:
                    ended.append(one)
                    news.report_end(one.bots, one.table)
                elif table.together:
                    self._together.append(Together.of(one))
                else:
                    seat, one.view = table.request
                    questions[one.bots[seat]].append(one)
        if together:
            given = {
                bot: iter(answers[seat][len(asked.get(bot, ())) :]) for bot, seat in seats.items() if seat in answers
            }
            for several in together:
                self._answer_together(several, given)
                if not self._queue(several.one):
                    ended.append(several.one)
                    news.report_end(several.one.bots, several.one.table)
        return ended


def _joined(
    asked: Mapping[str, list[OpenTable]], together: Iterable[Together]
) -> Mapping[str, Sequence[OpenTable | Question]]:
    """Return the questions of each bot: those of tables that ask one seat, then those of tables that ask several."""
    joined: defaultdict[str, list[OpenTable | Question]] = defaultdict(list)
    for bot, tables in asked.items():
        joined[bot] += tables
    for several in together:
        for bot, question in several.parts:
            joined[bot].append(question)
    return joined


class _SourceTable:
    """A table of a source at play. `number` is its number in the fixture, from 1."""

    __slots__ = ("bots", "first", "index", "limits", "number", "requests", "table")

    def __init__(self, index: int, number: int, table: SourceTable, bots: Sequence[str]) -> None:
        """`bots` are the names of the processes by seat."""
        self.index, self.number, self.table, self.bots = index, number, table, bots
        self.requests: Sequence[Request] = ()  # the open ones, in the order of their answers
        self.limits: Sequence[float | None] = ()  # of their answers
        self.first = 1  # the number of the first of them at this table

    def follow(self) -> bool:
        """Take over the open requests of the last step. Return False if the table is over."""
        self.first += len(self.requests)
        self.requests, _, _, self.limits, _, _ = self.table.last
        return bool(self.requests)


class _SourceMatch:
    """Carries requests and answers between a source and seats: in turn, all open questions, and then all answers."""

    def __init__(self, seating: Seating, game: Game, root: bytes, source: SteadySource) -> None:
        self._seats, self._max_tables = seating.seats, seating.max_tables
        self._game, self._root, self._source = game, root, source
        self._turns, self.news = _Turns(seating.monitor), _News(seating.seats)

    async def play(self, table_setups: Sequence[TableSetup], before: int) -> list[PlayedTable]:
        """Play tables that do not depend on each other. `before` is the number of tables that the fixture has had before."""
        at_once = max(1, min(self._max_tables, usable_parallelism(self._seats.values(), self._max_tables)))
        waiting = iter(enumerate(table_setups))
        finished: dict[int, PlayedTable] = {}
        tables: list[_SourceTable] = []
        while True:
            new = [self._new(index, before, setup) for index, setup in islice(waiting, at_once - len(tables))]
            if not new and not tables:
                return [finished[index] for index in range(len(table_setups))]
            given = await self._ask(tables) if tables else {}
            await self._source.advance([one.table for one in new], given)
            tables = [one for one in [*tables, *new] if self._goes_on(one, given.get(one.table.number, ()), finished)]
            if time.perf_counter() > self._turns.due:
                await self._turns.give()

    def _new(self, index: int, before: int, setup: TableSetup) -> _SourceTable:
        """Return a table that is not open yet."""
        table = self._source.table(setup, self._root, setup.seated(self._game))
        return _SourceTable(index, before + index + 1, table, setup.players(self._game))

    async def _ask(self, tables: Iterable[_SourceTable]) -> dict[int, list[Answer]]:
        """Ask all open questions. Return the answers to each table, by its number in the source."""
        asked: defaultdict[str, list[Question]] = defaultdict(list)
        for one in tables:
            bots, table, first, limits = one.bots, one.number, one.first, one.limits
            for nth, (seat, view) in enumerate(one.requests):
                limit = limits[nth] if limits else None
                asked[bots[seat]].append(new_tuple(Question, (table, first + nth, view, limit)))
        answers = await ask_all({self._seats[bot]: self.news.batch(bot, some) for bot, some in asked.items()})
        given = {bot: iter(answers[self._seats[bot]]) for bot in asked}
        return {one.table.number: [next(given[one.bots[seat]]) for seat, _ in one.requests] for one in tables}

    def _goes_on(self, one: _SourceTable, answers: Sequence[Answer], finished: dict[int, PlayedTable]) -> bool:
        """Note what a table has said last. Return False if the table is over."""
        for nth in one.table.last.illegal:
            seat, view = one.requests[nth]
            question = Question(one.number, one.first + nth, view)
            self.news.illegal[one.bots[seat]].append(IllegalMove(question, answers[nth]))
        if one.follow():
            return True
        finished[one.index] = PlayedTable.of_source(one.table)
        self.news.report_end(one.bots, one.number)
        return False
