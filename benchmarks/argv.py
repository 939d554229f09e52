"""Measure the cost of a sandbox: decisions over argv and lines at every level, compared with no sandbox in the same run.

    python benchmarks/argv.py [--rounds 50] [--hydra 1000] [--flood 60]

The lower bound of a decision is a bare posix_spawn, a read to the end and a wait, of the same program with the same
arguments. All contenders take turns in many short rounds, because machines are shared. Compare the ratios: of the
medians, and of the best rounds, which approximate an idle machine. The bots are what a newcomer writes: the shortest
program that answers. The ping-pong of two C processes (`floors.py`) is printed for comparison with other machines.
"""

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import psutil
import trio
from floors import Floors
from rounds import Measured, duration, shown, table

from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.monitor import running_monitor
from host.bots.seat import BENCHED_AFTER, Seat, open_seat
from host.bots.values import Batch, Question
from host.games import GAMES
from host.sandbox import landlock
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import detect
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.sandbox.process_tree import descendants
from host.submissions.build import build
from host.submissions.languages import LANGUAGES, tool
from protocols.wire import Fault, FaultKind

GAME = GAMES["cardshark"]
QUESTION = GAME.examples[0]
ARGUMENTS = ("21", "KJA", "KQKJA3592A", "25", "145")
LIMITS = Limits(move=10, cpu=10)
A_ROUND = {"c": 10, "python": 2, "java": 1, "lisp": 3}  # decisions
PROMISED = {"c": 1.35, "python": 1.15, "java": 1.15, "lisp": 1.15}  # at L3, relative to the lower bound
LINES = '#include <stdio.h>\nint main(void) { for (int c; (c = getchar()) >= 0;) if (c == 10) puts("S"), fflush(stdout); }\n'
SHORT = 0.02  # seconds: a limit
SILENT = r"""
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    char line[8192];
    if (count == 1 && fgets(line, sizeof line, stdin)) puts("S"), fflush(stdout);
    for (;;) pause();
}
"""
FLOOD = r"""
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (;;) write(2, block, sizeof block), write(2, block, sizeof block), write(1, block, sizeof block);
}
"""
HYDRA = r"""
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (fork() == 0) {
        setsid();
        close(0), close(1), close(2);
        for (;;) {
            usleep(1000);
            if (fork() != 0) _exit(0);
        }
    }
    puts("S");
    return 0;
}
"""

Work = Callable[[], Awaitable[int]]


async def measured(contenders: Mapping[str, Work], rounds: int) -> list[Measured]:
    """Return the durations of all contenders, which take turns round by round."""
    results = [Measured(name, []) for name in contenders]
    for _ in range(rounds):
        for work, result in zip(contenders.values(), results, strict=True):
            started = time.perf_counter()
            decisions = await work()
            result.seconds.append((time.perf_counter() - started) / decisions)
    return results


async def written(text: str, suffix: str, language: str) -> BuiltBot:
    """Build a bot from its source text."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"Hello{suffix}"
        Path(folder, name).write_text(text)
        sources = (name,) if language in ("c", "java") else ()
        submission = Submission(
            BotSpec(name="Hello", language=language, game="cardshark", sources=sources, entry=name),
            Path(folder),
            (name,),
        )
        return await build(submission, detect().level)


def spawned(bot: BuiltBot, times: int) -> Work:
    """Return the lower bound: the same program without a host."""

    async def work() -> int:
        os.chdir(bot.folder)
        for _ in range(times):
            reads, writes = os.pipe()
            actions = [(os.POSIX_SPAWN_DUP2, writes, 1), (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
            pid = os.posix_spawn(bot.argv[0], [*bot.argv, *ARGUMENTS], dict(bot.env), file_actions=actions)
            os.close(writes)
            while os.read(reads, 4096):
                pass
            os.close(reads)
            os.waitpid(pid, 0)
        return times

    return work


def asked(seat: Seat, times: int) -> Work:
    """Return decisions of a seated bot, all that croupier does for one included."""

    async def work() -> int:
        for number in range(times):
            await seat.ask(Batch([Question(number, 1, QUESTION)]))
        assert not seat.faults, seat.evidence
        return times

    return work


async def decisions(levels: Sequence[Level], rounds: int) -> None:
    """Print the cost of a decision by a new process, for each language."""
    for language, times in A_ROUND.items():
        row = LANGUAGES[language]
        if any(tool(program) is None for program in row.programs):
            print(f"{language}: not installed")
            continue
        bot = (
            (await written(row.empty.source, row.suffixes[0], language))
            ._replace(limits=LIMITS)
            .with_keys(protocol="argv")
        )
        async with contextlib.AsyncExitStack() as stack:
            watcher = await stack.enter_async_context(running_monitor())
            contenders = {"bare spawn": spawned(bot, times)}
            for name in levels:
                sandbox = await stack.enter_async_context(sandboxed(name, Home(Path(bot.folder)), LIMITS))
                seat = await stack.enter_async_context(open_seat(bot, GAME, sandbox, 1, watcher))
                contenders[name] = asked(seat, times)
            results = await measured(contenders, rounds)
        print(f"\nA decision by a fresh process, {language} (promised at L3: {PROMISED[language]} times the spawn)")
        print(shown(results))
        print(at_best(results))


def at_best(results: Sequence[Measured]) -> str:
    """Return each contender's best round relative to the first's, and the decisions per second in it."""
    best = [(result.name, min(result.seconds)) for result in results]
    return "at best: " + ", ".join(f"{name} {it / best[0][1]:.2f} ({1 / it:.0f}/s)" for name, it in best)


async def starts(levels: Sequence[Level], rounds: int) -> None:
    """Print the time from creating a sandbox to the first answer, and from the last answer to its end."""
    bot = await written(LANGUAGES["c"].empty.source, ".c", "c")
    rows = []
    for name in levels:
        up, down = [], []
        for _ in range(rounds):
            started = time.perf_counter()
            async with sandboxed(name, Home(Path(bot.folder)), LIMITS) as sandbox:
                await sandbox.keeper.ask([word.encode() for word in bot.argv], {}, LIMITS, 10)
                up.append(time.perf_counter() - started)
                ending = time.perf_counter()
            down.append(time.perf_counter() - ending)
        rows.append((name, duration(median(up)), duration(max(up)), duration(median(down))))
    print("\nA sandbox (promised: the first answer within 15 ms)")
    print(table(("level", "first answer", "at worst", "torn down"), rows))


async def lines(levels: Sequence[Level], rounds: int) -> None:
    """Print the cost of a move over lines, one at a time, by a long-lived bot."""
    bot = (await written(LINES, ".c", "c"))._replace(limits=LIMITS).with_keys(protocol="lines")
    async with contextlib.AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(running_monitor())
        contenders = {}
        for name in (Level.NONE, *levels):
            sandbox = await stack.enter_async_context(sandboxed(name, Home(Path(bot.folder)), LIMITS))
            seat = await stack.enter_async_context(open_seat(bot, GAME, sandbox, 1, watcher))
            contenders[name] = asked(seat, 200)
        results = await measured(contenders, rounds)
    print("\nA move over lines, C (promised: less than 5 µs more than without a sandbox)")
    print(shown(results))
    floor, best = results[0].median, min(results[0].seconds)
    told = [
        f"{r.name} {(r.median - floor) * 1e6:+.1f} (at best {(min(r.seconds) - best) * 1e6:+.1f})" for r in results[1:]
    ]
    print(f"more than without, in µs: {', '.join(told)}")


async def hydra(levels: Sequence[Level], times: int) -> None:
    """Print how many processes remain of a bot whose processes live for a millisecond and fork a successor."""
    bot = await written(HYDRA, ".c", "c")
    rows = []
    for name in levels:
        survivors, took = 0, []
        async with sandboxed(name, Home(Path(bot.folder)), LIMITS) as sandbox:
            for _ in range(times):
                started = time.perf_counter()
                ended = await sandbox.keeper.ask([word.encode() for word in bot.argv], {}, LIMITS, 10)
                took.append(time.perf_counter() - started)
                assert ended.output == b"S\n", ended
                survivors += alive(sandbox)
        rows.append((name, f"{times}", f"{survivors}", duration(median(took)), duration(max(took))))
    print("\nA hydra")
    print(table(("level", "decisions", "survivors", "median", "at worst"), rows))


def alive(sandbox: Sandbox) -> int:
    """Return the number of processes in a sandbox besides its keeper, which adopts all orphans."""
    return sum(1 for _ in descendants(sandbox.pid))


async def deadlines(levels: Sequence[Level], rounds: int) -> None:
    """Print the time from the limit until a silent bot is killed and reaped, and this machine's wake-up latency."""
    rows = [("no bot", "a sleep", *spread([await overslept() for _ in range(4 * rounds)]))]
    silent = await written(SILENT, ".c", "c")
    for name in levels:
        for protocol in ("argv", "lines"):
            late: list[float] = []
            limits = LIMITS._replace(move=SHORT)
            bot = silent._replace(limits=limits).with_keys(protocol=protocol)
            async with running_monitor() as watcher, sandboxed(name, Home(Path(bot.folder)), limits) as sandbox:
                while len(late) < 4 * rounds:
                    async with open_seat(bot, GAME, sandbox, 1, watcher) as seat:
                        while not seat.benched:
                            started = time.perf_counter()
                            (answer,) = await seat.ask(Batch([Question(1, 1, QUESTION)]))
                            if isinstance(answer, Fault):
                                late.append(time.perf_counter() - started - SHORT)
                        assert set(seat.faults) == {FaultKind.TIMEOUT}, seat.faults
            rows.append((name, protocol, *spread(late)))
    print("\nDead and reaped after its limit (promised: 5 ms in 99 of 100 on an idle machine)")
    print(table(("level", "by", "median", "99 of 100", "at worst"), rows))


async def overslept() -> float:
    """Return the wake-up latency of this process after a short sleep."""
    started = time.perf_counter()
    await trio.sleep(SHORT)
    return time.perf_counter() - started - SHORT


def spread(times: Sequence[float]) -> tuple[str, str, str]:
    """Return the median, the 99th percentile and the maximum of some times."""
    ordered = sorted(times)
    return duration(median(ordered)), duration(ordered[len(ordered) * 99 // 100]), duration(ordered[-1])


async def floods(levels: Sequence[Level], seconds: float) -> None:
    """Print the growth of the host's resident memory while eight bots write to both outputs as fast as possible."""
    flood = await written(FLOOD, ".c", "c")
    rows = []
    for name in levels:
        limits = LIMITS._replace(move=0.05, startup=0.001)
        async with contextlib.AsyncExitStack() as stack:
            watcher = await stack.enter_async_context(running_monitor())
            boxes = [
                await stack.enter_async_context(sandboxed(name, Home(Path(flood.folder)), limits)) for _ in range(8)
            ]
            bots = [flood._replace(limits=limits).with_keys(protocol="lines" if at % 2 else "argv") for at in range(8)]
            questions, sizes = 0, []
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                async with contextlib.AsyncExitStack() as sitting:
                    pairs = zip(bots, boxes, strict=True)
                    blocks = [open_seat(bot, GAME, sandbox, 1, watcher) for bot, sandbox in pairs]
                    seats = [await sitting.enter_async_context(block) for block in blocks]
                    async with trio.open_nursery() as nursery:
                        for seat in seats:
                            nursery.start_soon(asked_often, seat, BENCHED_AFTER - 1)
                questions += 8 * (BENCHED_AFTER - 1)
                sizes.append(psutil.Process().memory_info().rss)
            half = len(sizes) // 2
            told = [f"{size / (1 << 20):.1f} MiB" for size in (sizes[0], max(sizes[: half + 1]), max(sizes[half:]))]
            grown = (max(sizes[half:]) - max(sizes[: half + 1])) / (1 << 20)
            rows.append((name, f"{questions}", *told, f"{grown:+.1f} MiB"))
    print(f"\nEight bots flood for {duration(seconds)} (promised: the host's memory stays flat)")
    print(table(("level", "questions", "after the first", "most by half time", "most since", "grown"), rows))


async def asked_often(seat: Seat, times: int) -> None:
    """Ask a seat many times, and ignore its answers."""
    for number in range(1, times + 1):
        await seat.ask(Batch([Question(number, 1, QUESTION)]))


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--hydra", type=int, default=1000, help="decisions")
    parser.add_argument("--flood", type=float, default=60, help="seconds")
    parser.add_argument("--only", choices=["decisions", "starts", "lines", "deadlines", "floods", "hydra"])
    given = parser.parse_args()
    level = [Level.L2] if landlock.version() >= landlock.WANTED else []
    level += [name for name in (Level.L3, Level.L4) if detect().level >= name]
    print(f"levels here: {', '.join(level)} · load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        floors = Floors(Path(folder))
        for _ in range(5):
            floors.measure()
    print(floors.text(), flush=True)
    parts = {
        "decisions": lambda: decisions(level, given.rounds),
        "starts": lambda: starts(level, given.rounds),
        "lines": lambda: lines(level, given.rounds),
        "deadlines": lambda: deadlines(level, given.rounds),
        "floods": lambda: floods(level[-1:], given.flood),
        "hydra": lambda: hydra(level, given.hydra),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            await part()


if __name__ == "__main__":
    trio.run(main)
