"""What spectators cost a tournament: its games a second with and without them on `croupier serve`, beside the noise.

    python benchmarks/serve.py [--rounds 3] [--seconds 20] [--clients 50]

One Pazaak league is played all the time, and turns follow each other: unwatched, watched, unwatched, hammered, unwatched …
Each spectator holds a stream of news open and fetches the page at each, as a browser does; ab opens the page for as many
newcomers every few seconds. A hammered turn has wrk besides, which fetches the page as often as it is given. Each is held against
the unwatched turns before and after it; how far those lie apart is the floor, and a loss below it says nothing. Target:
watched, less than 5 % lost. Spectators are as nice as can be: they would sit at machines of their own.

wrk and ab are programs of the machine: apt install wrk apache2-utils.
"""

import argparse
import json
import os
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import trio
from rounds import table

SAMPLES = Path(__file__).parents[1] / "sample_bots" / "pazaak"
BOTS = 48  # copies of a quick bot: more pairs than all turns together can play
TABLES = 200  # of a pair, which is one fixture, for each worker
NEWCOMERS = 5.0  # seconds from one crowd of them to the next
PATIENCE = 120.0  # seconds for what takes one on a quiet machine
TOOLS = {"wrk": "wrk", "ab": "apache2-utils"}
CONFIG = """\
game = "pazaak"
name = "Watched"
bots = ["bots/*"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
[run]
workers = {workers}
"""


class Turn(NamedTuple):
    """What was played in one turn, and what watching it took and gave."""

    kind: str  # unwatched, watched or hammered
    rate: float  # games a second
    share: float = 0.0  # of one core, used by serve
    news: int = 0
    pages: int = 0


class Crowd:
    """Spectators, and what they got."""

    def __init__(self, port: int, clients: int) -> None:
        self.port, self.clients = port, clients
        self.news = self.pages = 0

    async def watch(self, seconds: float, hammering: bool) -> None:
        """Watch for so long."""
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for _ in range(self.clients):
                    nursery.start_soon(self._spectator)
                nursery.start_soon(self._newcomers)
                if hammering:
                    nursery.start_soon(self._tool, "wrk", "-t1", "-c10", f"-d{max(1, int(seconds) - 2)}s")

    async def _spectator(self) -> None:
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            await stream.send_all(f"GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            while chunk := await stream.receive_some(65536):
                if b"event: news" in chunk:
                    self.news += 1
                    await self._page()

    async def _page(self) -> None:
        head = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n"
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            await stream.send_all(head.encode())
            while await stream.receive_some(65536):
                pass
        self.pages += 1

    async def _newcomers(self) -> None:
        while True:
            await self._tool("ab", "-q", "-s", f"{PATIENCE:.0f}", "-n", str(self.clients), "-c", "10")
            await trio.sleep(NEWCOMERS)

    async def _tool(self, *command: str) -> None:
        """Let wrk or ab fetch pages, and count them as it says itself."""
        whole = [*command, "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{self.port}/"]
        told = (await trio.run_process(whole, capture_stdout=True, capture_stderr=True)).stdout.decode()
        (count,) = re.findall(r"Complete requests: +(\d+)|(\d+) requests in", told)
        self.pages += int("".join(count))


@contextmanager
def running(command: Sequence[str], **how: int) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that does not outlive the block, whatever it thinks of SIGTERM."""
    with subprocess.Popen(command, text=True, **how) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def unwatched(journal: Path, seconds: float) -> Turn:
    """Let the tournament be for so long."""
    started = time.time()
    time.sleep(seconds)
    return Turn("unwatched", rate(journal, started, seconds))


def watched(kind: str, journal: Path, seconds: float, clients: int) -> Turn:
    """Watch the tournament for so long, by a server of its own."""
    serve = [sys.executable, "-m", "host", "--json", "serve", "--journal", str(journal), "--bind", "127.0.0.1:0"]
    with running(serve, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        if not select.select([server.stdout], [], [], PATIENCE)[0] or not (line := server.stdout.readline()):
            raise SystemExit("serve did not start")
        crowd = Crowd(int(json.loads(line)["url"].rsplit(":", 1)[1].strip("/")), clients)
        trio.run(crowd.watch, 2.0, False)  # it has made its first page, and has been found
        crowd.news = crowd.pages = 0
        process = psutil.Process(server.pid)
        before, started, clock = process.cpu_times(), time.time(), time.monotonic()
        trio.run(crowd.watch, seconds, kind == "hammered")
        after, took = process.cpu_times(), time.monotonic() - clock
    used = after.user + after.system - before.user - before.system
    return Turn(kind, rate(journal, started, seconds), used / took, crowd.news, crowd.pages)


def rate(journal: Path, started: float, seconds: float) -> float:
    """Return the games a second of a turn for each worker, from the first fixture that ended in it to the last."""
    within = [at for at in ends(journal) if started < at < started + seconds]
    if len(within) < 5:
        raise SystemExit(f"only {len(within)} fixtures ended in a turn: it is too short, or the machine too busy")
    return TABLES * (len(within) - 1) / (within[-1] - within[0])


def ends(journal: Path) -> list[float]:
    """Return when each fixture was journalled."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as database:
        return [at for (at,) in database.execute("SELECT at FROM fixture ORDER BY at")]


def league(folder: Path, workers: int) -> list[str]:
    """Make a league; return the command that plays it."""
    (source,) = (SAMPLES / "dumb_bold").glob("*.c")
    (folder / "bots").mkdir()
    for number in range(BOTS):
        (folder / "bots" / f"bot{number}.c").write_bytes(source.read_bytes())
    (folder / "croupier.toml").write_text(CONFIG.format(tables=TABLES * workers, workers=workers))
    return [sys.executable, "-m", "host", "-C", str(folder), "run", "--progress", "none"]


def played(folder: Path, asked: argparse.Namespace) -> list[Turn]:
    """Play the turns, an unwatched one before and after each other."""
    journal, turns = folder / "run" / "run.sqlite", list[Turn]()
    with running(league(folder, asked.workers), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        until = time.monotonic() + PATIENCE
        while not ends(journal):
            if run.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the league did not begin: {run.stderr.read() if run.poll() is not None else ''}")
            time.sleep(0.2)
        turns.append(unwatched(journal, asked.seconds))
        for _ in range(asked.rounds):
            for kind in ("watched", "hammered"):
                turns.append(watched(kind, journal, asked.seconds, asked.clients))
                turns.append(unwatched(journal, asked.seconds))
        if run.poll() is not None:
            raise SystemExit("the league was over before the turns were: fewer rounds, or shorter ones")
    return turns


def lost(turns: Sequence[Turn], kind: str) -> list[float]:
    """Return what each turn of a kind lost against the unwatched turns around it."""
    around = zip(turns, turns[1:], turns[2:], strict=False)
    return [1 - 2 * turn.rate / (before.rate + after.rate) for before, turn, after in around if turn.kind == kind]


def main() -> None:
    """Play in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    asked = parser.parse_args()
    if missing := [package for tool, package in TOOLS.items() if shutil.which(tool) is None]:
        raise SystemExit(f"this needs load tools of the machine: apt install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        turns = played(Path(folder), asked)
    rows = []
    for kind in ("unwatched", "watched", "hammered"):
        some = [turn for turn in turns if turn.kind == kind]
        losses = lost(turns, kind) if kind != "unwatched" else []
        rates = [asked.workers * turn.rate for turn in some]
        rows.append(
            (
                kind,
                f"{median(rates):,.0f}",
                f"{min(rates):,.0f} – {max(rates):,.0f}",
                f"{100 * median(losses):.1f} %" if losses else "",
                f"{100 * median(turn.share for turn in some):.1f} %",
                f"{median(turn.news for turn in some):.0f}",
                f"{median(turn.pages for turn in some):.0f}",
            )
        )
    print(table(("", "games/s", "of all turns", "lost", "serve, of a core", "news", "pages"), rows))
    alone = [turn.rate for turn in turns if turn.kind == "unwatched"]
    floor = median(abs(two - one) / max(one, two) for one, two in pairwise(alone))
    print(
        f"\nfloor: two unwatched turns lie {100 * floor:.1f} % apart in the median; {asked.clients} spectators, "
        f"{asked.rounds} rounds of {asked.seconds:g} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
