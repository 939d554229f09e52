"""Let thirty authors hand in bots while a season is killed, its disk is full and its clock is set back; then check everything.

    sudo python benchmarks/season_faults.py [--minutes 30] [--authors 30] [--pause 90] [--disk 512] [--seed 1]

Scripts of the authors hand in by the page, by the HTTP API and by `croupier submit`: good bots in five languages, broken ones,
the same bytes again. Two authors have bots that take long. Meanwhile processes of the season are killed or stopped (the
season, its site, its workers, sandboxes), the disk is filled, and the clock goes back by up to an hour and returns. Then
entry is closed, and a few bots are handed in late.

It checks that no acknowledged submission is lost and no other is stored, that every verdict is the one that the file deserves,
that what was handed in after the freeze is late and nothing else, that no good bot has a fault, and that `season verify` and
check.py find the same season. It exits with 1 if any of these checks fails. The disk is a tmpfs, so it must run as root; for the
clock it needs a C compiler.
"""

import argparse
import contextlib
import hashlib
import http.client
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from command import CROUPIER, environment
from season_client import Browser, Site
from season_harms import LANGUAGES, harm, source
from season_process import TestSeason
from season_published import SECRETS

from host.season.entries.inbox import Invite
from host.season.entries.values import Submission
from host.season.intake.requests import FROZEN

TERMS = """\
keep = "50 rounds"
references = ["sample:dumb_bold"]
[season.per_author]
queue = 1000
per_hour = 100000
cpu_minutes = 100000
"""
SLOW_AUTHORS, LATE_AUTHORS = 2, 4
SLOW = "import sys, time\nfor line in sys.stdin:\n    time.sleep(0.3)\n    print('END', flush=True)  # {note}\n"
REFUSED = (
    ("bot.py", "def f(:  # {note}\n"),
    ("bot.c", "int main(void) {{ return undeclared; }} /* {note} */\n"),
    ("bot.py", "import sys\nfor line in sys.stdin:\n    print('banana', flush=True)  # {note}\n"),
    ("bot.py", "import os\nfor line in open(0):\n    os.abort()  # {note}\n"),
)
REFUSED_SHARE, AGAIN_SHARE = 0.2, 0.1
DOORS = ("page", "api", "submit")
FULL_S, CLOCK_S, MOST_BACK_S = 10.0, 10.0, 3600
HARM_PAUSE_S = 8.0  # between two of them, on average
PATIENCE_S, VERDICTS_S = 300.0, 1800.0
CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static const int *back;  /* seconds */
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("FAULTS_CLOCK"), O_RDONLY | O_CLOEXEC);
    void *place = file < 0 ? MAP_FAILED : mmap(0, sizeof *back, PROT_READ, MAP_SHARED, file, 0);
    back = place == MAP_FAILED ? 0 : place;
    if (file >= 0) close(file);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && back && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= *back;
    return failed;
}
"""
"""Gives the processes of the season a clock that this program sets back: a number of seconds in a file."""


class Handed(NamedTuple):
    """A file that the season has acknowledged, and what must become of it."""

    author: str
    sha256: str
    accepted: bool
    late: bool
    door: str


class FaultInjection:
    """The season, what was acknowledged, and what has been done to it."""

    def __init__(self, disk: Path, authors: int, seed: int) -> None:
        self.season = TestSeason(disk / "cup", TERMS)
        self.season.log = disk.parent / "log.ndjson"
        self.acknowledged, self.done, self.wrong = dict[str, Handed](), Counter[str](), list[str]()
        self.authors = [f"author{number}" for number in range(authors)]
        self.late = self.over = False
        self._chance, self._filler, self._files = random.Random(seed), disk / "fill", disk.parent
        self._back = _clock(disk.parent)

    def open(self) -> None:
        """Open the season. A full disk may prevent it, so make room if it does; nothing else may."""
        try:
            self.season.open(site=True)
        except AssertionError as failed:
            if self._filler.exists():
                self.done["not opened on a full disk"] += 1
                self._filler.unlink()
            else:
                self.wrong.append(f"the season did not open: {failed}")
            self.season.open(site=True)

    def invite(self) -> None:
        """Invite all authors, and wait until the site knows the last one."""
        for author in self.authors:
            SECRETS[author] = hashlib.sha256(author.encode()).hexdigest()
            self.season.ask(Invite(author, hashlib.sha256(SECRETS[author].encode()).hexdigest()))
        self.season.until(lambda: self._knows(self.authors[-1]), "the authors")

    def _knows(self, author: str) -> bool:
        headers = {"Authorization": f"Bearer {SECRETS[author]}"}
        with contextlib.suppress(OSError, http.client.HTTPException):
            return _opened(urllib.request.Request(f"{self.season.url}/api/mine", headers=headers))[0] == 200
        return False

    # What authors do.

    def author(self, number: int, pause: float) -> None:
        """Hand in files until no more faults are injected, with pauses between them."""
        author, chance, kept = self.authors[number], random.Random(number), list[tuple[str, bytes, bool]]()
        time.sleep(pause * chance.random())
        for turn in range(1_000_000):
            if self.over:
                return
            file, content, accepted = self._file(number, turn, chance)
            if kept and chance.random() < AGAIN_SHARE:
                file, content, accepted = chance.choice(kept)
            self.hand_in(author, (file, content, accepted), chance.choice(DOORS))
            kept.append((file, content, accepted))
            end = time.monotonic() + pause * chance.uniform(0.5, 1.5)
            while time.monotonic() < end and not self.over:
                time.sleep(0.2)

    def _file(self, number: int, turn: int, chance: random.Random) -> tuple[str, bytes, bool]:
        """Return the name and the bytes of a file, and whether it must be accepted."""
        note = f"{self.authors[number]} {turn}"
        if number < SLOW_AUTHORS:
            return "bot.py", SLOW.format(note=note).encode(), True
        if chance.random() < REFUSED_SHARE:
            file, text = chance.choice(REFUSED)
            return file, text.format(note=note).encode(), False
        file = chance.choice([*LANGUAGES])
        return file, source(file, chance.choice(["END", "STAND"]), note), True

    def hand_in(self, author: str, what: tuple[str, bytes, bool], door: str) -> None:
        """Hand in a file, again until the site acknowledges it."""
        file, content, accepted = what
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                identity = getattr(self, f"_by_{door}")(author, file, content)
            except (OSError, http.client.HTTPException, AssertionError, ValueError):  # the site was killed meanwhile
                identity = ""
            if identity:
                sha256 = hashlib.sha256(content).hexdigest()
                self.acknowledged.setdefault(identity, Handed(author, sha256, accepted, self.late, door))
                return
            time.sleep(0.5)
        self.wrong.append(f"{author} could not hand in by {door} for {PATIENCE_S:.0f} s")

    def _by_page(self, author: str, file: str, content: bytes) -> str:
        site = Site(self.season.folder, self.season.port, None)  # type: ignore[arg-type]  # it is not stopped here
        browser = Browser(site, author)
        answer = browser.submit(file, content, bot=f"{author}s")
        return answer.headers["location"].rpartition("/")[2] if answer.status == 303 else ""

    def _by_api(self, author: str, file: str, content: bytes) -> str:
        url = f"{self.season.url}/api/bots/{author}s?file={file}"
        own = {"Authorization": f"Bearer {SECRETS[author]}"}
        return str(json.loads(_opened(urllib.request.Request(url, content, own, method="PUT"))[1])["id"])

    def _by_submit(self, author: str, file: str, content: bytes) -> str:
        with tempfile.TemporaryDirectory(dir=self._files) as folder:
            (Path(folder) / file).write_bytes(content)
            link = f"{self.season.url}/a/{SECRETS[author]}"
            command = [
                *CROUPIER,
                "--json",
                "submit",
                f"{folder}/{file}",
                "--as",
                f"{author}s",
                "--to",
                link,
                "--wait",
                "0",
            ]
            done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        return str(json.loads(done.stdout).get("id", "")) if done.stdout else ""

    # What happens to the season.

    def inject_faults(self, minutes: float) -> None:
        """Do harm until the minutes are over."""
        end, chance = time.monotonic() + 60 * minutes, self._chance
        while time.monotonic() < end:
            time.sleep(chance.uniform(0, 2 * HARM_PAUSE_S))
            what = chance.choice(["process"] * 8 + ["disk", "clock"])
            if what == "disk":
                self._fill()
            elif what == "clock":
                self._set_back(chance.randrange(MOST_BACK_S))
            else:
                self._harm()
        self._filler.unlink(missing_ok=True)

    def _harm(self) -> None:
        what = harm(self.season, self._chance)
        self.done[what] += bool(what)
        if what == "season killed" and self.season.process is not None:
            self.season.process.wait()
            self.open()
        if self.season.process is None or self.season.process.poll() is not None:
            self.wrong.append(f"the season ended after {what}: {self.season.log.read_text()[-1000:]}")
            self.open()

    def _fill(self) -> None:
        """Fill the disk, kill something while it is full, and make room."""
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        self.done["disk filled"] += 1
        time.sleep(FULL_S)
        self._harm()
        time.sleep(FULL_S)
        self._filler.unlink(missing_ok=True)

    def _set_back(self, seconds: int) -> None:
        """Set the clock back, kill something, and let the clock return. It is right when entry is closed."""
        self._back[:4] = seconds.to_bytes(4, sys.byteorder)
        self.done["clock set back"] += 1
        time.sleep(CLOCK_S)
        self._harm()
        time.sleep(CLOCK_S)
        self._back[:4] = bytes(4)

    # What must hold.

    def submissions(self) -> dict[str, Submission]:
        """Return all submissions in the store, by their ids."""
        with self.season.store() as store:
            return {each.id: each for author in self.authors for each in store.submissions.of_author(author)}

    def close(self) -> None:
        """Close entry, hand in late, and wait for all verdicts."""
        frozen = self.season.croupier("season", "freeze", "--yes")
        if frozen.code:
            self.wrong.append(f"entry could not be closed: {frozen.err}")
        self.late = True
        for number, author in enumerate(self.authors[SLOW_AUTHORS:][:LATE_AUTHORS]):
            late = source("bot.py", "END", f"{author} late")
            self.hand_in(author, ("bot.py", late, True), DOORS[number % 3])
        end = time.monotonic() + VERDICTS_S
        while any(not each.state.final for each in self.submissions().values()) and time.monotonic() < end:
            time.sleep(1)

    def check(self) -> Iterator[str]:
        """Yield what is wrong with the season, which has ended."""
        yield from self.wrong
        kept = self.submissions()
        yield from (
            f"{identity} of {each.author} is stored, but was not acknowledged"
            for identity, each in kept.items()
            if identity not in self.acknowledged
        )
        with self.season.store() as store:
            late = {version.submission for _, version in store.versions.late(float(store.setting(FROZEN) or "inf"))}
        for identity, each in self.acknowledged.items():
            found = kept.get(identity)
            if found is None:
                yield f"{identity} of {each.author} is lost"
                continue
            if (found.author, found.sha256) != (each.author, each.sha256):
                yield f"{identity} has another author or other bytes"
            if found.state != ("accepted" if each.accepted else "refused"):
                yield f"{identity} of {each.author}, {found.bot}, is {found.state}: {found.reason}"
            if each.accepted and each.late != (identity in late):
                yield f"{identity} of {each.author}: handed in late: {each.late}, and counts as late: {identity in late}"
        faults = {row["label"]: row["faults"] for row in (self.season.document("ladder") or {"rows": []})["rows"]}
        yield from (f"{label} has {number} faults" for label, number in faults.items() if number)
        yield from self._checked()

    def _checked(self) -> Iterator[str]:
        """Yield the differences that `season verify` and check.py find."""
        verified = self.season.croupier("season", "verify", "--json")
        if verified.code or verified.json["differences"]:
            yield f"season verify: {verified.out}{verified.err}"
        public = self._files / "public"
        exported = self.season.croupier("season", "export", public)
        if exported.code:
            yield f"season export: {exported.err}"
            return
        command = [sys.executable, "-I", "-S", str(public / "check.py"), str(public)]
        confirmed = subprocess.run(command, capture_output=True, text=True, check=False)
        if confirmed.returncode:
            yield f"check.py: {confirmed.stdout}{confirmed.stderr}"


def _opened(request: urllib.request.Request) -> tuple[int, bytes]:
    """Return status and body of an answer. Raise OSError if there is none, or a refusal."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        return answer.status, answer.read()


def _clock(place: Path) -> mmap.mmap:
    """Give the processes that are started from now on a clock that can be set back; return the seconds as a map."""
    made, library = place / "clock.c", place / "clock.so"
    made.write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, made], check=True)
    (place / "clock").write_bytes(bytes(4))
    os.environ |= {"FAULTS_CLOCK": str(place / "clock"), "LD_PRELOAD": str(library)}
    with (place / "clock").open("r+b") as file:
        return mmap.mmap(file.fileno(), 4)


def try_season(place: Path, chosen: argparse.Namespace) -> list[str]:
    """Inject faults into a season below a folder. Return what is wrong."""
    trial = FaultInjection(place / "disk", chosen.authors, chosen.seed)
    trial.open()
    try:
        trial.invite()
        authors = [
            threading.Thread(target=trial.author, args=[number, chosen.pause], daemon=True)
            for number in range(chosen.authors)
        ]
        for each in authors:
            each.start()
        trial.inject_faults(chosen.minutes)
        trial.over = True
        for each in authors:
            each.join()
        trial.close()
    finally:
        if trial.season.process is not None:
            trial.season.end()
    wrong = [*trial.check()]
    doors = Counter(each.door for each in trial.acknowledged.values())
    print(
        f"{len(trial.acknowledged)} submissions: {dict(doors)}; {sum(trial.done.values())} times harm: {dict(trial.done)}"
    )
    print(f"{len(trial.season.events('round', 'is over'))} rounds")
    return wrong


def main() -> None:
    """Run the season on a disk of its own, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--authors", type=int, default=30)
    parser.add_argument("--pause", type=float, default=90.0, help="seconds between two files of an author, on average")
    parser.add_argument("--disk", type=int, default=512, help="its size in MiB")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of harm")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the season ends, too
    place = Path(tempfile.mkdtemp(prefix="season-faults-"))
    (place / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={chosen.disk}m", "season-faults", place / "disk"], check=True)
    wrong = ["the benchmark did not end"]
    try:
        wrong = try_season(place, chosen)
    finally:
        if wrong:
            shutil.copytree(place / "disk" / "cup", place / "cup", dirs_exist_ok=True)
        subprocess.run(["umount", "-l", place / "disk"], check=True)
    if wrong:
        sys.exit("\n".join([*wrong, f"the season is in {place}"]))
    shutil.rmtree(place)
    print("nothing is wrong: no submission is lost, every verdict is right, and both checks find the same season")


if __name__ == "__main__":
    main()
