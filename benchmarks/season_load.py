"""Measure a season under load: authors hand in bots by HTTP, and people read its pages, while the ladder plays.

    python benchmarks/season_load.py [--authors 50] [--readers 50] [--submissions 6] [--minutes 3] [--practice 200] [--budget 20]

First every author hands in a bot, and a ladder plays for a minute without submissions and readers. Then authors hand in
`--submissions` bots a minute: half of them Python, a quarter C and C++, a quarter Java; and each reader opens a page every
two seconds. Prints the median and the 95th percentile of the time from the upload to the verdict and of the pages, the time
between the end of a round and the first table of the next one, the tables a second of the ladder with and without all this,
and the bytes of a round's journal with its answers and without them.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Collection
from pathlib import Path
from statistics import median

from host.journal.writer import writing
from host.season.entries.inbox import Invite, write_request

ROOT = Path(__file__).parents[1]
CONFIG = """\
game = "pazaak"
[season]
round_every = "1 s"
budget = "{budget} s"
references = ["sample:dumb_bold"]
practice = {practice}
[season.per_author]
queue = 100
per_hour = 1000
cpu_minutes = 1000
"""
PYTHON = "import sys\nfor line in sys.stdin:\n    print('{answer}', flush=True)  # {note}\n"
C = """\
#include <stdio.h>
int main(void) {{ char l[4096]; while (fgets(l, 4096, stdin)) {{ puts("{answer}"); fflush(stdout); }} }} /* {note} */
"""
CPP = """\
#include <iostream>
#include <string>
int main() {{ std::string l; while (std::getline(std::cin, l)) std::cout << "{answer}" << std::endl; }} // {note}
"""
JAVA = """\
import java.util.Scanner; // {note}
public class Bot {{ public static void main(String[] w) {{
    Scanner in = new Scanner(System.in); while (in.hasNextLine()) {{ in.nextLine(); System.out.println("{answer}"); }} }} }}
"""
MIX = (("bot.py", PYTHON), ("bot.c", C), ("bot.py", PYTHON), ("Bot.java", JAVA), ("bot.py", PYTHON), ("bot.cpp", CPP),
       ("bot.py", PYTHON), ("Bot.java", JAVA))  # fmt: skip
"""Half Python, a quarter Java, a quarter C and C++."""

PAGES = ("/", "/rounds", "/rules", "/submit")
READING_S = 2.0  # from one page of a reader to the next

FLUSH_S = 60.0
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


class Load:
    """A season in a temporary folder, with its process."""

    def __init__(self, folder: Path, budget: int, practice: int) -> None:
        self.folder, self.log, self.handed = folder, folder / "log", dict[str, float]()
        (folder / "croupier.toml").write_text(CONFIG.format(budget=budget, practice=practice))
        (folder / "inbox").mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{probe.getsockname()[1]}"
        self._url, self._opener = f"http://{where}", urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.pages = list[float]()
        command = [sys.executable, "-P", "-m", "host", "-C", str(folder), "--json", "season", "open", "--bind", where]
        self.process = subprocess.Popen(
            command, stdout=self.log.open("wb"), env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True
        )

    def events(self, kind: str) -> list[dict[str, str]]:
        """Return the events of a kind."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if line.get("kind") == kind]

    def invite(self, authors: int) -> None:
        """Invite authors, and wait until the site knows them. The secret of a link is the author's name."""
        for number in range(authors):
            author = f"author{number}"
            write_request(self.folder / "inbox", Invite(author, hashlib.sha256(author.encode()).hexdigest()))
        while not (self.folder / "published" / "site.sqlite").exists():
            time.sleep(0.1)
        while not self._answers():
            time.sleep(0.1)

    def submit(self, number: int, author: str, bot: str) -> None:
        """Hand in a bot of the mix."""
        file, source = MIX[number % len(MIX)]
        content = source.format(answer="END" if number % 3 else "STAND", note=f"{author} {number}").encode()
        self.put(author, bot, file, content)

    def put(self, author: str, bot: str, file: str, content: bytes) -> None:
        """Hand in a file."""
        self.handed[f"{author}/{bot}"] = time.time()
        url, own = f"{self._url}/api/bots/{bot}?file={file}", {"Authorization": f"Bearer {author}"}
        with self._opener.open(urllib.request.Request(url, content, own, method="PUT"), timeout=60) as answer:
            answer.read()

    def read(self, readers: int) -> None:
        """Let people read pages until the end."""
        for number in range(readers):
            threading.Thread(target=self._read, args=[number / readers], daemon=True).start()

    def _read(self, part: float) -> None:
        time.sleep(READING_S * part)
        for number in range(1_000_000):
            began = time.perf_counter()
            try:
                with self._opener.open(self._url + PAGES[number % len(PAGES)], timeout=60) as answer:
                    answer.read()
            except OSError:
                return  # the season has ended
            self.pages.append(time.perf_counter() - began)
            time.sleep(READING_S)

    def _answers(self) -> bool:
        request = urllib.request.Request(self._url + "/api/mine", headers={"Authorization": "Bearer author0"})
        try:
            with self._opener.open(request, timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def verdicts(self) -> dict[str, float]:
        """Return the seconds from request to verdict, by author and bot."""
        done = {each["subject"].rpartition("-")[0]: float(each["at"]) for each in self.events("accepted")}
        return {name: at - self.handed[name] for name, at in done.items() if name in self.handed}

    def played_seconds(self, rounds: Collection[str]) -> list[float]:
        """Return the seconds that the tables of some rounds have taken, without the start of their bots, as the log says them."""
        ends = [each for each in self.events("round") if each["subject"] in rounds and "is over" in each["text"]]
        found = [re.search(r" in ([\d.]+) (\S+), ready after ([\d.]+) (\S+),", each["text"]) for each in ends]
        return [float(each[1]) * SECONDS[each[2]] - float(each[3]) * SECONDS[each[4]] for each in found if each]

    def end(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def tables_between(load: Load, start: float, end: float) -> float:
    """Return the tables a second of the rounds that ended between two times."""
    tables = 0
    for each in load.events("round"):
        if "is over" in each["text"] and start <= float(each["at"]) <= end:
            tables += int(each["text"].split(":")[1].split(" table")[0].replace("\u202f", ""))
    return tables / (end - start)


def gaps(load: Load) -> list[float]:
    """Return the seconds from the end of each round to the beginning of the next one."""
    found, ended = [], 0.0
    for each in load.events("round"):
        at = float(each["at"])
        if "begins" in each["text"] and ended:
            found.append(at - ended)
        ended = at if "is over" in each["text"] else 0.0
    return found


def first_tables(load: Load) -> list[float]:
    """Return the seconds from the beginning of each round until its bots are ready, as the log says them."""
    said = [re.search(r"ready after ([\d.]+) (\S+),", each["text"]) for each in load.events("round")]
    return [float(each[1]) * SECONDS[each[2]] for each in said if each]


def percentile(values: list[float], share: float) -> float:
    """Return a percentile of some values."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def main() -> None:
    """Run the benchmark. A signal ends the season process, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser()
    parser.add_argument("--authors", type=int, default=50)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--submissions", type=float, default=6.0, help="a minute")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--practice", type=int, default=200)
    parser.add_argument("--budget", type=int, default=20)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="season-load-"))
    load = Load(folder, chosen.budget, chosen.practice)
    try:
        measure(load, chosen)
    finally:
        if load.process.poll() is None:
            load.end()
        shutil.rmtree(folder)


def measure(load: Load, chosen: argparse.Namespace) -> None:
    """Play with and without submissions, and print the figures."""
    load.invite(chosen.authors)
    for number in range(chosen.authors):
        load.submit(number, f"author{number}", f"bot{number}")
    while len(load.verdicts()) < chosen.authors:
        time.sleep(0.5)
    first = load.verdicts()
    print(f"{chosen.authors} submissions at once: the last verdict after {max(first.values()):.0f} s")
    start = time.time()
    time.sleep(FLUSH_S * min(chosen.minutes, 1.0))
    alone = tables_between(load, start, time.time())
    load.read(chosen.readers)
    start, number = time.time(), chosen.authors
    while time.time() < start + 60 * chosen.minutes:
        author = f"author{number % chosen.authors}"
        load.submit(number, author, f"more{number}")
        number += 1
        time.sleep(60 / chosen.submissions)
    loaded = tables_between(load, start, time.time())
    names = [name for name in load.handed if name not in first]
    while len(load.verdicts()) < len(load.handed) and load.process.poll() is None:
        time.sleep(0.5)
    waits = [wait for name, wait in load.verdicts().items() if name in names]
    print(
        f"from upload to verdict: median {median(waits):.1f} s, p95 {percentile(waits, 0.95):.1f} s, {len(waits)} submissions"
    )
    pages = [1000 * each for each in load.pages]
    print(
        f"{len(pages)} pages of {chosen.readers} readers: median {median(pages):.0f} ms, p95 {percentile(pages, 0.95):.0f} ms"
    )
    print(f"the ladder: {alone:.0f} tables a second alone, {loaded:.0f} with submissions and readers")
    print(
        f"from the end of a round to the next one: median {median(gaps(load)):.2f} s, p95 {percentile(gaps(load), 0.95):.2f} s"
    )
    print(f"from there to its first table: p95 {percentile(first_tables(load), 0.95):.2f} s")
    load.end()
    print_sizes(load)


def print_sizes(load: Load) -> None:
    """Print the bytes of the largest journal, and what removing its answers leaves."""
    journals = sorted((load.folder / "rounds").glob("*/run/run.sqlite"), key=lambda path: path.stat().st_size)
    place, before = journals[-1], journals[-1].stat().st_size
    with writing(place) as journal:
        tables = sum(max(each.tables for each in record.results.values()) for _, record in journal.records())
        journal.remove_answers()
    after = place.stat().st_size + place.with_name("lines.json.gz").stat().st_size
    print(f"a journal of {tables} tables: {before / tables:.0f} bytes a table, {after / tables:.0f} without answers")


if __name__ == "__main__":
    main()
