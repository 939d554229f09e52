"""Plays the tables of a fixture: carries views to seats and answers to tables, for many tables at once."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import trio

from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor
from host.bots.seat import Seat, ask_all
from host.bots.values import Batch, IllegalMove, Question
from host.games.engine import Game, GameFailed, Scores, Table
from host.play.custom_games import blame_game
from host.play.lines import NO_LINE, line_of
from host.play.table_plans import TablePlan, TableSetup
from protocols.wire import Answer, View

MAX_PARALLEL_TABLES = 128
YIELD_INTERVAL_S = (
    0.01  # seconds after which other tasks get a turn, even if all answers are fast; it costs 10 to 40 µs
)


class OpenTable:
    """A table that is being played and has an open question. `index` is its index among the tables yielded together."""

    __slots__ = ("bots", "game", "index", "table", "table_setup", "view")

    def __init__(self, index: int, table: int, table_setup: TableSetup, game: Table) -> None:
        self.index, self.table, self.table_setup, self.game = index, table, table_setup, game
        self.bots = table_setup.bots if game.game.sides is None else table_setup.players(game.game)  # by seat
        self.view: View = ()  # the view of the seat that is asked

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

    @classmethod
    def of(cls, table_setup: TableSetup, table: Table) -> "PlayedTable":
        """Return a table that has ended."""
        return cls(table_setup, table.scores or (), tuple(table.answers), line_of(table_setup, table))


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


async def play(
    game: Game, plan: TablePlan, seats: Mapping[str, Seat], root: bytes, monitor: Monitor, max_concurrent_tables: int
) -> list[PlayedTable]:
    """Play the tables of a fixture. Return them in the order of the plan, for any number of tables at once.

    The monitor gets a turn when it is due. Raise HostFailure as `ask_all` does, UserError (exit code 3)
    if an organiser's own game fails, and GameFailed if a game of croupier's own does.
    """
    match = _Match(game, seats, root, monitor, max_concurrent_tables)
    played: list[PlayedTable] = []
    table_setups = next(plan, None)
    while table_setups is not None:
        try:
            now = await match.play(table_setups, len(played))
        except GameFailed as failed:
            blame_game(game.name, failed)
            raise
        played += now
        try:
            table_setups = plan.send([table.scores for table in now])
        except StopIteration:
            table_setups = None
    await match.close()
    return played


class _Match:
    """Carries requests and answers between tables and seats, many tables at a time."""

    def __init__(self, game: Game, seats: Mapping[str, Seat], root: bytes, monitor: Monitor, max_tables: int) -> None:
        self._game, self._seats, self._root, self._max_tables = game, seats, root, max_tables
        self._monitor = monitor
        self._questions: defaultdict[str, list[OpenTable]] = defaultdict(list)  # by bot
        self._together: list[Together] = []  # tables that ask several seats at once
        # Ended tables and illegal moves, by bot: a seat gets both with its next batch.
        self._ended: defaultdict[str, list[int]] = defaultdict(list)
        self._illegal: defaultdict[str, list[IllegalMove]] = defaultdict(list)
        self._numbering = {bot for bot, seat in seats.items() if seat.bot.spec.table_ids}
        self._yield_at = 0.0  # time at which other tasks get the next turn

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
                table = self._begun(table_setup)
                opened = OpenTable(index, before + index + 1, table_setup, table)
                if self._queue(opened):
                    open_tables += 1
                else:
                    finished[index] = PlayedTable.of(table_setup, table)
            if not open_tables:
                return [finished[index] for index in range(len(table_setups))]
            if time.perf_counter() > self._yield_at:
                await self._yield()
            for ended in await self._ask_and_advance():
                open_tables -= 1
                finished[ended.index] = PlayedTable.of(ended.table_setup, ended.game)

    async def _play_alone(self, number: int, table_setup: TableSetup) -> PlayedTable:
        """Play one table, one question after the other. Most answers come without a batch and without other tasks."""
        table = self._begun(table_setup)
        opened = OpenTable(0, number, table_setup, table)
        bots, seats = opened.bots, [self._seats[bot] for bot in opened.bots]
        all_ended, all_illegal = self._ended, self._illegal
        while (request := table.request) is not None:
            if table.together:
                await self._ask_together(Together.of(opened))
                continue
            place, opened.view = request
            bot, seat = bots[place], seats[place]
            answer: Answer | None
            if bot in all_ended or bot in all_illegal:
                (answer,) = await seat.ask(Batch((opened,), all_ended.pop(bot, ()), all_illegal.pop(bot, ())))
            elif (answer := seat.ask_one(opened)) is None:
                (answer,) = await seat.finish()
            if not table.answer(answer):
                all_illegal[bot].append(IllegalMove(Question(number, len(table.answers), opened.view), answer))
            if time.perf_counter() > self._yield_at:
                await self._yield()
        self._report_end(opened)
        return PlayedTable.of(table_setup, table)

    def _begun(self, table_setup: TableSetup) -> Table:
        """Return a new table."""
        return Table(self._game, table_setup.rules, table_setup.shuffler(self._root), name=table_setup.path)

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
        batches = {}
        for bot, question in asked.parts:
            batches[self._seats[bot]] = Batch((question,), self._ended.pop(bot, ()), self._illegal.pop(bot, ()))
        answers = await ask_all(batches)
        self._answer_together(asked, {bot: iter(answers[self._seats[bot]]) for bot, _ in asked.parts})

    def _answer_together(self, asked: Together, given: Mapping[str, Iterator[Answer]]) -> None:
        """Send the next answer of each bot to a table that has asked several seats at once."""
        for bot, question in asked.parts:
            answer = next(given[bot])
            if not asked.one.game.answer(answer):
                self._illegal[bot].append(IllegalMove(question, answer))

    async def _yield(self) -> None:
        """Let other tasks run."""
        await trio.lowlevel.checkpoint()
        self._yield_at = min(time.perf_counter() + YIELD_INTERVAL_S, self._monitor.due)

    async def _ask_and_advance(self) -> list[OpenTable]:
        """Ask all open questions, and send the answers to their tables. Return the tables that have ended."""
        asked, together, seats = self._questions, self._together, self._seats
        questions = self._questions = defaultdict(list)
        self._together = []
        batches = {}
        for bot, tables in (_joined(asked, together) if together else asked).items():
            batches[seats[bot]] = Batch(tables, self._ended.pop(bot, ()), self._illegal.pop(bot, ()))
        answers = await ask_all(batches)
        ended = []
        for bot, tables in asked.items():
            for one, answer in zip(tables, answers[seats[bot]], strict=not together):
                table = one.game
                if not table.answer(answer):
                    question = Question(one.table, len(table.answers), one.view)
                    self._illegal[bot].append(IllegalMove(question, answer))
                if table.request is None:
                    ended.append(one)
                    self._report_end(one)
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
                    self._report_end(several.one)
        return ended

    def _report_end(self, one: OpenTable) -> None:
        """Let the bots that number their tables know that one has ended."""
        for bot in one.bots:
            if bot in self._numbering:
                self._ended[bot].append(one.table)

    async def close(self) -> None:
        """Send the ended tables and illegal moves that no batch has carried yet."""
        batches = {}
        for bot in {**self._ended, **self._illegal}:
            batches[self._seats[bot]] = Batch((), self._ended.pop(bot, ()), self._illegal.pop(bot, ()))
        await ask_all(batches)


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
