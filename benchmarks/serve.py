"""Measure the cost of spectators: games per second of a tournament with and without them on `croupier serve`, in turns.

    python benchmarks/serve.py [--pairs 50] [--seconds 5] [--clients 50] [--hammered]

A Pazaak league is played continuously with one worker per core. Short turns follow each other: unwatched, watched,
watched, unwatched, unwatched … so that a drift affects both kinds equally. In an unwatched turn, serve is stopped (SIGSTOP)
and its spectators wait with open connections. A watched turn begins with an overdue page, so there are more pages than in
a run that is always watched. wrk keeps one stream of notifications open for each spectator; after each notification, ab
fetches the page for all of them, like their browsers. With --hammered, wrk also fetches the page as often as possible.

Each watched turn is compared with the adjacent unwatched one. The result is the median of these pairs with a 95 % interval
(by signed ranks). The lower bound compares turns of the same kind in the same way: it is the machine's noise. The loss
includes the CPU time of the load tools, which run with the lowest priority; real spectators use machines of their own. A
loss below 5 % is established if the interval ends below it.

Needs the programs wrk and ab: apt install wrk apache2-utils.
"""

import argparse
import contextlib
import json
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import combinations_with_replacement, pairwise
from math import sqrt
from pathlib import Path
from statistics import NormalDist, median
from typing import NamedTuple

import psutil
import trio
from rounds import duration, table

SAMPLES = Path(__file__).parents[1] / "sample_bots" / "pazaak"
BOTS = 70  # copies of a fast bot: more pairs than all turns together can play
TABLES = 4000  # per pair; a pair is one fixture and takes less than a second
TARGET = 0.05  # share of its games per second
SURE = 0.95
FEWEST = 10  # pairs; with fewer, the ranks are not approximately normal
PATIENCE = 120.0  # seconds for something that takes one second on an idle machine
TOOLS = {"wrk": "wrk", "ab": "apache2-utils"}
CONFIG = f"""\
game = "pazaak"
name = "Watched"
bots = ["bots/*"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {TABLES}
"""


class Turn(NamedTuple):
    """Start and end of a turn in seconds since 1970, and the CPU seconds used in it."""

    watched: bool
    began: float
    ended: float
    playing: float
    serving: float
    watching: float

    @property
    def seconds(self) -> float:
        """Return the length of the turn."""
        return self.ended - self.began


class Told(NamedTuple):
    """The median of pairs of turns, and its interval."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.middle:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


class Crowd:
    """Spectators, and what they have received."""

    def __init__(self, port: int, clients: int, hammering: bool) -> None:
        self.port, self.clients, self.hammering = port, clients, hammering
        self.news = self.pages = 0
        self.seen = trio.Event()
        self.fetching = trio.Lock()  # held while serve is stopped, because an interrupted page would never arrive

    async def watch(self) -> None:
        """Watch until cancelled."""
        for_good = "-d24h"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tool, "/api/events", "wrk", "-t1", f"-c{self.clients}", for_good)
            if self.hammering:
                nursery.start_soon(self._tool, "/", "wrk", "-t1", "-c10", for_good)
            await self._browsers()

    async def _browsers(self) -> None:
        """Fetch the page for all spectators after each notification."""
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            await stream.send_all(f"GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            while chunk := await stream.receive_some(65536):
                if b"event: news" in chunk:
                    self.news += self.clients
                    async with self.fetching:
                        told = await self._tool("/", "ab", "-q", "-r", f"-s{PATIENCE:.0f}", f"-n{self.clients}", "-c10")
                    self.pages += int(re.findall(r"Complete requests: +(\d+)", told)[0])
                    self.seen.set()

    async def _tool(self, path: str, *command: str) -> str:
        """Run wrk or ab; return its output."""
        whole = [*command, "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{self.port}{path}"]
        return (await trio.run_process(whole, capture_stdout=True, capture_stderr=True)).stdout.decode()


@contextmanager
def running(command: Sequence[str], **how: int) -> Iterator["subprocess.Popen[str]"]:
    """Run a process until the block ends; kill it even if it ignores SIGTERM or is stopped."""
    with subprocess.Popen(command, text=True, **how) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def ends(journal: Path) -> list[float]:
    """Return the time at which each fixture was journalled."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as database:
        return [at for (at,) in database.execute("SELECT at FROM fixture ORDER BY at")]


def league(folder: Path) -> list[str]:
    """Create a league; return the command that plays it."""
    for number in range(BOTS):
        bot = folder / "bots" / f"bot{number}"
        shutil.copytree(SAMPLES / "dumb_bold", bot)
        manifest = (bot / "bot.toml").read_text()
        (bot / "bot.toml").write_text(re.sub("(?m)^name .*", f'name = "bot{number}"', manifest))
    (folder / "croupier.toml").write_text(CONFIG)
    return [sys.executable, "-m", "host", "-C", str(folder), "run", "--progress", "none"]


def computed(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of all its descendants, including those that have ended."""
    spent = 0.0
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            spent += sum(each.cpu_times()[:4])
    return spent


async def turns(
    run: "subprocess.Popen[str]", server: "subprocess.Popen[str]", crowd: Crowd, asked: argparse.Namespace
) -> list[Turn]:
    """Play the turns: ABBA, ABBA …"""
    played, served, us = psutil.Process(run.pid), psutil.Process(server.pid), psutil.Process()

    def spent() -> tuple[float, float, float]:
        serving, here = sum(served.cpu_times()[:2]), sum(us.cpu_times()[:4])  # includes ended processes
        tools = sum(computed(each) for each in us.children() if each.pid not in (run.pid, server.pid))
        return computed(played), serving, here + tools

    found, stopped = list[Turn](), False
    for nth in range(2 * asked.pairs):
        watched = nth % 4 in (1, 2)
        if watched and stopped:
            server.send_signal(signal.SIGCONT)
            crowd.fetching.release()
        elif not (watched or stopped):
            await crowd.fetching.acquire()
            server.send_signal(signal.SIGSTOP)
        stopped = not watched
        before, began = spent(), time.time()
        await trio.sleep(asked.seconds)
        after, ended = spent(), time.time()
        found.append(Turn(watched, began, ended, *(late - soon for soon, late in zip(before, after, strict=True))))
        if run.poll() is not None:
            raise SystemExit("the league was over before the turns were: fewer pairs, or shorter turns")
    return found


async def watched(run: "subprocess.Popen[str]", journal: Path, asked: argparse.Namespace) -> tuple[list[Turn], Crowd]:
    """Play the turns with spectators that are connected before the first one."""
    serve = [sys.executable, "-m", "host", "--json", "serve", "--journal", str(journal), "--bind", "127.0.0.1:0"]
    with running(serve, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        if not select.select([server.stdout], [], [], PATIENCE)[0] or not (line := server.stdout.readline()):
            raise SystemExit("serve did not start")
        port = int(json.loads(line)["url"].rsplit(":", 1)[1].strip("/"))
        crowd = Crowd(port, asked.clients, asked.hammered)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crowd.watch)
            with trio.fail_after(PATIENCE):
                await crowd.seen.wait()
            crowd.news = crowd.pages = 0
            found = await turns(run, server, crowd, asked)
            nursery.cancel_scope.cancel()
    return found, crowd


def played(folder: Path, asked: argparse.Namespace) -> tuple[list[Turn], Crowd, list[float]]:
    """Play the league; return the turns, the spectators, and the end of each fixture."""
    journal = folder / "run" / "run.sqlite"
    with running(league(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        until = time.monotonic() + PATIENCE
        while not ends(journal):
            if run.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the league did not begin: {run.stderr.read() if run.poll() is not None else ''}")
            time.sleep(0.2)
        found, crowd = trio.run(watched, run, journal, asked)
        until = time.monotonic() + PATIENCE
        while (at := ends(journal))[-1] < found[-1].ended:  # fixtures in progress when the last turn ended
            if time.monotonic() > until:
                raise SystemExit("the league stands still: the machine is too busy")
            time.sleep(0.2)
    return found, crowd, at


def games(turn: Turn, at: Sequence[float]) -> float:
    """Return the games of a turn. A fixture that spans two turns is divided between them."""

    def until(when: float) -> float:
        nth = bisect_right(at, when)
        if not 0 < nth < len(at):
            raise SystemExit("a turn lies outside the league")
        return nth + (when - at[nth - 1]) / (at[nth] - at[nth - 1])

    return TABLES * (until(turn.ended) - until(turn.began))


def sure(values: Sequence[float]) -> Told:
    """Return the median of values and its 95 % interval (Hodges and Lehmann).

    Valid for any symmetric distribution; outliers have little effect.
    """
    means = sorted((one + two) / 2 for one, two in combinations_with_replacement(values, 2))
    count = len(values)
    far = NormalDist().inv_cdf((1 + SURE) / 2) * sqrt(count * (count + 1) * (2 * count + 1) / 24)
    outside = int(len(means) / 2 - far)  # by the signed ranks of Wilcoxon
    return Told(median(means), means[outside], means[-1 - outside])


def compared(found: Sequence[Turn], of: Callable[[Turn], float]) -> tuple[Told, Told]:
    """Return the difference between watched turns and adjacent unwatched ones, and the lower bound."""

    def more(one: Turn, two: Turn) -> float:
        return of(two) / of(one) - 1

    neighbours = list(pairwise(found))  # ABBA: the first, third … pairs have two kinds, the others one
    differ = [more(*sorted(pair, key=lambda turn: turn.watched)) for pair in neighbours[::2]]
    alike = [more(*(pair if nth % 2 else reversed(pair))) for nth, pair in enumerate(neighbours[1::2])]
    return sure(differ), sure(alike)


def main() -> None:
    """Play in turns and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50, help="of turns, one watched and one unwatched")
    parser.add_argument("--seconds", type=float, default=5, help="of a turn")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--hammered", action="store_true")
    asked = parser.parse_args()
    if asked.pairs < FEWEST:
        raise SystemExit(f"fewer than {FEWEST} pairs cannot say anything")
    if missing := [package for tool, package in TOOLS.items() if shutil.which(tool) is None]:
        raise SystemExit(f"this needs load tools of the machine: apt install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        found, crowd, at = played(Path(folder), asked)
    played_in = {turn: games(turn, at) for turn in found}

    def rate(turn: Turn) -> float:
        return played_in[turn] / turn.seconds

    def dear(turn: Turn) -> float:
        return turn.playing / played_in[turn]

    kinds = [[turn for turn in found if turn.watched is watched] for watched in (False, True)]
    rows = [
        (name, *(told(median(map(of, some))) for some in kinds), *map(str, compared(found, of)))
        for name, of, told in (("games a second", rate, "{:,.0f}".format), ("processor time of a game", dear, duration))
    ]
    print(table(("", "unwatched", "watched", "differs (95 %)", "floor: like against like"), rows))
    cores, seconds = len(os.sched_getaffinity(0)), sum(turn.seconds for turn in kinds[1])
    for who, spent in (
        ("serve", sum(turn.serving for turn in kinds[1])),
        ("its spectators", sum(turn.watching for turn in kinds[1])),
    ):
        share = 100 * spent / seconds
        print(f"{who} computed {share:.1f} % of one core, which is {share / cores:.1f} % of this machine's {cores}")
    print(
        f"{asked.clients} spectators got {crowd.news:,} news and fetched {crowd.pages:,} pages in {seconds:.0f} s; "
        f"{asked.pairs} pairs of turns of {asked.seconds:g} s, load {os.getloadavg()[0]:.1f}"
    )
    worst = -compared(found, rate)[0].low
    print(
        f"{'shown' if worst < TARGET else 'not shown'}: spectators cost less than {100 * TARGET:.0f} % of a tournament's games "
        f"a second; the interval ends at {100 * worst:.1f} % lost"
    )


if __name__ == "__main__":
    main()
