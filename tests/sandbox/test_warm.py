"""A warm start is equivalent to a cold one: nothing survives a question, and no bot reaches the interpreter."""

import re
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil
import pytest
import trio
from helpers import AMPLE, CACHE, breadth, built, fixture_of, levels, nothing_left_behind, opened, strongest, written

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock
from host.bots.monitor import running_monitor
from host.bots.run_queue import answering
from host.bots.seat import open_seat
from host.bots.values import Batch, Evidence, Question
from host.config.tournament_config import load
from host.games import GAMES
from host.play.jobs import Job
from host.sandbox import landlock
from host.sandbox.bubblewrap import EMPTY, Home
from host.sandbox.detect import detect
from host.sandbox.fork_server import INERT
from host.sandbox.keeper import Keeper
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.sandbox.process_tree import descendant_numbers, descendants
from host.submissions.build import build
from host.submissions.check import check_bot
from host.submissions.discovery import load_submission
from host.submissions.examine import prepare_bots
from host.submissions.languages import need
from protocols.wire import Answer, Fault, FaultKind, Move

GAME = GAMES["cardshark"]
STANDS, OUT = Move("S"), Move("B", 666)
Ask = Callable[[], Awaitable[Answer]]
WARM = [level for level in levels() if level.traits.can_warm and landlock.version() >= landlock.WANTED]
at_every_warm_level = pytest.mark.parametrize("level", strongest(WARM))
only_warm = pytest.mark.skipif(not WARM, reason="NO NAMESPACES OR NO LANDLOCK HERE: warm starts are not tested")


def folder_of(source: str, **files: str) -> Path:
    """Write the folder of a warm bot."""
    folder = CACHE / "warm" / f"w{abs(hash((source, *files.items())))}"
    folder.mkdir(parents=True, exist_ok=True)
    written(source, ".py", folder)
    for name, text in files.items():
        written(text, ".py", folder, name)
    (folder / "bot.toml").write_text(
        f'name = "{folder.name}"\ngame = "cardshark"\nlanguage = "python"\nentry = "bot.py"\nwarm = true\n'
    )
    return folder


def asked(
    level: Level, bot: BuiltBot, questions: int = 3, limits: Limits = AMPLE
) -> tuple[list[Answer], Sequence[Evidence], int]:
    """Ask a bot; return its answers, the evidence and the number of words of its interpreter's command, 0 if cold."""

    async def ask() -> tuple[list[Answer], Sequence[Evidence], int]:
        answers: list[Answer] = []
        async with (
            running_monitor() as watcher,
            sandboxed(level, Home(Path(bot.folder), warm=True), limits) as sandbox,
            open_seat(bot._replace(limits=limits), GAME, sandbox, 7, watcher) as seat,
        ):
            for number in range(1, questions + 1):
                answers += await seat.ask(Batch([Question(number, 1, GAME.examples[0])]))
            return answers, seat.all_evidence(), sandbox.keeper.warm

    with nothing_left_behind():
        return trio.run(ask)


def answers_of(level: Level, source: str, questions: int = 3, limits: Limits = AMPLE) -> list[Answer]:
    """Return the answers of a bot, which must be started warm."""
    answers, evidence, warm = asked(level, built(folder_of(source)), questions, limits)
    assert warm, evidence
    return answers


@at_every_warm_level
def test_a_global_written_in_one_move_is_invisible_in_the_next(level: Level) -> None:
    source = """
        import builtins, json, os, random, sys

        seen = [hasattr(thing, "mark") for thing in (builtins, json, os, random)] + ["mark" in globals(), "mark" in os.environ]
        builtins.mark = json.mark = os.mark = random.mark = mark = 1
        sys.modules["mark"] = os
        os.environ["mark"] = "1"
        sys.path.append("mark")
        print("B 666" if any(seen) or sys.path.count("mark") > 1 else "S")
    """

    assert answers_of(level, source) == [STANDS] * 3


@at_every_warm_level
def test_a_warm_start_is_a_start(level: Level) -> None:
    source = """
        import os, random, signal, sys, threading

        well = [
            __name__ == "__main__",
            __file__ == sys.argv[0] == "bot.py",
            len(sys.argv) == 6,
            os.environ["CROUPIER_SEED"] == "7",
            sorted(os.environ) == ["CROUPIER_SEED", "HOME", "LANG", "PATH"],
            os.getcwd() == "/bot",
            os.getppid() == 1,
            os.getpgrp() == os.getsid(0) == os.getpid(),
            threading.main_thread() is threading.current_thread(),
            threading.get_native_id() == os.getpid(),
            signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set(),
            signal.getsignal(signal.SIGINT) is signal.default_int_handler,
            sys.stdin.read() == "",
            sys.stdout.line_buffering,
            set(globals()) <= {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__",
                               "__builtins__", "__file__", "builtins", "os", "random", "signal", "sys", "threading", "well"},
        ]
        print("S" if all(well) else f"B {100 + well.index(False)}")
    """

    assert answers_of(level, source) == [STANDS] * 3


@at_every_warm_level
def test_no_question_is_left_in_the_memory_of_a_later_fork(level: Level) -> None:
    source = """
        import ctypes, os, re, sys

        libc = ctypes.CDLL(None)
        libc.sbrk.restype = ctypes.c_void_p
        reads, writes = os.pipe()

        def found(middle):
            for page in range((middle >> 12) - 500, (middle >> 12) + 500):
                if libc.write(writes, ctypes.c_void_p(page << 12), 4096) == 4096:  # else there is none
                    if re.search(rb"KQKQKQKQ[2]34567", os.read(reads, 4096)):
                        return True

        print("B 1" if any(map(found, (id(sys.argv[3]), id(sys.argv), id(re), libc.sbrk(0)))) else "S")
    """
    bot = built(folder_of(source))
    views = [(21, "KJA", visible, 25, 145) for visible in ("KQ" * 30 + "23456789T", "KQKJA3592A", "KQKJA3592A")]

    async def ask() -> list[Answer]:
        answers: list[Answer] = []
        async with (
            running_monitor() as watcher,
            sandboxed(level, Home(Path(bot.folder), warm=True), AMPLE) as sandbox,
            open_seat(bot, GAME, sandbox, 7, watcher) as seat,
        ):
            for number, view in enumerate(views, 1):
                answers += await seat.ask(Batch([Question(number, 1, view)]))
        return answers

    assert trio.run(ask) == [Move("B", 1), STANDS, STANDS]


@at_every_warm_level
def test_the_locks_that_are_held_over_a_fork_are_free_in_it(level: Level) -> None:
    source = """
        import concurrent.futures, logging, random, sys, threading

        logging.warning("well")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            pool.submit(__import__, "graphlib").result()
        print("S")
    """
    answers, evidence, warm = asked(level, built(folder_of(source)), 4)

    assert (answers, warm > 0) == ([STANDS] * 4, True)
    assert [piece.stderr for piece in evidence] == [b"WARNING:root:well\n"]


@at_every_warm_level
def test_chance_is_not_the_same_in_every_fork(level: Level) -> None:
    source = """
        import random

        print("B", random.randrange(10**6) + 1)
    """

    assert len(set(answers_of(level, source, 4))) == 4


@at_every_warm_level
@pytest.mark.parametrize(
    "fact",
    [
        "import logging; print('B', int(logging._startTime * 1e6) % 10**11)",
        "import multiprocessing; print('B', int.from_bytes(multiprocessing.current_process().authkey[:4], 'big'))",
    ],
    ids=["logging", "multiprocessing"],
)
def test_no_module_tells_when_the_interpreter_was_started(level: Level, fact: str) -> None:
    answers = answers_of(level, fact, 6)
    assert len(set(answers)) == 6 and all(isinstance(answer, Move) for answer in answers)


@at_every_warm_level
def test_new_objects_lie_at_the_same_addresses_in_every_fork(level: Level) -> None:
    source = """
        import sys

        objects = {}, [], (1, sys), set(), object(), lambda: 0, "a" + sys.argv[1], bytes(20), bytes(600), 2.5 + len(sys.argv)
        print("B", hash(tuple(map(id, objects))) % 1_000_000)
    """

    answers = answers_of(level, source, 7)
    assert {answer.verb for answer in answers if isinstance(answer, Move)} == {"B"} and len(set(answers)) == 1


@at_every_warm_level
def test_nobody_reaches_the_interpreter(level: Level) -> None:
    source = """
        import os, signal

        reached = []
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL, 0):
            for pid in range(-1, 40000):
                if pid not in (0, -1, os.getpid(), -os.getpid()):
                    try:
                        os.kill(pid, number)
                        reached.append(pid)
                    except OSError:
                        pass
        for leave in (os.setsid, os.setpgrp, lambda: os.setpgid(0, 0)):
            if os.fork() == 0:
                before = os.getpgrp()
                try:
                    leave()
                except OSError:
                    pass
                os._exit(os.getpgrp() != before)
            reached += [leave] * bool(os.wait()[1])
        print("B 666" if reached else "S")
    """

    assert answers_of(level, source, 2) == [STANDS] * 2


@pytest.mark.timing
@at_every_warm_level
def test_what_a_fork_leaves_running_is_dead_at_the_next(level: Level) -> None:
    source = """
        import os, subprocess, time

        for _ in range(4):
            if os.fork() == 0:
                if os.fork() == 0:
                    for descriptor in range(3):
                        os.close(descriptor)
                    while True:
                        time.sleep(0.001)
                        if os.fork():
                            os._exit(0)
                os._exit(0)
        subprocess.Popen(["/bin/sleep", "1000"])
        alive = 0
        try:
            os.kill(-1, 0)  # of its own
        except OSError:
            pass
        print("S")
    """

    async def test(sandbox: Sandbox, ask: Ask) -> None:
        for _ in range(5):
            assert await ask() == STANDS
            waiting = await forked_ahead(sandbox)
            assert [process.pid for process in descendants(sandbox.pid)][1:] == [waiting]

    with_a_bot(level, source, test)


@at_every_warm_level
def test_a_process_that_the_interpreter_itself_started_ends_with_the_question(level: Level) -> None:
    bot = built(folder_of("print('S')\n"))
    hostile = "import os, time; os.fork() or (os.setsid(), time.sleep(1000)); "
    bot = bot._replace(warm=(*bot.warm[:-2], hostile + bot.warm[-2], bot.warm[-1]))

    async def test(sandbox: Sandbox, ask: Ask) -> None:
        for _ in range(2):
            assert await ask() == STANDS
            await sandbox.keeper.kill_all()
            assert not list(descendants(sandbox.pid))

    with_this_bot(level, bot, test)


BEFORE_THE_FORK = """
class Receives(_socket.socket):
    def recvmsg(self, *words):
        received = super().recvmsg(*words)
        stray()
        return received

_socket.socket = Receives
"""
AFTER_THE_FORK = """
close = os.close
os.close = lambda number: close(number) or stray()
"""


@pytest.mark.timing
@at_every_warm_level
@pytest.mark.parametrize("added", [BEFORE_THE_FORK, AFTER_THE_FORK], ids=["before", "after"])
def test_a_process_that_the_interpreter_starts_later_ends_with_the_next_question(level: Level, added: str) -> None:
    bot = built(folder_of("print('S')\n"))
    hostile = """
import _socket, os, time
forks = []

def stray():
    forks.append(1)
    if len(forks) == 4 and not os.fork():
        os.setsid()
        time.sleep(1000)
"""
    bot = bot._replace(warm=(*bot.warm[:-2], hostile + added + bot.warm[-2], bot.warm[-1]))

    async def test(sandbox: Sandbox, ask: Ask) -> None:
        interpreters, alive = set[int](), set[int]()
        for _ in range(10):
            before = alive
            assert await ask() == STANDS
            await trio.sleep(0.05)  # the keeper sweeps after its reply
            alive = set(descendant_numbers(sandbox.pid))
            assert len(before & alive) <= 1  # the interpreter
            interpreters |= before & alive
        assert len(interpreters) > 1

    with_this_bot(level, bot, test)


@at_every_warm_level
def test_the_interpreter_works_in_an_empty_folder(level: Level) -> None:
    async def test(sandbox: Sandbox, ask: Ask) -> None:
        assert await ask() == STANDS
        interpreter = next(descendants(sandbox.pid))
        folder = Path(f"/proc/{interpreter.pid}/cwd")
        assert str(folder.readlink()).endswith(EMPTY)
        assert not list(folder.iterdir())

    with_a_bot(level, "import unittest\nprint('S')\n", test)


OBSERVER = """
import os, sys

HARMLESS = {"import", "exec", "compile", "marshal.loads", "ctypes.dlopen"}
seen = []

class Environment(type(os.environ)):
    def __getitem__(self, name):
        if name != "_PYTHON_SUBPROCESS_USE_POSIX_SPAWN":  # since Python 3.13 `subprocess` reads it
            seen.append(f"variable {name}")
        return super().__getitem__(name)

class Arguments(list):
    def __getitem__(self, place):
        seen.append("an argument")
        return super().__getitem__(place)
    def __iter__(self):
        seen.append("the arguments")
        return super().__iter__()

def observe(event, words):
    if event.startswith(("object.", "sys._getframe", "code.__new__")) or event in HARMLESS:
        return
    if event in ("open", "os.listdir") and str(words[0]).startswith(library):
        return
    seen.append(f"{event} {words}")

import _thread
sys.path.remove("")
library = os.path.dirname(os.__file__)
names = sys.argv[1].split()
sys.argv = Arguments(["bot.py"])
os.environ.__class__ = Environment
sys.addaudithook(observe)
for name in names:
    __import__(name)
    if seen:
        print(name, *seen)
    seen.clear()
print(_thread._count())
"""


def test_modules_that_are_imported_before_the_bot_only_define_things(tmp_path: Path) -> None:
    words = [need("python3"), "-B", "-ES", "-c", OBSERVER, " ".join(sorted(INERT))]

    observed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert observed.stdout == "0\n"


async def forked_ahead(sandbox: Sandbox) -> int:
    """Return the only process besides the interpreter, once it waits for its question."""
    before: list[tuple[int, str]] = []
    for _ in range(500):
        await trio.sleep(0.02)
        processes = list(descendants(sandbox.pid))
        assert len(processes) <= 2, processes
        runs = [(process.pid, Path(f"/proc/{process.pid}/schedstat").read_text()) for process in processes]
        if len(runs) == 2 and runs == before and processes[1].status() == psutil.STATUS_SLEEPING:
            return processes[1].pid
        before = runs
    raise AssertionError("nobody waits for a question")


def with_a_bot(
    level: Level, source: str, test: Callable[[Sandbox, Ask], Awaitable[None]], limits: Limits = AMPLE
) -> None:
    """Run a test with a bot in its sandbox."""
    with_this_bot(level, built(folder_of(source))._replace(limits=limits), test)


def with_this_bot(level: Level, bot: BuiltBot, test: Callable[[Sandbox, Ask], Awaitable[None]]) -> None:
    """Run a test with a built bot in its sandbox."""

    async def run() -> None:
        async with (
            running_monitor() as watcher,
            sandboxed(level, Home(Path(bot.folder), warm=True), bot.limits) as sandbox,
            open_seat(bot, GAME, sandbox, 7, watcher) as seat,
        ):

            async def ask() -> Answer:
                return (await seat.ask(Batch([Question(1, 1, GAME.examples[0])])))[0]

            await test(sandbox, ask)

    with nothing_left_behind():
        trio.run(run)


@pytest.mark.timing
@at_every_warm_level
def test_who_is_forked_ahead_computes_nothing_and_is_the_next_bot(level: Level) -> None:
    async def test(sandbox: Sandbox, ask: Ask) -> None:
        for _ in range(3):
            waiting = Path(f"/proc/{await forked_ahead(sandbox)}")
            number = int(re.findall(r"NSpid:.*\t(\d+)\n", (waiting / "status").read_text())[0])
            computed = (waiting / "schedstat").read_text()
            await trio.sleep(0.1)
            assert (waiting / "schedstat").read_text() == computed
            assert await ask() == Move("B", number)

    async def asked_before(sandbox: Sandbox, ask: Ask) -> None:
        await ask()
        await test(sandbox, ask)

    with_a_bot(level, "import os\nprint('B', os.getpid())\n", asked_before)


@pytest.mark.timing
@at_every_warm_level
@pytest.mark.parametrize("place", [0, 1])
def test_who_has_died_while_it_waited_costs_no_bot_its_question(level: Level, place: int) -> None:
    async def test(sandbox: Sandbox, ask: Ask) -> None:
        for _ in range(3):
            assert await ask() == STANDS
            await forked_ahead(sandbox)
            process = list(descendants(sandbox.pid))[place]
            process.kill()
            while process.is_running():
                await trio.sleep(0.005)

    with_a_bot(level, "print('S')\n", test)


@pytest.mark.timing
@at_every_warm_level
def test_nobody_waits_beside_a_bot_that_is_started_cold(level: Level) -> None:
    async def test(sandbox: Sandbox, ask: Ask) -> None:
        await ask()
        await forked_ahead(sandbox)
        assert isinstance(sandbox.keeper, Keeper)
        sandbox.keeper.warm = 0
        ended = await sandbox.keeper.ask([b"/bin/sleep", b"0.3"], {}, AMPLE, 0.2)
        assert ended.timed_out
        assert not list(descendants(sandbox.pid))

    with_a_bot(level, "print('S')\n", test)


@at_every_warm_level
def test_a_bot_has_three_descriptors_and_leaves_its_successor_no_more(level: Level) -> None:
    source = """
        import os, socket

        more = []
        for descriptor in range(3, 1024):
            try:
                more.append(os.fstat(descriptor))
            except OSError:
                pass
        print("B 666" if more else "S", flush=True)
        kept = [os.dup(1), os.open("/tmp", os.O_RDONLY), os.pipe(), socket.socketpair()]
        os.kill(os.getpid(), 9)
    """

    assert answers_of(level, source) == [STANDS] * 3


@pytest.mark.timing
@pytest.mark.skipif(Level.L4 not in WARM, reason="NO CONTROL GROUP HERE")
def test_what_a_fork_has_waited_before_its_question_is_not_its_waiting() -> None:
    async def test(sandbox: Sandbox, ask: Ask) -> None:
        await ask()
        waiting = await forked_ahead(sandbox)
        assert int(Path(f"/proc/{waiting}/schedstat").read_text().split()[1]) > 0
        async with running_monitor() as monitor:
            with monitor.watching(sandbox, AMPLE.memory) as monitored:
                clock = Clock(AMPLE, monitored)
                clock.start(time.perf_counter(), 1.0)
                clock.measure()
                assert clock.extension(2.0) == 0
                assert clock.waited == 0
                clock.forget()

    with_a_bot(Level.L4, "print('S')\n", test, AMPLE)


@at_every_warm_level
@pytest.mark.parametrize(
    ("line", "kind", "limits"),
    breadth(
        [
            ("while True: pass", FaultKind.CPU, AMPLE._replace(cpu=0.2)),
            ("import os; os.abort()", FaultKind.CRASH, AMPLE),
            ("1 / 0", FaultKind.CRASH, AMPLE),
            ("room = bytearray(300 << 20)", FaultKind.MEMORY, AMPLE._replace(memory=128 << 20)),
            ("import sys; sys.exit('no')", FaultKind.CRASH, AMPLE),
            ("raise SystemExit", FaultKind.EXIT, AMPLE),
            ("print('x' * 9000)", FaultKind.FLOOD, AMPLE),
            ("import time; time.sleep(9)", FaultKind.TIMEOUT, AMPLE._replace(move=1.0)),
        ],
        3,
    ),
)
def test_a_warm_bot_is_held_to_its_limits(level: Level, line: str, kind: FaultKind, limits: Limits) -> None:
    bot = built(folder_of(f"import sys\n{line}\n"))
    hold = "import time; time.sleep(0.1)\n" if kind is FaultKind.MEMORY else ""
    bot = built(folder_of(f"{line}\n{hold}")) if hold else bot

    answers, evidence, warm = asked(level, bot, 2, limits)

    assert warm and [answer.kind for answer in answers if isinstance(answer, Fault)] == [kind] * 2, evidence


@at_every_warm_level
def test_files_and_exit_functions_of_a_warm_bot_end_as_ever(level: Level) -> None:
    source = """
        import atexit, sys

        class Last:
            def __del__(self):
                sys.stdout.flush()

        atexit.register(sys.stdout.write, "B ")
        kept = open(1, "w", closefd=False)
        kept.write("7")
        last = Last()
    """

    assert answers_of(level, source, 2) == [Move("B", 7)] * 2


@pytest.mark.long
@at_every_warm_level
def test_a_bot_that_hides_the_library_is_started_cold_and_check_says_so(level: Level) -> None:
    folder = folder_of("import json, heapq\nprint(json.answer)\n", json="answer = 'S'\n", ctypes="print('B 666')\n")
    bot = built(folder)

    report, _ = trio.run(check_bot, load_submission(folder), GAME, level, AMPLE)

    answers, _, warm = asked(level, bot)
    assert (answers, warm) == ([STANDS] * 3, 0)
    assert report.accepted and "starts cold: its own " in "\n".join(report.text())


@at_every_warm_level
def test_no_file_that_a_build_leaves_is_imported_by_the_interpreter(level: Level) -> None:
    folder = folder_of("print('S')\n", later="print('B 666')\n")
    with (folder / "bot.toml").open("a") as manifest:
        manifest.write('build = ["cp later.py ctypes.py", "cp later.py signal.py"]\n')

    answers, _, warm = asked(level, built(folder), 2)

    assert warm and [answer.kind for answer in answers if isinstance(answer, Fault)] == [FaultKind.START] * 2


@only_warm
def test_the_first_questions_seed_is_not_the_seconds_fixtures() -> None:
    bot = built(folder_of("import os\nprint('B', int(os.environ['CROUPIER_SEED']) % 10**9 + 1)\n"))

    async def work() -> list[list[list[Answer]]]:
        from helpers import answers_of as all_answers

        async with opened("cardshark", [bot, bot.with_keys(name="other")]) as pool:
            names = [bot, bot.with_keys(name="other")]
            return [
                all_answers(await pool.play(Job(fixture_of("cardshark", names, 1, path, hands=1))))
                for path in ("a/1", "a/2")
            ]

    first, second = trio.run(work)
    assert first != second


@pytest.mark.long
@only_warm
def test_warm_answers_that_are_not_the_cold_ones_are_refused() -> None:
    submission = load_submission(folder_of("import sys\nprint('S' if 'ctypes' not in sys.modules else 'H')\n"))

    with pytest.raises(UserError) as refused:
        trio.run(prepare_bots, [submission], GAME, AMPLE, WARM[-1])

    assert [problem.code for problem in refused.value.problems] == ["B039"]
    assert refused.value.problems[0].evidence.endswith("\ncold: S 0\nwarm: H 0")
    report, _ = trio.run(check_bot, submission, GAME, WARM[-1], AMPLE)
    assert not report.accepted and report.problems[0].code == "B039"


def test_a_tournament_may_have_all_its_bots_warm_whose_language_has_a_warm_start(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    written("print('S')\n", ".py", tmp_path / "bots", "quick")
    written('(write-line "S")\n', ".lisp", tmp_path / "bots", "lisper")
    written("#!/bin/sh\necho S\n", "", tmp_path / "bots", "other")
    (tmp_path / "croupier.toml").write_text('game = "cardshark"\nbots = ["bots/*"]\n[sandbox]\nwarm = true\n')

    submissions = load(tmp_path).submissions(tmp_path)

    assert {submission.name: submission.spec.warm for submission in submissions} == {
        "quick": True,
        "lisper": False,
        "other": False,
    }


@only_warm
def test_check_says_that_a_bot_is_the_same_warm() -> None:
    report, found = trio.run(check_bot, load_submission(folder_of("print('S')\n")), GAME, WARM[-1], AMPLE)

    assert report.accepted and found.bot and found.bot.warm
    assert "same answers as after a cold start" in "\n".join(report.text())


def test_where_nobody_can_be_kept_from_the_interpreter_each_start_is_cold() -> None:
    for level in {*levels(), detect().level} - set(WARM):
        bot = trio.run(build, load_submission(folder_of("print('S')\n")), level)
        answers, _, warm = asked(level, bot._replace(limits=AMPLE), 2)
        assert (answers, warm) == ([STANDS] * 2, 0)


@pytest.mark.timing
@at_every_warm_level
def test_a_clock_looks_at_the_bot_and_not_at_its_interpreter(level: Level) -> None:
    bot = built(folder_of("import time\n\ntime.sleep(1)\nprint('S')\n"))
    seen = list[tuple[int, int]]()

    async def ask() -> list[Answer]:
        async with (
            running_monitor() as watcher,
            sandboxed(level, Home(Path(bot.folder), warm=True), AMPLE) as sandbox,
            open_seat(bot, GAME, sandbox, 7, watcher) as seat,
            trio.open_nursery() as nursery,
        ):

            async def look() -> None:
                while len(processes := list(descendants(sandbox.pid))) < 2:
                    await trio.sleep(0.01)
                seen.append((answering(sandbox), processes[1].pid))

            await seat.ask(Batch([Question(1, 1, GAME.examples[0])]))
            nursery.start_soon(look)
            answers = await seat.ask(Batch([Question(2, 1, GAME.examples[0])]))
            nursery.cancel_scope.cancel()
            return answers

    assert trio.run(ask) == [STANDS]
    assert seen[0][0] == seen[0][1]
