"""What spectators cost a tournament: games a second with and without 50 of them on `croupier serve`, interleaved.

    python benchmarks/serve.py [--rounds 3] [--seconds 20] [--clients 50]

A Pazaak league is played by `croupier run`, once watched and once not, in turns. Each spectator holds a stream of news
open and fetches the page anew whenever it is told that something is new, as a browser does. Target: less than 5 % lost.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import trio

SAMPLES = Path(__file__).parents[1] / "sample_bots" / "pazaak"
BOTS = 24  # copies of a quick bot: enough pairs for a minute
TABLES = 1_000  # of a pair, which is one fixture
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


async def spectator(port: int, told: list[int]) -> None:
    """Listen to the news, and fetch the page at each; count news, pages and bytes."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(f"GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
        while chunk := await stream.receive_some(65536):
            if b"event: news" in chunk:
                told[0] += 1
                told[1] += await fetched(port)


async def fetched(port: int) -> int:
    """Fetch the page; return its bytes."""
    total = 0
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        ask = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n"
        await stream.send_all(ask.encode())
        while chunk := await stream.receive_some(65536):
            total += len(chunk)
    return total


async def watched(port: int, clients: int, seconds: float, told: list[int]) -> None:
    """Let so many watch for so long."""
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for _ in range(clients):
                nursery.start_soon(spectator, port, told)


def played(folder: Path, workers: int, seconds: float, clients: int) -> tuple[float, list[int]]:
    """Play for so long, from the first fixture on; return games a second, and what spectators got."""
    (source,) = (SAMPLES / "dumb_bold").glob("*.c")
    (folder / "bots").mkdir(exist_ok=True)
    for number in range(BOTS):
        (folder / "bots" / f"bot{number}.c").write_bytes(source.read_bytes())
    (folder / "croupier.toml").write_text(CONFIG.format(tables=TABLES, workers=workers))
    croupier, told = [sys.executable, "-m", "host", "-C", str(folder)], [0, 0]
    journal = folder / "run" / "run.sqlite"
    with subprocess.Popen([*croupier, "run", "--fresh", "--progress", "none"], stdout=subprocess.DEVNULL) as run:
        try:
            while len(ends(journal)) < 1:
                time.sleep(0.2)
            if clients:
                serve = [*croupier, "--json", "serve", "--bind", "127.0.0.1:0"]
                with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
                    assert server.stdout is not None
                    port = int(json.loads(server.stdout.readline())["url"].rsplit(":", 1)[1].strip("/"))
                    started = time.time()
                    trio.run(watched, port, clients, seconds, told)
                    server.terminate()
            else:
                started = time.time()
                time.sleep(seconds)
            within = [at for at in ends(journal) if started < at < started + seconds]
        finally:
            run.kill()
    if len(within) < 5:
        raise SystemExit(
            f"only {len(within)} fixtures ended in {seconds:.0f} s: the machine is too busy to measure anything"
        )
    return TABLES * (len(within) - 1) / (within[-1] - within[0]), told


def ends(journal: Path) -> list[float]:
    """Return when each fixture was journalled."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        return [at for (at,) in database.execute("SELECT at FROM fixture ORDER BY at")]


def main() -> None:
    """Play in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    asked = parser.parse_args()
    alone, seen, lost = [], [], []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            alone.append(played(Path(folder), asked.workers, asked.seconds, 0)[0])
            rate, (news, size) = played(Path(folder), asked.workers, asked.seconds, asked.clients)
        seen.append(rate)
        lost.append(1 - rate / alone[-1])
        print(
            f"alone {alone[-1]:9,.0f} games/s   watched by {asked.clients} {rate:9,.0f}   lost {100 * lost[-1]:5.1f} %"
            f"   {news} news, {size / 1e6:.1f} MB of pages   load {os.getloadavg()[0]:.1f}"
        )
    print(f"median {median(alone):,.0f} and {median(seen):,.0f} games/s; median loss {100 * median(lost):.1f} %")


if __name__ == "__main__":
    main()
