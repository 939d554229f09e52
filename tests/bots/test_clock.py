"""Clocks: which time counts for an answer, when it is late, and when the machine is to blame."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import trio
from helpers import (
    AMPLE,
    CACHE,
    answers_of,
    built,
    faults_of,
    fixture_of,
    levels,
    long,
    nothing_left_behind,
    opened,
    played,
    written,
)

from host.base.errors import HostFailure
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock, HostStall
from host.bots.conversation import AskedProcess
from host.bots.monitor import Monitor, MonitoredSandbox, running_monitor
from host.bots.run_queue import RunQueueWaits, ThreadTime, foreign_wait
from host.bots.seat import open_process, open_seat
from host.bots.stall_sampler import Stalls
from host.bots.values import OVERSPENT, Batch, Evidence, Question
from host.games import GAMES
from host.inspect.evidence import time_breakdown
from host.play.jobs import Job
from host.play.records import Record
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import detect
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import MAX_WALL_FACTOR, Limits
from host.sandbox.process_tree import descendants
from host.submissions.diagnosis import diagnose
from protocols.wire import Fault, Move

STAND = Move("S")
MOVE = 0.3
LATE = 5.0  # seconds: no host is later than this, even on a loaded machine
SHORT = AMPLE._replace(move=MOVE)
HOST_LATE_S = 0.2
SLEEPS = """
    import sys, time

    for asked, line in enumerate(sys.stdin):
        time.sleep({seconds} if asked else 0)
        print("S", flush=True)
"""
THREADS = r"""
    #include <pthread.h>
    #include <stdio.h>
    #include <unistd.h>

    static void *spin(void *nothing)
    {
        for (;;) {}
        return nothing;
    }

    int main(int count, char **words)
    {
        char line[8192];
        for (int asked = 0; count > 1 || fgets(line, sizeof line, stdin); asked++) {
            pthread_t thread;
            for (int n = 0; (asked || count > 1) && n < 32; n++) pthread_create(&thread, NULL, spin, NULL);
            if (asked || count > 1) pause();
            puts("S"), fflush(stdout);
        }
        return 0;
    }
"""
only_in_groups = pytest.mark.skipif(not detect().level.traits.exact_cpu, reason="NO CONTROL GROUPS HERE")


def bot_of(source: str, suffix: str, name: str, limits: Limits, protocol: str = "lines") -> BuiltBot:
    """Build a bot that is asked at least twice."""
    folder = CACHE / "clock"
    folder.mkdir(exist_ok=True)
    return built(written(source, suffix, folder, name), limits=limits, protocol=protocol)


def alone(bot: BuiltBot, tables: int = 2) -> Record:
    """Play tables of one hand with one bot; a bot that stands is asked once per table."""
    with nothing_left_behind():
        return played("cardshark", [bot], tables, hands=1)


# Time that a clock counts.


@pytest.mark.timing
@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_a_bot_that_sleeps_is_late(protocol: str) -> None:
    source = SLEEPS.format(seconds=3600) if protocol == "lines" else "import time\ntime.sleep(3600)\n"
    record = alone(bot_of(source, ".py", "sleeper", SHORT, protocol), 1 if protocol == "argv" else 2)

    assert faults_of(record, "sleeper") == {"timeout": 1}
    assert MOVE <= record.evidence[0].wall < MAX_WALL_FACTOR * MOVE


@pytest.mark.timing
@pytest.mark.parametrize("protocol", [long("argv"), "lines"])
def test_a_bot_that_makes_its_own_waits_pays_for_all_of_it(protocol: str) -> None:
    record = alone(bot_of(THREADS, ".c", "spinner", SHORT, protocol), 1 if protocol == "argv" else 2)

    # On a shared machine, the wall-clock limit may end before the bot has computed that much.
    assert faults_of(record, "spinner") in ({"cpu": 1}, {"timeout": 1})
    assert record.evidence[0].wall < MAX_WALL_FACTOR * MOVE + LATE
    assert not record.stalls


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_an_honest_bot_is_not_disturbed(protocol: str) -> None:
    source = "import sys\nif len(sys.argv) > 1:\n    print('S')\nfor line in sys.stdin:\n    print('S', flush=True)\n"

    assert answers_of(alone(bot_of(source, ".py", "honest", AMPLE._replace(move=3.0), protocol))) == [[STAND], [STAND]]


# Delays caused by the machine.

SPINS = "while True:\n    pass\n"
WAITS = "import time\ntime.sleep(3600)\n"


def judged(source: str, stalled: float, *, charged: bool = False) -> float:
    """Return the seconds that the clock still grants a process that has taken 1.05 s of its limit of 1 s.

    `stalled` are the seconds in which croupier itself did not run, as sampled.
    """
    bot = bot_of(f"print(flush=True)\n{source}", ".py", "judged", AMPLE)

    async def look() -> float:
        async with (
            running_monitor() as monitor,
            sandboxed(detect().level, Home(Path(bot.folder)), AMPLE) as sandbox,
        ):
            begun, output = os.pipe()
            await sandbox.keeper.start(
                [word.encode() for word in bot.argv], dict(bot.env), AMPLE, (begun, output, output)
            )
            os.close(output)
            await trio.lowlevel.wait_readable(begun)
            assert os.read(begun, 1) == b"\n"
            os.close(begun)
            (process,) = [psutil.Process(pid) for pid in children(sandbox.pid)]
            while source is WAITS and process.status() != psutil.STATUS_SLEEPING:
                await trio.sleep(0.001)
            with monitor.watching(sandbox, AMPLE.memory) as monitored:
                clock = Clock(AMPLE, monitored, charged=charged)
                clock.start(time.perf_counter() - 1.0, 1.0)
                clock.measure(LATE)
                monitored.samples.stalls = Stalls(paused=stalled)
                monitored.samples.end()
                try:
                    return clock.extension(1.05)
                finally:
                    clock.forget()

    return trio.run(look)


def children(keeper: int) -> list[int]:
    """Return the processes that a keeper has started."""
    return [int(pid) for pid in Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()]


def test_a_bot_that_has_not_computed_while_croupier_did_not_run_is_not_late() -> None:
    with pytest.raises(HostStall, match=r"no answer after 1\.050 s: computed 0\.0\d\d s, .*croupier paused 0\.600 s"):
        judged(WAITS, 0.6)


def test_a_bot_that_waits_for_something_else_is() -> None:
    assert judged(WAITS, 0.4) == 0


def test_a_bot_that_is_ready_to_run_may_have_waited() -> None:
    assert judged(SPINS, 0.0) > 0


def test_a_bot_that_the_machine_has_failed_too_often_is_late() -> None:
    assert judged(WAITS, 0.6, charged=True) == 0


BLOCKED = r"""
    #define _GNU_SOURCE
    #include <stdio.h>
    #include <unistd.h>

    int main(void)
    {
        char line[8192];
        for (int asked = 0; fgets(line, sizeof line, stdin); asked++) {
            if (asked && vfork() == 0) sleep(60), _exit(0);
            puts("S"), fflush(stdout);
        }
        return 0;
    }
"""


def is_blocked(process: psutil.Process) -> bool:
    """Return whether a process is the bot defined above, in the state of a process that waits for a disk."""
    try:
        return process.name() == "bot" and process.status() == psutil.STATUS_DISK_SLEEP
    except psutil.Error:
        return False


@pytest.mark.timing
def test_what_a_stalled_host_cannot_tell_is_asked_again_and_listed() -> None:
    bot = bot_of(BLOCKED, ".c", "blocked", AMPLE._replace(move=MOVE))

    async def stall() -> None:
        """Block this whole process once, until after the bot's deadline."""
        while not any(is_blocked(process) for process in descendants(os.getpid())):
            await trio.sleep(0.01)
        time.sleep(MOVE + HOST_LATE_S)  # noqa: ASYNC251 - the stall itself

    async def play() -> Record:
        async with opened("cardshark", [bot]) as pool, trio.open_nursery() as nursery:
            nursery.start_soon(stall)
            return await pool.play(Job(fixture_of("cardshark", [bot], 2, hands=1)))

    with nothing_left_behind():
        record = trio.run(play)

    # On a loaded machine, this process may be delayed a second time.
    assert record.replayed == len(record.stalls) >= 1
    assert all(stalled.startswith("blocked at table 2: no answer after ") for stalled in record.stalls)
    assert answers_of(record) == [[STAND], [STAND]]  # the new process is asked its first question
    assert record.faults == {}


@pytest.mark.timing
def test_an_answer_that_came_while_its_host_was_stalled_is_taken() -> None:
    move = 0.7
    bot = bot_of(SLEEPS.format(seconds=0.1), ".py", "prompt", AMPLE._replace(move=move))

    async def stall() -> None:
        for _ in range(5):
            await trio.sleep(0.05)
            time.sleep(move + HOST_LATE_S)  # noqa: ASYNC251 - the stall itself

    async def play() -> Record:
        async with opened("cardshark", [bot]) as pool, trio.open_nursery() as nursery:
            nursery.start_soon(stall)
            record = await pool.play(Job(fixture_of("cardshark", [bot], 3, hands=1)))
            nursery.cancel_scope.cancel()
        return record

    assert answers_of(trio.run(play)) == [[STAND]] * 3


COMPUTES = r"""
    #include <stdio.h>
    #include <time.h>

    int main(void)
    {
        char line[8192];
        for (int asked = 0; fgets(line, sizeof line, stdin); asked++) {
            for (clock_t from = clock(); asked && clock() - from < 0.1 * CLOCKS_PER_SEC;) {}
            puts("S"), fflush(stdout);
        }
        return 0;
    }
"""


@pytest.mark.timing
def test_the_time_in_which_its_host_was_delayed_costs_a_bot_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    core, usable, asked = min(os.sched_getaffinity(0)), os.sched_getaffinity(0), list[bytes]()
    bot = bot_of(COMPUTES, ".c", "computes", AMPLE._replace(move=0.2))

    def delayed(child: AskedProcess, line: bytes) -> None:
        """Write a question; look for the answer only after the limit, when the bot has not computed long enough."""
        child._write(line)
        asked.append(line)
        time.sleep(0.3)

    monkeypatch.setattr(AskedProcess, "exchange", delayed)
    os.sched_setaffinity(0, {core})
    spinners = [subprocess.Popen([sys.executable, "-c", SPINS], start_new_session=True) for _ in range(2)]
    try:
        record = alone(bot, 4)
    finally:
        os.sched_setaffinity(0, usable)
        for spinner in spinners:
            spinner.kill()
            spinner.wait()

    # On a loaded machine the bot may wait for longer than all patience.
    assert asked and not [
        each for each in record.evidence if each.kind == "timeout" and each.wall < MAX_WALL_FACTOR * 0.2
    ]


# Contents of a record.


def test_who_waits_for_a_processor_is_seen_to() -> None:
    core = min(os.sched_getaffinity(0))
    spinners = [
        subprocess.Popen([sys.executable, "-c", SPINS], preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        for _ in range(3)
    ]
    own = RunQueueWaits(spinners[0].pid)
    own.start_counting()
    try:
        while sum(thread.waited for thread in own.since()) < 0.05:
            time.sleep(0.01)
        assert own.running() == [str(spinners[0].pid)]
    finally:
        own.close()
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def test_a_wait_that_is_not_over_may_be_longer_than_is_known() -> None:
    own = RunQueueWaits(os.getpid())  # this process is running while it reads its own state
    own.start_counting()

    (thread, *_) = own.since()
    assert str(os.getpid()) in own.running()
    assert thread.ready > thread.waited + 1  # nobody knows since when
    sum(range(1_000_000))
    (thread, *_) = own.since()
    assert thread.ready < 10  # it has run since the last look
    own.close()


@pytest.mark.parametrize(
    ("threads", "computed", "cores", "foreign"),
    [
        ([(0.1, 0.9)], 0.1, 1, 0.9),  # one thread, a busy machine
        ([(0.0, 0.5), (0.5, 0.0)], 0.5, 1, 0.0),  # it has waited for the bot's other thread
        ([(0.0, 0.5), (0.5, 0.0)], 0.5, 2, 0.25),  # the bot had another core
        ([(0.01, 0.57)] * 58, 0.58, 1, 0.0),  # each of 58 threads has waited for the others
        ([(0.01, 0.9)] * 58, 0.58, 1, 0.33),  # and for other programs
        ([(0.3, 0.4), (0.0, 0.0)], 0.3, 1, 0.4),  # the other thread sleeps
        ([], 0.5, 1, 0.0),
    ],
)
def test_only_the_wait_for_other_programs_is_not_the_bot_s_own_doing(
    threads: list[tuple[float, float]], computed: float, cores: int, foreign: float
) -> None:
    times = [ThreadTime(ran, waited, 0.0) for ran, waited in threads]

    assert foreign_wait(times, computed, cores) == pytest.approx(foreign)


def test_a_record_holds_what_was_computed_and_waited_for() -> None:
    crowd = f"""
        import os, sys, time

        def spin(seconds):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                pass

        for line in sys.stdin:
            for _ in range({len(os.sched_getaffinity(0)) + 2}):
                if not os.fork():
                    spin(0.1)
                    os._exit(0)
            spin(0.1)
            print("S", flush=True)
    """
    record = alone(bot_of(textwrap.dedent(crowd), ".py", "plain", AMPLE))

    assert record.overhead > 0
    assert record.usage["plain"].waited > 0
    assert record.usage["plain"].cpu > 0


@pytest.mark.timing
@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_how_long_a_late_bot_has_waited_is_known(protocol: str) -> None:
    record = alone(bot_of(THREADS, ".c", "crowd", AMPLE._replace(move=MOVE), protocol))

    (piece, *_) = [piece for piece in record.evidence if piece.kind == "timeout"]
    assert piece.waited > 0
    assert "waiting for a processor" in time_breakdown(piece)


@pytest.mark.parametrize(
    ("computed", "waited", "words"),
    [
        (0.9, 0.1, "it computed all the time it could get"),
        (0.1, 0.9, "it computed all the time it could get"),
        (0.1, 0.1, "it was waiting, not computing"),
    ],
)
def test_an_author_is_told_what_a_late_bot_did(computed: float, waited: float, words: str) -> None:
    bot = bot_of("print('S')\n", ".py", "late", AMPLE)
    piece = Evidence("late", 1, 1, "timeout", "", b"21", b"", b"", 1.0, computed, "was stopped", waited)

    assert words in diagnose(bot, GAMES["cardshark"], piece).message


# Time budget per table.

COMPUTES = r"""
    #include <stdio.h>
    #include <time.h>

    int main(int count, char **words)
    {
        char line[8192];
        while (count > 1 || fgets(line, sizeof line, stdin)) {
            for (clock_t until = clock() + 20 * CLOCKS_PER_SEC / 100; clock() < until;) {}
            puts("S"), fflush(stdout);
            if (count > 1) break;
        }
        return 0;
    }
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("at", "protocol"),
    [*((at, "lines") for at in levels() if at.traits.exact_cpu), *(long((at, "argv")) for at in levels())],
)
def test_what_a_table_has_cost_too_much_the_next_may_have_again(at: str, protocol: str) -> None:
    limits = AMPLE._replace(cpu_table=0.55)
    bot = bot_of(COMPUTES, ".c", "thinker", limits, protocol)
    tables = [1, 1, 1, 1, 2]

    async def ask() -> list[str]:
        async with (
            running_monitor() as watcher,
            sandboxed(at, Home(Path(bot.folder)), limits) as sandbox,
            open_seat(bot, GAMES["cardshark"], sandbox, 1, watcher) as seat,
        ):
            answers = []
            for number, table in enumerate(tables, 1):
                answers += await seat.ask(Batch([Question(table, number, GAMES["cardshark"].examples[0])]))
        return [answer.kind if isinstance(answer, Fault) else answer.verb for answer in answers]

    assert trio.run(ask) == ["S", "S", "cpu", "cpu", "S"]


def test_a_bot_without_processor_time_for_a_question_owes_no_answer() -> None:
    limits = AMPLE._replace(cpu_table=1e-6)
    bot, question = (
        bot_of("print('S')\n", ".py", "penniless", limits, "argv"),
        Question(1, 1, GAMES["cardshark"].examples[0]),
    )
    watched: list[MonitoredSandbox] = []

    def clock(limits: Limits, monitored: MonitoredSandbox) -> Clock:
        watched.append(monitored)
        return Clock(limits, monitored)

    async def ask() -> None:
        async with (
            running_monitor() as watcher,
            sandboxed(levels()[-1], Home(Path(bot.folder)), limits) as sandbox,
            open_process(bot, GAMES["cardshark"], sandbox, 1, watcher, new_clock=clock) as process,
        ):
            for _ in range(2):
                process.send(Batch([question]))
                failed = (await process.finish()).failed
            assert failed == OVERSPENT
            assert not watched[0].samples.are_due

    trio.run(ask)


class StalledClock(Clock):
    """A clock on a machine that stalls at every deadline."""

    def extension(self, _wall: float) -> float:
        raise HostStall("the machine was busy")


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_a_bot_owes_no_answer_after_a_failure_of_the_host(protocol: str) -> None:
    """It may get no other sandbox in its fixture, and while an answer is slow, all other bots are paused."""
    limits = AMPLE._replace(move=0.05, startup=0.05)
    bot = bot_of("import time\ntime.sleep(3600)\n", ".py", "stalled", limits, protocol)

    async def ask() -> None:
        async with (
            running_monitor() as watcher,
            sandboxed(levels()[-1], Home(Path(bot.folder)), limits) as sandbox,
            open_process(bot, GAMES["cardshark"], sandbox, 1, watcher, new_clock=StalledClock) as process,
        ):
            process.send(Batch([Question(1, 1, GAMES["cardshark"].examples[0])]))
            async with trio.open_nursery() as nursery:
                if protocol == "argv":
                    nursery.start_soon(kill_when_slow, watcher, sandbox)
                with pytest.raises(HostFailure):
                    await process.finish()
            assert watcher.turns.slow == 0

    async def kill_when_slow(watcher: Monitor, sandbox: Sandbox) -> None:
        while not watcher.turns.slow:
            await trio.sleep(0.01)
        os.kill(sandbox.pid, signal.SIGKILL)

    trio.run(ask)


# A busy machine.


@pytest.mark.timing
@pytest.mark.proof
@only_in_groups
def test_beside_sixteen_spinning_processes_hardly_any_bot_that_computes_little_is_late() -> None:
    late, slow = late_beside_spinners(AMPLE._replace(move=0.02), 200)

    assert slow > 20
    assert late <= slow / 10  # none, except delays by the virtual machine's host, which no clock here can see


def late_beside_spinners(limits: Limits, moves: int) -> tuple[int, int]:
    """Return the number of late answers, and of those beyond their limit by wall clock.

    Each answer computes 60 % of its limit. A benched or stalled bot is seated again.
    """
    text = COMPUTES.replace("20 * CLOCKS_PER_SEC / 100", f"{0.6 * limits.move} * CLOCKS_PER_SEC")
    bot = bot_of(text, ".c", "busy", limits)

    async def play() -> tuple[int, int]:
        late = slow = asked = 0
        async with running_monitor() as watcher, sandboxed(Level.L4, Home(Path(bot.folder)), limits) as sandbox:
            while asked < moves:
                async with open_seat(bot, GAMES["cardshark"], sandbox, 1, watcher) as seat:
                    with suppress(HostStall):
                        while asked < moves and not seat.benched:
                            asked, began = asked + 1, time.perf_counter()
                            await seat.ask(Batch([Question(asked, 1, GAMES["cardshark"].examples[0])]))
                            slow += time.perf_counter() - began > limits.move
                late += seat.faults.total()
        return late, slow

    # Each has its own session: the kernel divides cores between sessions, and sixteen in one would get one share.
    command = [sys.executable, "-c", SPINS]
    spinners = [subprocess.Popen(command, start_new_session=True) for _ in range(16)]
    try:
        return trio.run(play)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
