"""Keeps the sandboxes of one worker, and plays fixtures in them."""

import contextlib
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from host.base.errors import HostFailure, UserError
from host.base.format import counted
from host.bots.bot_spec import BuiltBot
from host.bots.clock import ModelUnreachable
from host.bots.function_process import AnswerAll, FunctionProcess, never_restarted
from host.bots.host_failures import HostFailures, Recovery
from host.bots.monitor import Monitor, held_bytes
from host.bots.seat import Seat, open_seat
from host.bots.state_file import BotSandbox, bot_sandbox
from host.games.luck import whole_number
from host.play.jobs import Job, WorkerSetup
from host.play.match import MAX_PARALLEL_TABLES, PlayedTable, Seating, play, play_source
from host.play.records import BOTS_AT_ONCE, AnswersTooLong, Fixture, Record, Undecided, undecided_record
from host.play.results import model_costs, recorded
from host.play.sources.own_rules import room_of, source_of
from host.play.sources.source import SourcePlace
from host.play.sources.steady import FixtureUndecided, SteadySource
from host.play.table_plans import PLANS, bot_of, player_name
from host.rules.catalogue import allows_at_once, ref_of
from host.sandbox.detect import no_sandbox_here
from host.sandbox.launch import Sandbox, starting_on, why_no_sandbox

if TYPE_CHECKING:  # only fixtures with bots that ask models need them
    from host.bots.storing_seat import SeatStore
    from host.play.open_answers import OpenAnswers

MAX_WAITING_BYTES = 256 << 20
"""Maximum memory of the interpreters in the sandboxes that a worker keeps between fixtures."""


def bot_seed(seed: bytes, bot: str, path: str) -> int:
    """Return a bot's CROUPIER_SEED for a fixture: a whole number below 2^31.

    It follows from the seed of the run, the bot and the path of the fixture. In a game for partners `bot` is the name
    of one of its processes (`player_name`). So each process has its own seed.
    """
    return whole_number(seed, f"bot seed: {bot} {path}")


class BotPool:
    """The sandboxes of one worker: one for each bot, created when the bot first plays, reused for later fixtures.

    If the rules of the game run in another process, the pool also starts this process at the first fixture. It keeps
    the process until the worker gets another setup.

    Between fixtures the pool keeps the sandboxes of the last fixture. It keeps other sandboxes as long as there are at
    most BOTS_AT_ONCE in total, and the processes in them take at most MAX_WAITING_BYTES in total. It removes the least
    recently used ones first.
    """

    def __init__(
        self,
        setup: WorkerSetup,
        stack: contextlib.AsyncExitStack,
        monitor: Monitor,
        cores: Sequence[int] = (),
        functions: Mapping[str, AnswerAll] = MappingProxyType({}),
    ) -> None:
        """`cores` are the cores of the worker. Each bot uses the first of them, as many as its bot.toml asks for.

        If `cores` is empty, all bots use the cores of this process. `functions` maps the name of a bot to a Python
        function that answers for this bot in this process.
        """
        self.setup, self.game, self._cores = setup, setup.game, cores
        self._bots = {bot.name: bot for bot in setup.bots}
        self._monitor, self._functions = monitor, functions
        self._made: dict[str, tuple[BotSandbox, contextlib.AsyncExitStack]] = {}  # the least recently used first
        self._bytes: dict[str, float] = {}  # memory of the interpreters that wait in each sandbox for the next fixture
        self._source: SteadySource | None = None  # of a game whose rules run in another process, once it is needed
        stack.push_async_callback(self._close)

    async def use(self, setup: WorkerSetup) -> None:
        """Play the next fixtures with another setup. End the process that runs the rules, if there is one.

        Keep the sandboxes of bots that are equal in both setups, unless the sandbox level changes.
        """
        before, level = self._bots, self.setup.level
        await self._close_source()
        self.setup, self.game = setup, setup.game
        self._bots = {bot.name: bot for bot in setup.bots}
        changed = {name for name, bot in before.items() if self._bots.get(name) != bot or level is not setup.level}
        for name in changed:
            await self.replace(name)

    async def sandbox(self, bot: BuiltBot, state: bytes = b"", process: int = 0) -> Sandbox:
        """Return the sandbox of one of the bot's processes. Create it if the pool does not have it.

        Write `state` into its state file, or empty the folder that it keeps. Raise HostFailure if no sandbox can be
        created.
        """
        name = player_name(bot.name, process)
        made = self._made.pop(name, None)
        if made is None:
            own = contextlib.AsyncExitStack()
            with starting_on(self._cores[: bot.spec.cores]):
                made = await own.enter_async_context(bot_sandbox(bot, self.setup.level)), own
        self._made[name] = made
        made[0].write_state(state)
        return made[0].sandbox

    def read_state(self, name: str, before: bytes) -> bytes:
        """Return the content of the state file of the process `name`; `before` if the sandbox of the process is lost."""
        made = self._made.get(name)
        return made[0].read_state(self._bots[bot_of(name)].limits.state) if made is not None else before

    async def replace(self, name: str) -> None:
        """Remove a bot's sandboxes, for example because a keeper has died. The next fixture gets new ones."""
        for player in [player for player in self._made if bot_of(player) == name]:
            await self._remove(player)

    async def _close(self) -> None:
        """Remove all sandboxes, also if removing one of them fails or is cancelled."""
        async with contextlib.AsyncExitStack() as every:
            every.push_async_callback(self._close_source)
            for _made, own in self._made.values():
                every.push_async_exit(own)

    async def _close_source(self) -> None:
        """End the process that runs the rules, if there is one."""
        source, self._source = self._source, None
        if source is not None:
            await source.close()

    async def _shrink(self, used: Collection[str]) -> None:
        """Remove the least recently used sandboxes while there are too many, or while they take too much memory.

        Keep the sandboxes of the processes named in `used`, which have just been used.
        """
        for name in used:
            warm = name in self._made and self._bots[bot_of(name)].warm
            if warm and name not in self._bytes:  # counted once, because it takes a millisecond
                self._bytes[name] = held_bytes(self._made[name][0].sandbox)
        while len(self._made) > len(used) and (
            len(self._made) > BOTS_AT_ONCE or sum(self._bytes.values()) > MAX_WAITING_BYTES
        ):
            await self._remove(next(iter(self._made)))

    async def _remove(self, player: str) -> None:
        """Remove the sandbox of a bot's process."""
        self._bytes.pop(player, None)
        await self._made.pop(player)[1].aclose()

    @contextlib.asynccontextmanager
    async def seats(
        self, job: Job, failures: HostFailures, answers: "OpenAnswers | None"
    ) -> AsyncIterator[dict[str, Seat]]:
        """Seat the bots of a fixture, for the length of the block. Yield the seats by process name.

        In a game for partners each bot has several processes, and each process has a seat.
        """
        async with contextlib.AsyncExitStack() as stack:
            seats = {}
            for name, process in self._players(job.fixture):
                state = dict(job.states).get(name, b"")
                block = self.seat(name, process, job.fixture.path, failures, state, answers)
                seats[player_name(name, process)] = await stack.enter_async_context(block)
            yield seats

    @contextlib.asynccontextmanager
    async def seat(
        self,
        name: str,
        process: int,
        path: str,
        failures: HostFailures,
        state: bytes = b"",
        answers: "OpenAnswers | None" = None,
    ) -> AsyncIterator[Seat]:
        """Seat one process of a bot in a fixture, for the length of the block.

        `path` is the path of the fixture. The CROUPIER_SEED of the process follows from it.
        """
        bot, player = self._bots[name], player_name(name, process)
        if answer_all := self._functions.get(name):
            yield Seat(bot, FunctionProcess(answer_all), never_restarted, None)
            return
        store = None
        if answers is not None:
            store, stored = self._seat_store(player, answers), answers.state(player)
            state = state if stored is None else stored
        sandbox = await self._sandbox_of(bot, process, state, failures)
        recovery = Recovery(failures, partial(self._replaced, bot, process, failures))
        seed = bot_seed(self.setup.seed, player, path)
        exchanges = None
        if self.setup.recordings and bot.limits.models:
            from host.relay.recording import Recorder, recording_file

            file = recording_file(Path(self.setup.recordings), name)
            exchanges = Recorder(file, path, player, failures.unrecorded.append)
        block = open_seat(
            bot,
            self.game,
            sandbox,
            seed,
            self._monitor,
            recovery=recovery,
            store=store,
            exchanges=exchanges,
            allows=allows_at_once(self.game, self.setup.rules),
        )
        async with block as seat:
            yield seat

    def _seat_store(self, player: str, answers: "OpenAnswers") -> "SeatStore":
        """Return the store through which one seat reads and adds stored answers."""
        from host.bots.storing_seat import SeatStore

        def new_state() -> bytes | None:
            state = self.read_state(player, b"")
            return None if state == answers.state(player) else state

        return SeatStore(answers, player, new_state)

    def _players(self, fixture: Fixture) -> list[tuple[str, int]]:
        """Return the processes in a fixture: for each, the name of the bot and the number of the process, from 0."""
        processes = self.game.processes(fixture.rules)
        return [(name, process) for name in fixture.bots for process in range(processes)]

    async def _replaced(self, bot: BuiltBot, process: int, failures: HostFailures) -> Sandbox | HostFailure:
        """Replace the sandbox of a bot's process during a fixture. The new sandbox has the same state file.

        If the sandbox kept a folder, the folder is empty in the new sandbox: its files are lost, as the memory of the
        process is. Return a failure as `_sandbox_of` does.
        """
        state = b""
        if made := self._made.get(player := player_name(bot.name, process)):
            state = made[0].read_state(bot.limits.state)
            await self._remove(player)
        return await self._sandbox_of(bot, process, state, failures)

    async def _sandbox_of(
        self, bot: BuiltBot, process: int, state: bytes, failures: HostFailures
    ) -> Sandbox | HostFailure:
        """Return the sandbox of a bot's process. If it cannot be created, try again.

        If the host fails MAX_HOST_FAILURES times with this bot, return the failure, which counts as a crash of the bot.

        Raise UserError (exit code 6) if the machine cannot create a sandbox without a bot either.
        """
        while True:
            try:
                return await self.sandbox(bot, state, process)
            except HostFailure as failure:
                failure.bot = bot.name
                if not failures.are_charged_to(bot.name):
                    failures.count(failure)
                elif reason := await why_no_sandbox(self.setup.level):
                    raise UserError([no_sandbox_here(self.setup.level, reason)], 6) from failure
                else:
                    return failure

    async def play(self, job: Job) -> Record:
        """Play one fixture and return its record.

        If the game or a model fails, return the record of an undecided fixture; no bot is charged. If a bot of the
        fixture asks models, first use the answers that an earlier attempt has stored, and store each new answer.
        """
        bots = [self._bots[name] for name in job.fixture.bots]
        if not (self.setup.open_folder and any(bot.limits.models for bot in bots)):
            return await self._play(job)
        from host.bots.storing_seat import OtherQuestions  # only these fixtures need them
        from host.play.open_answers import OpenAnswers, open_file

        limits = [bot.limits._replace(models=tuple(each.for_answers for each in bot.limits.models)) for bot in bots]
        belongs_to = (job, self.setup.seed, [bot.sha256 for bot in bots], limits)
        answers = OpenAnswers(open_file(Path(self.setup.open_folder), job.fixture.path), belongs_to)
        with contextlib.closing(answers):
            try:
                return await self._play(job, answers)
            except OtherQuestions:  # the rules ask something else than before, or somebody has changed the file
                answers.clear()
                return await self._play(job, answers)

    async def _play(self, job: Job, answers: "OpenAnswers | None" = None) -> Record:
        """Play one fixture, as `play` does. Raise OtherQuestions if the stored answers belong to other questions."""
        failures = HostFailures()
        started, computed = time.monotonic(), time.process_time()
        others: list[str] = []  # failures of the game, and of an earlier run or worker that played the fixture
        if answers is not None and answers.count:
            others.append(f"it went on after {counted(answers.count, 'stored answer')}, with new processes of its bots")
        played: list[PlayedTable] = []
        why: Undecided | None = None
        async with self.seats(job, failures, answers) as seats:
            try:
                played = await self._played(job, seats, others)
            except FixtureUndecided as undecided:
                why = undecided.why
            except ModelUnreachable as unreachable:
                why = Undecided(reason=f"{unreachable.bot}: {unreachable}", cause="model")
        # After the block, because the usage of a process is known only when it has ended.
        fixture = job.fixture
        try:
            record = (
                undecided_record(fixture.path, fixture.bots, why)
                if why
                else recorded(self.game, fixture, played, seats)
            )
        except AnswersTooLong as refused:
            record = undecided_record(fixture.path, fixture.bots, Undecided(reason=str(refused), cause="size"))
        states = tuple((name, self.read_state(name, before)) for name, before in job.states)
        for name in {seat.bot.name for seat in seats.values() if seat.has_lost_sandbox}:
            await self.replace(name)
        await self._shrink(seats)
        return record._replace(
            models=model_costs(seats.values()),  # those of an undecided fixture count for the budget of the run
            replayed=failures.total + len(others),
            seconds=time.monotonic() - started,
            stalls=tuple(failures.stalls),
            failures=(*failures.deaths, *others),
            states=job.states if record.undecided else states,
            overhead=time.process_time() - computed,
            unrecorded=tuple(failures.unrecorded),
        )

    async def _played(self, job: Job, seats: Mapping[str, Seat], failures: list[str]) -> list[PlayedTable]:
        """Play the tables of a fixture. Add a sentence to `failures` for each failure of the game.

        Raise FixtureUndecided if the game fails twice at the same answer, or too often in the fixture.
        """
        root, most = self.setup.seed, self.setup.parallel_tables or MAX_PARALLEL_TABLES
        plan, seating = PLANS[job.fixture.plan](job.fixture, root), Seating(seats, self._monitor, most)
        if self._source is None:
            if (open_source := source_of(self.game)) is None:
                return await play(plan, seating, self.game, root)
            place = SourcePlace(self.setup.level, self._cores, self._monitor)
            keeps_transcripts = ref_of(self.game).has_referee
            self._source = SteadySource(open_source, place, room_of(self.game), keeps_transcripts=keeps_transcripts)
        await self._source.begin_fixture()
        try:
            return await play_source(plan, seating, self.game, root, self._source)
        finally:
            failures += self._source.failures
