"""Plays a stage: asks its kind which fixtures are due, sends them to workers, and writes the records to the journal."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

from host.base.errors import Problem, UserError
from host.bots.bot_spec import Submission
from host.games.engine import Game
from host.journal.stage_sums import StageSums
from host.journal.writer import JournalWriter
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture, Record
from host.results.withdrawal import left_out
from host.rules.catalogue import failed_game, ref_of
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.stages import kind_of
from host.stages.agenda import Agenda, Due, Records
from host.stages.kind import Field, StageConfig
from host.submissions.examine import Ready
from host.tournament.progress import Progress, ranked_in_turn

if TYPE_CHECKING:  # only runs with a budget in all need it
    from host.tournament.run_budget import RunBudget


class WorkerPool(Protocol):
    """A running pool of workers. `description` is a text for people ("2 workers").

    `count` is the number of fixtures that the pool plays at the same time.
    """

    description: str
    count: int

    async def submit(self, job: Job) -> None:
        """Queue one fixture; wait while too many fixtures are unfinished."""
        ...

    @property
    def has_result(self) -> bool:
        """Whether a fixture has ended, so that `next_result` returns immediately."""
        ...

    async def next_result(self) -> Record:
        """Return the record of the fixture that ends next."""
        ...


class CheckedPool:
    """Pool that passes fixtures to another pool, and calls `check` with each record before it returns the record."""

    def __init__(self, pool: WorkerPool, check: Callable[[Record], None]) -> None:
        self._pool, self._check = pool, check
        self.description, self.count = pool.description, pool.count

    async def submit(self, job: Job) -> None:
        """Queue one fixture; wait while too many fixtures are unfinished."""
        await self._pool.submit(job)

    @property
    def has_result(self) -> bool:
        """Whether a fixture has ended, so that `next_result` returns immediately."""
        return self._pool.has_result

    async def next_result(self) -> Record:
        """Return the record of the fixture that ends next. Raise the exceptions of `check`."""
        record = await self._pool.next_result()
        self._check(record)
        return record


def require_decided(game: Game, record: Record) -> None:
    """Raise UserError if a fixture has no result: outside a tournament, only the result matters.

    The exit code is 3 if the organiser's own game failed, otherwise 6.
    """
    if why := record.undecided:
        place = f"at table {why.table}" if why.table else f"in {record.path}"
        if why.cause == "model" or not ref_of(game).said:  # a game of croupier does not fail
            hint = "no bot is charged, and what was played is kept: play again"
            raise UserError([Problem("S020", record.path, f"has no result: {why.reason}", hint=hint)], 6)
        raise failed_game(game, f"failed {place}: {why.reason}", why.where)


class BotPreparer(Protocol):
    """Prepares bots on the machines where they will play (submissions/examine.py)."""

    async def __call__(
        self,
        submissions: Sequence[Submission],
        game: Game,
        granted: Limits,
        level: Level,
        told: Callable[[str, float], None],
        /,
    ) -> Ready:
        """Build and start the referee of the game if it has one, then the bots.

        Call `told` with the name and the seconds of each bot. Raise UserError with the problems of all bots.
        """
        ...


Executor = Callable[[WorkerSetup, Callable[[str], None], int], AbstractAsyncContextManager[WorkerPool]]
"""Starts a pool of workers (host/backends). Its arguments are the setup, a function that reports lost work, and the
number of workers; 0 leaves the number to the executor."""


class Backend(NamedTuple):
    """The machines that play a tournament: this machine, or others. The caller of the runner chooses a backend."""

    demand: Callable[[Level], Awaitable[Level]]
    """Return the level to play at, given the demanded level. Raise UserError if that is not possible."""
    ready: BotPreparer
    executor: Executor


BackendFactory = Callable[[str, Callable[[str], None]], AbstractAsyncContextManager[Backend]]
"""Opens the backend at a scheduler's address; this machine if it is empty. The second argument reports lost work."""

Watch = Callable[[Progress], None]


class Run(NamedTuple):
    """A run while it is played. `blank` is a fixture with the game and the rules of all its fixtures, without bots.

    `open_folder` is the folder in which workers store the answers of open fixtures; empty if they store none.
    """

    blank: Fixture
    journal: JournalWriter
    pool: WorkerPool
    watch: Watch
    open_folder: str = ""
    budget: "RunBudget | None" = None  # of the models in all fixtures together


async def run_stage(stage: StageConfig, field: Field, run: Run) -> Records:
    """Play due fixtures until none is left; return the records of the stage by path.

    To resume a stage, call this function again. A fixture whose game fails is recorded as undecided, and the other
    fixtures are played. If a budget for all fixtures is used up, the run stops as soon as no fixture is open.
    """
    blank, journal, pool, watch, open_folder, budget = run
    kind, records = kind_of(stage), journal.stage_records(stage.name)
    agenda = kind.agenda(stage, blank, field, records)
    lasting = {name for name, bot in journal.bots().items() if bot.lasting}
    turns, states, game = Turns(agenda, lasting), journal.states(stage.name), journal.registry.game(blank.game)
    playing: dict[str, Job] = {}
    done, known = len(records), 0
    bots = ranked_in_turn(stage, journal.bots(), {*field.bots} - {*field.withdrawn})

    def tell(record: Record | None, earlier: StageSums | None = None) -> None:
        nonlocal known
        if known != (known := max(agenda.known, done)):
            journal.set_stage(stage.name, known=known)
        watch(Progress(stage, done, known, record, bots, earlier))

    async def store_next() -> None:
        nonlocal done
        record = await pool.next_result()
        job = playing.pop(record.path)
        if record.undecided:
            journal.add_undecided(stage.name, record, job.fixture)
        else:
            changed = tuple((bot, content) for bot, content in record.states if states.get(bot, b"") != content)
            stored, scores = record._replace(states=changed), kind.keeps_scores(game, job.fixture)
            journal.add(stage.name, stored, job.fixture, with_scores=scores)
            states.update(changed)
        if open_folder and not (record.undecided and record.undecided.cause == "model"):
            forget_answers(open_folder, record.path)
        if budget:
            budget.count(record)
        turns.played(job.fixture)
        done += 1
        tell(record)

    tell(None, journal.sums(stage.name, left_out(stage, field.withdrawn)) if done else None)
    for path in records if open_folder else ():  # a run that was killed may have left some
        forget_answers(open_folder, path)
    while True:
        used_up = budget.used_up(job.fixture for job in playing.values()) if budget else ""
        if not (used_up and playing) and (fixture := turns.next()):
            if budget and used_up:
                budget.stop(used_up)
                await trio.lowlevel.checkpoint()
                raise RuntimeError(f"nobody has cancelled this run: {used_up}")
            lasting_states = tuple((bot, states.get(bot, b"")) for bot in fixture.bots if bot in lasting)
            playing[fixture.path] = job = Job(fixture, lasting_states)
            await pool.submit(job)
        elif playing:
            await store_next()
        else:
            return records
        while pool.has_result:
            await store_next()


def forget_answers(open_folder: str, fixture: str) -> None:
    """Remove the answers that a worker has stored for a fixture, because the journal has its record now."""
    from host.play.open_answers import open_file  # only runs whose bots ask models need it

    open_file(Path(open_folder), fixture).unlink(missing_ok=True)


class Turns:
    """The order in which the runner submits fixtures. A bot with a lasting state file plays one fixture at a time.

    Such a bot plays its fixtures in the order of the stage, for any number of workers: a fixture that waits for one of
    its bots also delays the later ones of its other bots.
    """

    def __init__(self, agenda: Agenda, lasting: Collection[str]) -> None:
        self._agenda, self._lasting = agenda, lasting
        self._lines: defaultdict[str, list[Due]] = defaultdict(list)  # heaps of waiting fixtures, by bot
        self._playing: set[str] = set()  # bots with lasting state files
        self._freed: list[Due] = []  # a heap of fixtures that may have become the first of all their lines

    def next(self) -> Fixture | None:
        """Return the next fixture to submit; None if no fixture may start before one that is being played has ended."""
        while True:
            order = self._agenda.next_order
            if self._freed and (order is None or self._freed[0].order < order):
                due = heappop(self._freed)
            elif new := self._agenda.next():
                due = new
                for bot in self._lasting_in(due.fixture):
                    heappush(self._lines[bot], due)
            else:
                return None
            theirs = self._lasting_in(due.fixture)
            if all(bot not in self._playing and self._lines[bot][:1] == [due] for bot in theirs):
                for bot in theirs:
                    heappop(self._lines[bot])
                    self._playing.add(bot)
                return due.fixture

    def played(self, fixture: Fixture) -> None:
        """Continue the schedule after a played fixture. Its record must already be in the records of the stage."""
        self._agenda.played(fixture.path)
        for bot in self._lasting_in(fixture):
            self._playing.discard(bot)
            if line := self._lines[bot]:
                heappush(self._freed, line[0])

    def _lasting_in(self, fixture: Fixture) -> list[str]:
        return [bot for bot in fixture.bots if bot in self._lasting] if self._lasting else []
