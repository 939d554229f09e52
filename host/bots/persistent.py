"""A bot that lives on: its questions and answers go through two pipes, a wave of them at a time."""

import os
import select
import time
from collections.abc import Iterable, Sequence

import trio

from host.bots.deadline import DeadlinePolicy
from host.bots.monitor import FOREVER, MonitoredSandbox
from host.bots.one_shot import OVERSPENT, ProcessTotals
from host.bots.stderr_log import StderrLog
from host.bots.values import CLOCK_FAULTS, EVIDENCE, TIMED_TABLES, Batch, HasQuestion, Outcome
from host.sandbox import Ended, Sandbox
from host.sandbox.limits import A_DAY, Limits
from host.submissions.bot_spec import Bot
from protocols.wire import Answer, Fault, FaultKind, Grammar, Move, Protocol

ORDERLY = 0.05  # seconds from the end of a bot's input to the end of its life
SHORTEST_RESTART = 0.25  # seconds granted to a restart, however fast the first start was
RESTARTS = 20  # times the time to start up that all restarts after faults may take together; then they are granted none
CHUNK, LARGEST_PIPE = 1 << 16, 1 << 20
NUMBER = 16  # bytes more that a line may have for its table's number
POLL_FIRST_S = (
    0.0002  # seconds that answers are waited for without giving way: to wake up a task costs a quarter of that
)
SPIN, SPIN_AGAIN = 0.00005, 100  # seconds of looking for a lone answer; after how many not looked for one looks again
KNOWN = 1000  # answers remembered, of at most 4 KiB each
SELECTABLE = 1024  # descriptors that select(2) can wait for
EMPTY_BATCH = Batch([], [], [], [])
WRONG_TABLE = Fault(FaultKind.UNREADABLE, "table")
LIVES_ON = frozenset({FaultKind.EXCEPTION})
"""The faults that leave a process as it is: an adapter has reported them (`! TimeoutError` is told from its detail)."""


class PersistentProcess:
    """Talks with one process at a time; a fault kills it, and the next question starts a new one."""

    def __init__(
        self,
        bot: Bot,
        protocol: Protocol,
        grammar: Grammar,
        limits: Limits,
        sandbox: Sandbox,
        watched: MonitoredSandbox,
        clock: DeadlinePolicy,
        nursery: trio.Nursery,
    ) -> None:
        self._bot, self._protocol, self._grammar, self._limits = bot, protocol, grammar, limits
        self._sandbox, self._watched, self._clock, self._nursery = sandbox, watched, clock, nursery
        self._argv = bot.command(sandbox.keeper.warm)
        self.env: dict[str, str] = dict(bot.env)
        self.spent = ProcessTotals()
        self._input = self._output = self._complaints = -1
        self._heard = b""  # what has come behind the last whole line
        self._stderr = bytearray()
        self.heard, self._spoke_at = StderrLog(), 1
        self._numbers: dict[int, int] = {}  # the process's own number of each open table it has seen
        self._last_number = 0
        self._farewells = b""  # `over 17`, sent with the next question
        self._grace = limits.startup  # seconds more for the first answer of a process
        self._starting = 0.0  # what of them this one has taken
        self._restarts = RESTARTS * limits.startup  # what all restarts after faults have left of theirs
        self._computing, self._in_all = limits.computing, FOREVER  # seconds: for an answer, and for a process
        self._budgeted = limits.cpu_table < A_DAY  # whether its tables have a budget
        self._tables = 1  # begun so far
        self._unhurried = bot.lifetime == "table" or self._budgeted
        self._fresh = False  # whether the process has not answered yet
        self._table = 0
        self._one_by_one = 0
        self._waved = False  # whether the process has been asked for more than one table at once
        self.muddled = False  # whether it has then written lines that nobody can tell the question of
        self._known: dict[bytes, Move] = {}  # moves read before: there are few, and they come by the million
        self._shown: Sequence[HasQuestion] = ()  # the wave that it has before it
        self._wave = EMPTY_BATCH
        self._unsent = b""  # what of the questions its pipe would not take
        self._asked = self._before = self._deadline = 0.0  # when it was asked, answered last, and must answer
        self._granted = 0.0  # seconds for the answer that is waited for
        self._computed: float | None = None  # seconds, when it was asked, where it is kept what each answer takes
        self._overhead = 0.0  # seconds that the host woke up late at the last deadline that was missed
        self._done = False  # whether the wave is over: answered, or ended by a fault
        self._fault: Fault | None = None

    @property
    def output(self) -> int:
        """The descriptor of its answers, -1 when there is no process."""
        return self._output

    @property
    def answered(self) -> bool:
        """Whether the wave it was shown is answered, without a fault."""
        return self._done and self._fault is None

    def show(self, questions: Sequence[HasQuestion]) -> bool:
        """Show a wave to a process that is ready for it; return whether answers may be heard before `exchange`."""
        if self._input < 0 or self._fresh or self._one_by_one or self._unhurried or self._spoke_early():
            return False
        self._ask(questions)
        return not self._unsent and self._output < SELECTABLE

    async def exchange(self, questions: Sequence[HasQuestion]) -> Batch:
        """Return what the questions brought, in order; after a fault that ends the process the rest is left unasked."""
        if not self._shown:
            failed = await self._prepare(questions)
            if failed is not None:
                return Batch([], [], [], [], failed)
            self._ask(questions[:1] if self._one_by_one else questions)
            self._one_by_one = max(self._one_by_one - 1, 0)
        if not self._done:
            await self._listen_on()
        return await self._concluded()

    async def _prepare(self, questions: Sequence[HasQuestion]) -> Outcome | None:
        """Have a process that has said nothing yet; return what was told instead of an answer when there is none."""
        if self._input < 0:
            await self._bury()
        if self._budgeted:
            self._tables = max(self._tables, *(question.table for question in questions))
            self._in_all = self._limits.cpu_table * self._tables - self.spent.cpu
            if self._in_all <= 0:
                return OVERSPENT
        if self._bot.lifetime == "table" and questions[0].table != self._table:
            await self.rest()
            self._table = questions[0].table
        if self._input < 0:
            error = await self._start()
            if error:
                return Outcome(Fault(FaultKind.START, os.strerror(error)), ended="could not be started")
        elif self._spoke_early():
            self.muddled |= self._waved
            return await self._failed(Fault(FaultKind.EARLY), self._heard, 0.0)
        return None

    async def _concluded(self) -> Batch:
        """Return the wave it was shown, and what has ended it."""
        questions, wave, fault, asked = self._shown, self._wave, self._fault, self._asked
        self._shown, self._wave, self._done, self._fault, self._unsent = (), EMPTY_BATCH, False, None, b""
        caught = self._watched.final_check(time.perf_counter() - asked)
        before, self._waved = self._waved, self._waved or len(questions) > 1
        if fault is None:
            if caught is None:
                if self._computed is not None and (total := self._watched.total()) is not None:
                    wave.cpus[:] = [(total - self._computed) / len(questions)] * len(questions)
                self._watched.turn.mark_idle()
                return wave
            wave.answers.pop()
            self._heard, fault = wave.raws.pop(), Fault(caught)
        if before and fault.kind is FaultKind.EXTRA:
            self.muddled = True  # for how many waves?
        elif len(questions) > 1 and (fault.kind is FaultKind.EXTRA or fault == WRONG_TABLE):
            # Which of them had two lines? Asking one at a time tells, and gives what parallel_tables = 1 gives.
            await self._end()
            self._one_by_one = len(questions)
            return await self.exchange(questions)
        if fault.kind is FaultKind.EXTRA:
            wave.answers.pop()
            self._heard = wave.raws.pop() + b"\n" + self._heard
        del wave.walls[len(wave.answers) :]
        wall = time.perf_counter() - asked - sum(wave.walls)
        return wave._replace(failed=await self._failed(fault, self._heard, wall))

    def overheard(self, _table: int) -> bytes:
        """Return the end of what the process has said on standard error until now, as far as its pipe can hold it."""
        for _ in range(LARGEST_PIPE // CHUNK):
            if self._complaints < 0 or not self._drain(self._complaints):
                break
        return bytes(self._stderr)

    async def over(self, table: int) -> None:
        """Tell a bot that numbers its tables that one is over, with the next question."""
        number = self._numbers.pop(table, None)
        if number is not None:
            self._farewells += self._protocol.over(number)

    async def rest(self, patience: float = ORDERLY) -> None:
        """End the process: its input is closed, and everything is killed when it has exited or patience is at an end."""
        if self._input < 0:
            await self._bury()
            return
        self._watched.turn.thaw()
        self._count_waits()
        os.close(self._input)
        self._input = -1
        try:
            await self._sweep(patience)
            await self._bury()
            self.overheard(0)  # its last words
            self.muddled |= self._waved and self._spoke_early()
        finally:
            self._close()

    async def _start(self) -> int:
        """Start a process; return 0 or the errno that says why not."""
        reads, self._input = os.pipe()
        self._output, writes = os.pipe()
        self._complaints, complains = os.pipe()
        for ours in (self._input, self._output, self._complaints):
            os.set_blocking(ours, False)
        self._peek = select.poll()
        self._peek.register(self._output, select.POLLIN)
        self._watched.new_process()
        self._stderr.clear()
        self._heard = self._farewells = b""
        self._numbers.clear()
        self._last_number = 0
        self._fresh, self._waved = True, False
        self._nursery.start_soon(self._listen, self._complaints)
        try:
            started = await self._sandbox.keeper.start(self._argv, self.env, self._limits, (reads, writes, complains))
        finally:
            for theirs in (reads, writes, complains):
                os.close(theirs)
        self.spent = self.spent._replace(starts=self.spent.starts + 1)
        if started.error:
            await self._end()
        return started.error

    async def _listen(self, complaints: int) -> None:
        """Drain standard error, always; keep its end."""
        try:
            while True:
                await trio.lowlevel.wait_readable(complaints)
                if self._drain(complaints) == b"":
                    return
        finally:
            os.close(complaints)
            if self._complaints == complaints:
                self._complaints = -1

    def _drain(self, complaints: int) -> bytes | None:
        """Take a piece of standard error without waiting; return it, empty at its end, None when there is none yet."""
        try:
            heard = os.read(complaints, CHUNK)
        except BlockingIOError:
            return None
        self._stderr += heard
        if self._shown:
            self._spoke_at = self._shown[0].table
        self.heard.append(self._spoke_at, heard)
        del self._stderr[:-EVIDENCE]
        return heard

    def _spoke_early(self) -> bool:
        """Return whether the bot has written anything that it was not asked for; it is in `_heard` then."""
        if self._peek.poll(0):
            self._heard += os.read(self._output, CHUNK)  # the end of the output is for `_read` to judge
        return bool(self._heard)

    def _ask(self, questions: Sequence[HasQuestion]) -> None:
        """Show a wave to the process."""
        self._shown, self._wave = questions, Batch([], [], [], [])
        grace = min(self._grace, max(self._restarts, 0.0)) if self._fresh else 0.0
        self._asked = self._before = time.perf_counter()
        self._granted = self._limits.move + grace
        self._deadline = self._asked + self._granted * self._clock.stretch
        self._watched.turn.thaw()
        self._watched.set_cpu_budget(self._computing * len(questions) + grace, self._in_all)
        self._computed = self._watched.total() if questions[0].table <= TIMED_TABLES else None
        lines = self._protocol.lines([question.view for question in questions])
        self._unsent = self._write(
            self._farewells + (self._numbered(questions, lines) if self._bot.table_ids else lines)
        )
        self._farewells = b""

    def _numbered(self, questions: Sequence[HasQuestion], lines: bytes) -> bytes:
        """Return question lines with the process's own numbers of their tables."""
        numbered = []
        for question, line in zip(questions, lines.splitlines(keepends=True), strict=True):
            number = self._numbers.get(question.table)
            if number is None:
                self._last_number = number = self._last_number + 1
                self._numbers[question.table] = number
            numbered.append(self._protocol.number(number, line))
        return b"".join(numbered)

    def _write(self, data: bytes) -> bytes:
        """Write what fits; return the rest. A bot that has closed its input is judged by its output."""
        try:
            return data[os.write(self._input, data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            return b""

    async def _write_on(self, data: bytes) -> None:
        while data:
            await trio.lowlevel.wait_writable(self._input)
            data = self._write(data)

    async def _listen_on(self) -> None:
        """Hear the wave to its end; a deadline is each answer's own, in however many pieces it comes."""
        if not self._unsent:
            return await self._hear_on()
        async with trio.open_nursery() as helpers:  # it does not take its questions in one go
            helpers.start_soon(self._write_on, self._unsent)
            await self._hear_on()
            helpers.cancel_scope.cancel()

    async def _hear_on(self) -> None:
        self._watched.drag_on()
        unheard = time.perf_counter() > self._deadline  # nobody has listened until now
        marked = 0.0
        while True:
            now, mark = time.perf_counter(), self._before + self._clock.marks_after
            if marked != self._before and now >= mark:
                marked = self._before
                self._clock.start_counting()
            until = self._deadline if marked == self._before else min(mark, self._deadline)
            with trio.move_on_after(max(until - now, 0)) as scope:
                await trio.lowlevel.wait_readable(self._output)
            if scope.cancelled_caught:
                now = time.perf_counter()
                if now < self._deadline:
                    continue  # to the mark
                self._overhead = now - self._deadline
                # Who woke this late was stalled itself, and cannot say that what has come by now came too late.
                doubtful = unheard or self._overhead > self._clock.doubt
                if not (doubtful and self._peek.poll(0)):
                    left = self._left()
                    if not (left or (doubtful and self._peek.poll(0))):
                        self._fault = Fault(FaultKind.TIMEOUT)
                        return
                    self._deadline = now + left
                    continue
            if self.hear(time.perf_counter()):
                return

    def _left(self) -> float:
        """Return the seconds that an answer which was not there at its deadline may still take."""
        wall = time.perf_counter() - self._before
        return self._clock.extension(self._granted, wall, self._overhead, self._watched.computed())

    def hear(self, now: float) -> bool:
        """Read what has come by now; return whether that is the end of the wave."""
        self._done = self._hear(now)
        return self._done

    def _hear(self, now: float) -> bool:
        """Read what has come; after a fault `_heard` is its evidence."""
        try:
            heard = os.read(self._output, CHUNK)
        except BlockingIOError:
            return False
        if not heard:
            self._fault = Fault(FaultKind.EXIT)
            return True
        answers, raws, walls, _ = self._wave[:4]
        wanted, longest = len(self._shown), self._limits.output + NUMBER
        *lines, self._heard = (self._heard + heard).split(b"\n")
        if len(lines) <= wanted - len(answers) and (moves := self._remembered(lines)) is not None:
            answers += moves
            raws += lines
            if lines:
                walls += [now - self._before, *[0.0] * (len(lines) - 1)]
        else:
            for line in lines:
                if len(answers) == wanted:
                    self._heard = line + b"\n" + self._heard
                    break
                answer = self._answer(line, self._shown[len(answers)], longest)
                if isinstance(answer, Fault) and answer.kind not in LIVES_ON and answer.detail != "TimeoutError":
                    self._heard, self._fault = line, answer
                    return True
                answers.append(answer)
                raws.append(line)
                walls.append(now - self._before)
                self._before = now
        if lines:
            self._before = now
            if self._fresh:
                self._fresh = False
                self._starting = max(walls[0] - self._limits.move, 0.0)
                self._grace = min(self._limits.startup, max(2 * walls[0], SHORTEST_RESTART))
            self._granted = self._limits.move
            self._deadline = now + self._granted * self._clock.stretch
        if len(answers) == wanted:
            if self._heard:
                self._fault = Fault(FaultKind.EXTRA)
            return True
        if len(self._heard) > longest:
            self._fault = Fault(FaultKind.FLOOD)
            return True
        return False

    def _remembered(self, lines: Sequence[bytes]) -> list[Move] | None:
        """Return what lines say that have all been read before; None when one has not."""
        try:
            return [*map(self._known.__getitem__, lines)]
        except KeyError:
            return None

    def _answer(self, line: bytes, question: HasQuestion, longest: int) -> Answer:
        if len(line) > longest:
            return Fault(FaultKind.FLOOD)
        if not self._bot.table_ids:
            answer = self._protocol.receive(self._grammar, line)
            if len(self._known) < KNOWN and isinstance(answer, Move):
                self._known[line] = answer
            return answer
        number, rest = self._protocol.split_table_number(line)
        if number != self._numbers[question.table]:
            return WRONG_TABLE
        return self._protocol.receive(self._grammar, rest)

    async def _failed(self, fault: Fault, raw: bytes, wall: float) -> Outcome:
        """Return a fault with its evidence, the process dead and reaped."""
        caught, waited, first = self._watched.limit_exceeded, self._clock.waited, self._fresh
        # A process that has closed its output is about to exit; one that is cut short is not.
        ended = await self._end(ORDERLY if fault.kind is FaultKind.EXIT else 0)
        if caught is not None:
            fault = Fault(caught)
        elif ended.killed:
            fault = Fault(FaultKind.MEMORY)
        elif fault.kind is FaultKind.EXIT and ended.status and not ended.stopped:
            fault = Fault(FaultKind.CRASH)
        if self._fresh:  # its first start has had the grace; who had it in vain does not get it again
            measured = 2 * wall if fault.kind not in CLOCK_FAULTS else 0
            self._starting = max(wall - self._limits.move, 0.0)
            self._grace = min(self._grace, max(measured, SHORTEST_RESTART))
        self._restarts -= self._starting
        cpu = ended.cpu if first else self._watched.cost(ended.cpu)
        told = Outcome(fault, raw[:EVIDENCE], wall, cpu, ended.words, self.overheard(0))
        return told._replace(waited=waited, overhead=self._overhead) if fault.kind is FaultKind.TIMEOUT else told

    async def _end(self, patience: float = 0) -> Ended:
        """Kill the process and all it has started; return how it ended."""
        self._watched.turn.thaw()  # who is dead must not be taken for one without a question, and be stopped
        self._count_waits()
        try:
            return await self._sweep(patience)
        finally:
            self._close()

    def _count_waits(self) -> None:
        """Take note of how long the process, about to end, has waited for a processor in its life; and of pauses so far."""
        turn, waited = self._watched.turn, self.spent.waited + self._clock.total_wait()
        self.spent = self.spent._replace(waited=waited, pauses=turn.pauses, pondered=turn.cpu_off_turn)

    def _close(self) -> None:
        for descriptor in (self._input, self._output):
            if descriptor >= 0:
                os.close(descriptor)
        self._input = self._output = -1
        self._heard = b""

    async def _bury(self) -> None:
        """Have the dead gone, and in the account: a verdict does not wait for a slow death."""
        late = await self._sandbox.keeper.reap()
        self.spent = self.spent._replace(cpu=self.spent.cpu + late)

    async def _sweep(self, patience: float) -> Ended:
        ended = await self._sandbox.keeper.kill_all(patience)
        memory = max(self.spent.memory, ended.memory, self._watched.peak)
        self.spent = self.spent._replace(cpu=self.spent.cpu + ended.cpu, memory=memory)
        return ended


class _SpinPolicy:
    """Whether it pays to look for a lone answer without sleeping: an idle core takes longer to wake than a bot to answer.

    Where the bot has no core of its own it never pays, and is tried again only now and then.
    """

    def __init__(self) -> None:
        self._pause = 0

    def seconds(self) -> float:
        """Return how long to look."""
        if not self._pause:
            return SPIN
        self._pause -= 1
        return 0.0

    def failed(self) -> None:
        """Take note that no answer came meanwhile."""
        self._pause = SPIN_AGAIN


_spin = _SpinPolicy()


def poll_all(shown: Iterable[PersistentProcess]) -> None:
    """Hear those that have been shown a wave for as long as they are brisk; `exchange` waits for the others."""
    waiting = {conversation.output: conversation for conversation in shown}
    now = time.perf_counter()
    until, spun = now + POLL_FIRST_S, now + (_spin.seconds() if len(waiting) == 1 else 0.0)
    while waiting and now < until:
        spins = now < spun
        for output in select.select(waiting, (), (), 0 if spins else until - now)[0]:
            if waiting[output].hear(time.perf_counter()):
                del waiting[output]
        now = time.perf_counter()
        if spins and waiting and now >= spun:
            _spin.failed()
