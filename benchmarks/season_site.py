"""How long the pages of a season take while fifty readers have them open and follow the season.

    python -m benchmarks.season_site [BOTS] [SECONDS]

It writes the documents of a season, starts its site, opens a stream of events for each reader, and publishes again once a
second. Whenever a reader hears of it,
it loads the ladder again within 1.5 s, as the script of the pages
does, and another page. The figure is the time from
request to last byte; the aim is a 95th percentile below 200 ms.
"""

import random
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from season_client import serving_season
from season_published import ladder, plain, publish, season_in, site

READERS = 50
PAGES = ("/rounds", "/bots/mine", "/rules", "/api/ladder", "/rounds/2", "/api/season")


async def got(port: int, path: str) -> float:
    """Return the seconds that an answer took, with a new connection."""
    began = time.perf_counter()
    async with await trio.open_tcp_stream("127.0.0.1", port) as line:
        await line.send_all(
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n".encode()
        )
        first = await line.receive_some(65536)
        assert first.startswith(b"HTTP/1.1 200"), first[:100]
        while await line.receive_some(65536):
            pass
    return time.perf_counter() - began


async def reader(port: int, seconds: float, taken: dict[str, list[float]]) -> None:
    """Follow the season as an open page does."""
    with trio.move_on_after(seconds):
        async with await trio.open_tcp_stream("127.0.0.1", port) as line:
            await line.send_all(b"GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            while text := await line.receive_some(65536):
                if b"event: news" in text:
                    await trio.sleep(1.5 * random.random())  # as the script of the pages does
                    taken["/"].append(await got(port, "/"))
                    path = random.choice(PAGES)
                    taken[path].append(await got(port, path))


async def measured(folder: Path, port: int, bots: int, seconds: float) -> dict[str, list[float]]:
    """Let readers read while the season publishes; return the times by page."""
    taken: dict[str, list[float]] = defaultdict(list)
    async with trio.open_nursery() as nursery:
        for _ in range(READERS):
            nursery.start_soon(reader, port, seconds, taken)
        for nth in range(int(seconds)):
            publish(folder, site(plain, bots, waiting=nth))
            if nth % 5 == 0:
                publish(folder, ladder(plain, bots))
            await trio.sleep(1)
    return taken


def main(bots: int = 50, seconds: float = 30) -> None:
    """Print the times of each page."""
    with tempfile.TemporaryDirectory() as place:
        folder = season_in(Path(place), rows=bots)
        with serving_season(folder) as running:
            taken = trio.run(measured, folder, running.port, bots, seconds)
    taken["all"] = [each for times in taken.values() for each in times]
    for path, times in sorted(taken.items()):
        times.sort()
        half, most = times[len(times) // 2], times[int(len(times) * 0.95)]
        print(f"{path:14} {len(times):6} requests   median {1000 * half:5.0f} ms   p95 {1000 * most:5.0f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
