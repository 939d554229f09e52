"""Measure what bots that ask language models cost the host.

    python benchmarks/models.py exchanges [--count 10000]
    python benchmarks/models.py run [--bots 50] [--workers 25] [--seconds 2] [--lasts 30]

`exchanges` sends requests of 4 KiB through a relay, one after the other, and prints the processor time of the relay for each.

`run` plays a league of sample bots that ask a model for every move; a server answers after some seconds. Once nearly all workers
have a call in flight, it measures for some seconds and stops the league. It prints the processor time of croupier's own processes
(not of the bots and their sandboxes) as a share of all cores, and how many calls were in flight.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

import psutil
import trio

from host.relay.budget import ModelBudget
from host.relay.relay import open_relay
from host.sandbox.limits import ModelAccess

ASKER = Path(__file__).parents[1] / "sample_bots" / "models" / "asker"
SIZE = 4 << 10  # bytes of the text of a request, and of an answer
NEARLY = 0.8  # of all workers have a call in flight: all play, and not only try out the bots before the first table
LOOK_S = 0.5  # between two looks at the processes of a run
HOST = ("host", "host.play.worker")
"""The modules of croupier's own processes."""

CONFIG = """
game = "pazaak"
[[stage]]
kind = "league"
tables = 100
[limits]
move = "5 min"
[models.small]
address = "{address}"
requests = 1000
"""

CLIENT = """
import json, socket, sys
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": "x" * int(sys.argv[3])}]}).encode()
request = b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n%b" % (len(body), body)
for _ in range(int(sys.argv[2])):
    with socket.socket(socket.AF_UNIX) as relay:
        relay.connect(sys.argv[1])
        relay.sendall(request)
        reply = b""
        while part := relay.recv(65536):
            reply += part
    assert reply.startswith(b"HTTP/1.1 200"), reply
"""


class Server(ThreadingHTTPServer):
    """A model that answers each request after some seconds, and counts the calls in flight."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, seconds: float, said: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seconds, self.said = seconds, said
        self.changes = list[tuple[float, int]]()  # when a call began (1) or ended (-1)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Return the address for croupier.toml."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def in_flight(self, began: float, ended: float) -> tuple[float, int, int]:
        """Return the mean and the most of the calls in flight between two moments, and how many calls ended."""
        now = most = calls = 0
        area, last = 0.0, began
        for when, change in [*sorted(self.changes), (ended, 0)]:
            if began <= when <= ended:
                area += now * (when - last)
                calls += change < 0
                most, last = max(most, now + change), when
            now += change
        return area / (ended - began), most, calls


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    wbufsize = -1  # an answer is one write

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.changes.append((time.perf_counter(), 1))
        time.sleep(self.server.seconds)
        self.server.changes.append((time.perf_counter(), -1))
        answer = {"choices": [{"message": {"content": self.server.said}}], "usage": {"total_tokens": 40}}
        reply = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_words: object) -> None:
        """Write nothing."""


class AlwaysAsked:
    """A bot that always has a question."""

    def __init__(self) -> None:
        self._budget = ModelBudget()
        self.model_budget: ModelBudget = self._budget
        self.exchanges = None  # nothing is recorded

    @contextlib.contextmanager
    def calling(self) -> Iterator[bool]:
        yield True

    def request(self, model: ModelAccess) -> str:
        return self._budget.begin(model)

    def stand_still(self, since: float) -> None: ...
    def go_on(self, now: float) -> None: ...
    def give_up(self, reason: str) -> None: ...
    def fail(self, error: Exception) -> None: ...


async def exchanges(count: int, address: str) -> None:
    """Send requests through a relay in this thread, and print its processor time."""
    model = ModelAccess("small", address, "tiny", "", "", 10**9, 0, 1 << 20, 60.0, True)
    with open_relay([model]) as relay, relay.serve(AlwaysAsked()):
        times = []
        for _ in range(10):
            began = time.thread_time()
            await trio.run_process([sys.executable, "-c", CLIENT, str(relay.path), str(count // 10), str(SIZE)])
            times.append((time.thread_time() - began) / (count // 10))
    print(f"{count} exchanges of 4 KiB: {1000 * median(times):.2f} ms of processor time each (median of ten parts)")


def run(bots: int, workers: int, seconds: float, lasts: float) -> None:
    """Play a league of bots that ask a model; print what it costs once all workers play, and stop it."""
    server = Server(seconds, "STAND")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "croupier.toml").write_text(CONFIG.format(address=server.address))
        for nth in range(bots):
            bot = place / "bots" / f"asker{nth:02}"
            shutil.copytree(ASKER, bot)
            (bot / "bot.toml").write_text((bot / "bot.toml").read_text().replace('"asker"', f'"{bot.name}"'))
        command = [sys.executable, "-m", "host", "-C", name, "run", "--workers", str(workers)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while sum(change for _, change in server.changes) < NEARLY * workers:
                assert process.poll() is None, process.returncode
                time.sleep(LOOK_S)
            before, began = host_seconds(process.pid), time.perf_counter()
            time.sleep(lasts)
            after, ended = host_seconds(process.pid), time.perf_counter()
            process.send_signal(signal.SIGINT)
    average, most, calls = server.in_flight(began, ended)
    cores, total = len(os.sched_getaffinity(0)), sum(used - before.get(pid, 0.0) for pid, used in after.items())
    print(f"{bots} bots, {workers} workers, {calls} calls of {seconds:g} s within {ended - began:.0f} s")
    print(f"in flight: {average:.1f} on average, at most {most}")
    print(
        f"host: {total:.1f} s of processor time, {100 * total / (ended - began) / cores:.1f} % of {cores} cores, ",
        end="",
    )
    print(f"{1000 * total / calls:.1f} ms a call")


def host_seconds(pid: int) -> dict[int, float]:
    """Return the processor time of croupier's own processes by PID."""
    used, first = {}, psutil.Process(pid)
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if {*HOST} & {*process.cmdline()}:
                    used[process.pid] = sum(process.cpu_times()[:2])
    return used


def main() -> None:
    """Run one of the two measurements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(dest="what", required=True)
    parts.add_parser("exchanges").add_argument("--count", type=int, default=10_000)
    league = parts.add_parser("run")
    for name, usual in (("bots", 50), ("workers", 25)):
        league.add_argument(f"--{name}", type=int, default=usual)
    for name, length in (("seconds", 2.0), ("lasts", 30.0)):
        league.add_argument(f"--{name}", type=float, default=length)
    words = parser.parse_args()
    if words.what == "exchanges":
        trio.run(partial(exchanges, words.count, Server(0.0, "x" * SIZE).address))
    else:
        run(words.bots, words.workers, words.seconds, words.lasts)


if __name__ == "__main__":
    main()
