"""Plays the tables of a fixture: carries views to seats and answers to tables, for many tables at the same time.

How it works. Two steps alternate. First `ask` collects the open questions of all tables into one batch for each seat,
and stores each answer in its question. Then `advance` gives each table its answers. The rules of croupier's own games
run in this process. All other rules run in another process, which is a source of questions (sources/source.py). The
match treats both kinds of rules alike. A table that is played alone in this process is played without batches, which is
faster.
"""

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

import trio

from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor
from host.bots.one_shot import question_too_long
from host.bots.seat import Seat, ask_all
from host.bots.values import Batch, HasQuestion, IllegalMove, Question
from host.games.engine import Game, Request, Scores, Table
from host.play.lines import NO_LINE, line_of, line_of_moves
from host.play.sources.steady import SourceTable, SteadySource
from host.play.table_plans import TablePlan, TableSetup
from protocols.wire import Answer, View

MAX_PARALLEL_TABLES = 128
YIELD_INTERVAL_S = (
    0.01  # seconds after which other tasks may run, even if all answers are fast; each time costs 10 to 40 µs
)


class OpenQuestion:
    """A question to one of several seats that a table asks at the same time, with its answer."""

    __slots__ = ("answer", "bot", "limit", "number", "table", "view")
    answer: Answer

    def __init__(self, bot: str, table: int, number: int, view: View, limit: float | None = None) -> None:
        self.bot, self.table, self.number, self.view, self.limit = bot, table, number, view, limit


class OpenTable(ABC):
    """A table that is being played.

    While a table asks one seat, the table itself is the question, and `bot` is the name of the asked process. While it
    asks several seats, `bot` is "" and `together` has the questions. Without `bot` and `together`, it is over or has
    not begun.

    `index` is the index of the table among the tables that the plan yielded together. `table` is its number in the
    fixture.
    """

    __slots__ = ("answer", "bot", "bots", "index", "limit", "table", "table_setup", "together", "view")
    answer: Answer

    def __init__(self, index: int, table: int, table_setup: TableSetup, bots: Sequence[str]) -> None:
        """`bots` are the names of the processes by seat."""
        self.index, self.table, self.table_setup, self.bots = index, table, table_setup, bots
        self.bot, self.together = "", list[OpenQuestion]()
        self.view: View = ()
        self.limit: float | None = None

    @property
    @abstractmethod
    def number(self) -> int:
        """Return the number of the first open question at this table, from 1."""

    @abstractmethod
    def played(self) -> "PlayedTable":
        """Return the table as a PlayedTable. It must be over."""

    @property
    def questions(self) -> Sequence["OpenTable | OpenQuestion"]:
        """Return the open questions; none if the table is over, or has not begun."""
        return (self,) if self.bot else self.together

    def ask(self, requests: Sequence[Request], limits: Sequence[float | None] = ()) -> None:
        """Store the open requests as questions. A table without requests is over.

        `limits` are the time limits of the requests, in seconds; None or () means the bot's own limit.
        """
        self.bot, self.together = "", []
        if len(requests) == 1:
            (seat, self.view), self.limit = requests[0], limits[0] if limits else None
            self.bot = self.bots[seat]
        else:
            for nth, (seat, view) in enumerate(requests):
                limit = limits[nth] if limits else None
                self.together.append(OpenQuestion(self.bots[seat], self.table, self.number + nth, view, limit))


class OwnTable(OpenTable):
    """A table whose rules run in this process."""

    __slots__ = ("game",)

    def __init__(self, index: int, table: int, table_setup: TableSetup, game: Table) -> None:
        players = table_setup.bots if game.game.sides is None else table_setup.players(game.game)
        super().__init__(index, table, table_setup, players)
        self.game = game
        self.ask(game.open)

    @property
    def number(self) -> int:
        """Return the number of the first open question at this table, from 1."""
        return len(self.game.answers) + 1

    def played(self) -> "PlayedTable":
        """Return the table as a PlayedTable. It must be over."""
        game = self.game
        return PlayedTable(self.table_setup, game.scores or (), tuple(game.answers), line_of(self.table_setup, game))


class ForeignTable(OpenTable):
    """A table whose rules run in another process: its questions come from a `Source`."""

    __slots__ = ("first", "source_table")

    def __init__(self, index: int, table: int, source_table: SourceTable, bots: Sequence[str]) -> None:
        super().__init__(index, table, source_table.opened.setup, bots)
        self.source_table = source_table
        self.first = 1

    @property
    def number(self) -> int:
        """Return the number of the first open question at this table, from 1."""
        return self.first

    def played(self) -> "PlayedTable":
        """Return the table as a PlayedTable. It must be over."""
        setup, last, table = self.table_setup, self.source_table.last, self.source_table
        line = line_of_moves(setup, last.moves)
        return PlayedTable(setup, last.scores or (), tuple(table.answers), line, table.transcript)


class PlayedTable(NamedTuple):
    """A table that has been played."""

    table_setup: TableSetup
    scores: Scores
    answers: tuple[Answer, ...]
    line: bytes = NO_LINE
    transcript: bytes = b""  # only of a table with a referee


def max_open_tables(bot: BuiltBot) -> int:
    """Return how many tables one bot can play at the same time: `parallel_tables` of its bot.toml, or 1.

    It is 1 for a bot with a state file, a time bank or retries, and for a bot whose `process_lifetime` is not
    "fixture". The `process_lifetime` of an argv bot is "fixture", although it has one process for each question. So
    `parallel_tables` also limits the tables of an argv bot: its processes would take time from each other.
    """
    alone = bot.spec.process_lifetime != "fixture" or bot.spec.state or bot.limits.bank.seconds or bot.retries
    return 1 if alone else bot.spec.parallel_tables


class Seating(NamedTuple):
    """The seats of a fixture by process name, and the maximum number of tables that they play at the same time."""

    seats: Mapping[str, Seat]
    monitor: Monitor  # must run at the time `due`
    max_tables: int


async def play(plan: TablePlan, seating: Seating, game: Game, root: bytes) -> list[PlayedTable]:
    """Play the tables of a fixture with rules that run in this process. All luck follows from `root`.

    Return the tables in the order of the plan, however many of them are played at the same time. Raise HostFailure as
    `ask_all` does.
    """
    return await _Match(seating, OwnRules(game, root)).play(plan)


async def play_source(
    plan: TablePlan, seating: Seating, game: Game, root: bytes, source: SteadySource
) -> list[PlayedTable]:
    """Play the tables of a fixture, as `play` does, with rules that run in another process.

    Raise FixtureUndecided as `SteadySource.advance` does.
    """
    return await _Match(seating, _ForeignRules(game, root, source, seating.seats)).play(plan)


class News:
    """News for seats besides their questions: ended tables and illegal moves. A seat gets its news with its next batch."""

    def __init__(self, seats: Mapping[str, Seat]) -> None:
        self._seats = seats
        self.ended: defaultdict[str, list[int]] = defaultdict(list)  # by bot
        self.illegal: defaultdict[str, list[IllegalMove]] = defaultdict(list)

    def batch(self, bot: str, questions: Sequence[HasQuestion]) -> Batch:
        """Return a batch of questions to a bot, with all news for the bot. The same news is never returned twice."""
        return Batch(questions, self.ended.pop(bot, ()), self.illegal.pop(bot, ()))

    def report_illegal(self, bot: str, question: Question, move: Answer) -> None:
        """Store the news that a bot's answer to a question was an illegal move."""
        self.illegal[bot].append(IllegalMove(question, move))

    def report_end(self, bots: Iterable[str], table: int) -> None:
        """Store the news that a table has ended, for those of its bots that receive table numbers (`table_ids`)."""
        for bot in bots:
            if bot in self._seats and self._seats[bot].bot.spec.table_ids:
                self.ended[bot].append(table)

    async def close(self) -> None:
        """Send all news that no batch has carried yet."""
        await ask_all({self._seats[bot]: self.batch(bot, ()) for bot in {**self.ended, **self.illegal}})


async def ask(questions: Iterable[OpenTable | OpenQuestion], seats: Mapping[str, Seat], news: News) -> None:
    """Ask open questions, in one batch for each bot, and store each answer in its question.

    Raise HostFailure as `ask_all` does.
    """
    asked: defaultdict[str, list[OpenTable | OpenQuestion]] = defaultdict(list)
    for question in questions:
        asked[question.bot].append(question)
    if asked:
        answers = await ask_all({seats[bot]: news.batch(bot, some) for bot, some in asked.items()})
        for bot, some in asked.items():
            for question, answer in zip(some, answers[seats[bot]], strict=True):
                question.answer = answer


class _Turns:
    """Lets other tasks run from time to time."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.due = 0.0  # time at which other tasks must run next

    async def give(self) -> None:
        """Let other tasks run."""
        await trio.lowlevel.checkpoint()
        self.due = min(time.perf_counter() + YIELD_INTERVAL_S, self._monitor.due)


class OwnRules:
    """Rules of one of croupier's own games, in this process. They process an answer in a few microseconds."""

    room = MAX_PARALLEL_TABLES

    def __init__(self, game: Game, root: bytes) -> None:
        self._game, self._root = game, root

    def begin(self, index: int, number: int, setup: TableSetup) -> OwnTable:
        """Return a new table, which has asked its first questions."""
        luck = setup.shuffler(self._root)
        return OwnTable(index, number, setup, Table(self._game, setup.rules, luck, name=setup.path))

    async def advance(self, tables: Sequence[OwnTable], news: News) -> None:
        """Give each table the answers to its open questions. Then each table has its next questions, or is over."""
        for one in tables:
            game = one.game
            if one.bot:
                if not game.answer(one.answer):
                    news.report_illegal(one.bot, Question(one.table, len(game.answers), one.view), one.answer)
            else:
                for asked in one.together:
                    if not game.answer(asked.answer):
                        news.report_illegal(asked.bot, Question(one.table, asked.number, asked.view), asked.answer)
            if (request := game.request) is not None and not game.together:  # as `ask` does: the usual case
                seat, one.view = request
                one.bot = one.bots[seat]
            else:
                one.ask(game.open)


class _ForeignRules:
    """Rules that run in another process: one message has the answers of all tables."""

    def __init__(self, game: Game, root: bytes, source: SteadySource, seats: Mapping[str, Seat]) -> None:
        self._game, self._root, self._source = game, root, source
        self._by_arguments = {name: seat.bot for name, seat in seats.items() if seat.bot.spec.protocol == "argv"}

    @property
    def room(self) -> int:
        """Return how many tables the process can hold at the same time. Failures reduce this number."""
        return self._source.room

    def begin(self, index: int, number: int, setup: TableSetup) -> ForeignTable:
        """Return a new table. `advance` opens it."""
        table = self._source.table(setup, self._root, setup.seated(self._game))
        return ForeignTable(index, number, table, setup.players(self._game))

    async def advance(self, tables: Sequence[ForeignTable], news: News) -> None:
        """Open the new tables, and give the others their answers. Then each table has its next questions, or is over.

        Raise FixtureUndecided as `SteadySource.advance` does, or for a question that is too long for a bot's command
        line.
        """
        given: dict[int, Sequence[Answer]] = {}
        for one in tables:
            if one.bot:
                given[one.source_table.number] = [one.answer]
            elif one.together:
                given[one.source_table.number] = [asked.answer for asked in one.together]
        await self._source.advance([one.source_table for one in tables if not (one.bot or one.together)], given)
        for one in tables:
            last = one.source_table.last
            for nth in last.illegal:
                asked: OpenQuestion | ForeignTable = one if one.bot else one.together[nth]
                news.report_illegal(asked.bot, Question(one.table, one.first + nth, asked.view), asked.answer)
            one.first += 1 if one.bot else len(one.together)
            for seat, view in last.requests if self._by_arguments else ():
                bot = self._by_arguments.get(one.bots[seat])
                if bot and (reason := question_too_long(bot, view)):
                    one.source_table.refuse(reason)
            one.ask(last.requests, last.limits)


_Table = TypeVar("_Table", bound=OpenTable)


class _Rules(Protocol[_Table]):
    """Rules that hold the tables of a fixture, in this process or in another one."""

    @property
    def room(self) -> int:
        """Return the maximum number of tables whose questions are asked together. Questions of other tables wait."""
        ...

    def begin(self, index: int, number: int, setup: TableSetup) -> _Table:
        """Return a new table."""
        ...

    async def advance(self, tables: Sequence[_Table], news: News) -> None:
        """Give each table the answers to its open questions. Then each table has its next questions, or is over."""
        ...


class _Match(Generic[_Table]):
    """Carries requests and answers between tables and seats: it asks all open questions, then passes on all answers."""

    def __init__(self, seating: Seating, rules: "_Rules[_Table]") -> None:
        self._seats, self._max_tables, self._rules = seating.seats, seating.max_tables, rules
        self._turns, self._news = _Turns(seating.monitor), News(seating.seats)

    async def play(self, plan: TablePlan) -> list[PlayedTable]:
        """Play the tables of a plan, and return them in the order of the plan."""
        played: list[PlayedTable] = []
        table_setups = next(plan, None)
        while table_setups is not None:
            now = await self._play(table_setups, len(played))
            played += now
            try:
                table_setups = plan.send([table.scores for table in now])
            except StopIteration:
                table_setups = None
        await self._news.close()
        return played

    async def _play(self, table_setups: Sequence[TableSetup], before: int) -> list[PlayedTable]:
        """Play tables that do not depend on each other. Return them in the order of `table_setups`.

        `before` is the number of tables of the fixture that were played earlier.
        """
        usable = [max_open_tables(seat.bot) for seat in self._seats.values() if not seat.benched]
        at_once = min(self._max_tables, len(table_setups), *usable)
        waiting = iter(enumerate(table_setups))
        finished: dict[int, PlayedTable] = {}
        tables: list[_Table] = []
        while True:
            room = self._rules.room
            begun = islice(waiting, max(0, min(at_once, room) - len(tables)))
            tables += [self._rules.begin(index, before + index + 1, setup) for index, setup in begun]
            if not tables:
                return [finished[index] for index in range(len(table_setups))]
            if at_once == 1 and isinstance(alone := tables[0], OwnTable) and alone.bot:
                await self._play_alone(alone)
            else:
                asked = tables[:room]
                await ask([question for one in asked for question in one.questions], self._seats, self._news)
                await self._rules.advance(asked, self._news)
            for one in [one for one in tables if not (one.bot or one.together)]:
                finished[one.index] = one.played()
                self._news.report_end(one.bots, one.table)
                tables.remove(one)
            if time.perf_counter() > self._turns.due:
                await self._turns.give()

    async def _play_alone(self, one: OwnTable) -> None:
        """Play a table until it is over, or asks several seats at the same time.

        The loop of `_play` does the same with a batch for each question. Here most questions need neither a batch nor
        another task, which is faster.
        """
        table, bots, turns, news = one.game, one.bots, self._turns, self._news
        seats = [self._seats[bot] for bot in bots]
        while (request := table.request) is not None and not table.together:
            at, one.view = request
            bot, seat = bots[at], seats[at]
            if bot in news.ended or bot in news.illegal:
                (answer,) = await seat.ask(news.batch(bot, (one,)))
            else:
                answer = await seat.ask_one(one)
            if not table.answer(answer):
                news.report_illegal(bot, Question(one.table, len(table.answers), one.view), answer)
            if time.perf_counter() > turns.due:
                await turns.give()
        one.ask(table.open)
