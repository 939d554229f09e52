"""Measure how long the page of a spectator takes while others ask `croupier serve` for all events of a tournament.

    python benchmarks/readers.py [--readers 30] [--tables 4000] [--rounds 20]

A finished Pazaak league is served. In each round, a spectator fetches the page and one table; first alone, then while each
of the readers has an open request for all events. Every second reader takes all that it gets; the others stop reading, as
a hanging client does. The bound is one second for the page and its table, by the median, because machines are shared.
"""

import argparse
import contextlib
import json
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from rounds import duration, table

SAMPLES = Path(__file__).parents[1] / "sample_bots" / "pazaak"
BOTS = ("dumb_bold", "dumb_cautious")
PATIENCE = 120.0  # seconds for something that takes one second on an idle machine
BOUND = 1.0  # seconds
CROUPIER = (sys.executable, "-m", "host")
CONFIG = """\
game = "pazaak"
name = "Read"
bots = ["bots/*"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
"""


def played(folder: Path, tables: int) -> None:
    """Play a league of two bots."""
    for bot in BOTS:
        shutil.copytree(SAMPLES / bot, folder / "bots" / bot)
    (folder / "croupier.toml").write_text(CONFIG.format(tables=tables))
    subprocess.run([*CROUPIER, "-C", str(folder), "run", "--progress", "none"], check=True, stdout=subprocess.DEVNULL)


def seconds(port: int, rounds: int) -> list[float]:
    """Return how long the page and one table take together, in each round."""
    found = []
    for nth in range(1, rounds + 1):
        began = time.perf_counter()
        for path in ("/", f"/api/replay?table=league%2F{BOTS[0]}%2B{BOTS[1]}%2F{nth}"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
                answer.read()
        found.append(time.perf_counter() - began)
    return found


@contextlib.contextmanager
def reading(port: int, readers: int) -> Iterator[None]:
    """Ask for all events with some clients until the block ends. Every second one reads them, again and again."""

    def read(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while client.recv(1 << 16):
                pass

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(readers)]
        for client in clients:
            client.sendall(f"GET /api/events.ndjson HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
        clients[0].recv(1)
        for client in clients[::2]:
            threading.Thread(target=read, args=(client,), daemon=True).start()
        yield
        for client in clients:
            client.shutdown(socket.SHUT_RDWR)


def main() -> int:
    """Play, serve, measure and print. Return 1 if the median is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--tables", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        played(folder, asked.tables)
        serve = [*CROUPIER, "--json", "-C", str(folder), "serve", "--bind", "127.0.0.1:0"]
        with subprocess.Popen(serve, text=True, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            try:
                if not select.select([server.stdout], [], [], PATIENCE)[0]:
                    raise SystemExit("serve did not start")
                port = int(json.loads(server.stdout.readline())["url"].rsplit(":", 1)[1].strip("/"))
                seconds(port, 1)  # the first one opens the journal
                alone = seconds(port, asked.rounds)
                with reading(port, asked.readers):
                    crowded = seconds(port, asked.rounds)
            finally:
                server.terminate()

    def row(name: str, times: Sequence[float]) -> tuple[str, str, str]:
        return name, duration(median(times)), duration(max(times))

    rows = [row("alone", alone), row(f"beside {asked.readers} readers of all events", crowded)]
    print(table(("the page and one table", "median", "at worst"), rows))
    print(f"{'within' if median(crowded) <= BOUND else 'above'} the bound of {duration(BOUND)}")
    return int(median(crowded) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
