"""A journal watched: the pages and figures of a run as it stands, made anew when something is new, for everybody at once."""

import contextlib
import gzip
import json
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import trio

from host.journal import Journal, reading
from host.problems import Problem, Refused
from host.report.account import Account, account, as_json
from host.report.page import empty_account, rendered
from host.report.tables import Place, find, known_seed, load, packed, watchable, worth_seeing
from host.report.text import json_rows

LOOKING = 0.5  # seconds between two looks at the journal's files
SHARE = 20  # making a page may take one part in so many of the time: the tournament needs the machine
REPLAYS, REMEMBERED = 40, 64
KEEPING = 15.0  # seconds after which a silent line is told that we live


class Edition(NamedTuple):
    """What everybody is shown until something is new."""

    number: int
    page: bytes  # gzipped
    api: Mapping[str, bytes]
    news: bytes  # one server-sent event


class Newsroom:
    """Looks at a journal and keeps the latest edition; `changed` is set when there is a newer one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.changed = trio.Event()
        self._seen: tuple[Any, ...] = ()
        self._checked = False
        self._replays: OrderedDict[str, bytes] = OrderedDict()
        self._one_at_a_time = trio.CapacityLimiter(1)
        self.edition = self._made(0)

    async def follow(self) -> None:
        """Make a new edition whenever the journal has changed, but never spend much of the time on it."""
        while True:
            started = time.monotonic()
            if self._signature() != self._seen:
                self.edition = await trio.to_thread.run_sync(self._made, self.edition.number + 1)
                changed, self.changed = self.changed, trio.Event()
                changed.set()
            took = time.monotonic() - started
            await trio.sleep(max(LOOKING, SHARE * took))

    async def replay(self, name: str) -> bytes:
        """Return a table of a finished stage, packed for the casino. Raise Refused when it may not or cannot be shown."""
        if name not in self._replays:
            made = await trio.to_thread.run_sync(self._replay, name, limiter=self._one_at_a_time)
            self._replays[name] = made
            while len(self._replays) > REMEMBERED:
                self._replays.popitem(last=False)
        return self._replays[name]

    def _signature(self) -> tuple[Any, ...]:
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        status = []
        for file in files:
            with contextlib.suppress(OSError):
                found = file.stat()
                status.append((found.st_ino, found.st_size, found.st_mtime_ns))
        return tuple(status)

    @contextlib.contextmanager
    def _journal(self) -> Iterator[Journal]:
        """Open the journal for one look, all of it as of one moment; it is checked for damage once only."""
        if not self._checked:
            with reading(self.path):
                self._checked = True
        with contextlib.closing(
            sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
        ) as database:
            database.execute("BEGIN")
            yield Journal(database, self.path)

    def _made(self, number: int) -> Edition:
        """Return an edition; what keeps us from it stands on the page."""
        self._seen = self._signature()
        replays: list[Place] = []
        try:
            with self._journal() as journal:
                seed = known_seed(journal)
                told = account(journal, seed)
                replays = worth_seeing(journal, REPLAYS) if seed is not None else []
        except Refused as refused:
            problem = refused.problems[0]
            told = empty_account(f"{problem.message}"[:200])
            self._checked = False
        except sqlite3.Error as failed:  # the journal is just being made, or thrown away
            told = empty_account(f"the journal cannot be read: {failed}")
            self._checked = False
        page = rendered(told, replays, {}, live=True).encode()
        api = {key: encoded(value) for key, value in figures(told, replays).items()}
        news = json.dumps({"edition": number, "newest": told.newest, "state": told.state})
        return Edition(
            number, gzip.compress(page, 5, mtime=0), api, f"event: news\nid: {number}\ndata: {news}\n\n".encode()
        )

    def _replay(self, name: str) -> bytes:
        if not self.path.exists():
            raise Refused([Problem("R006", name, "nothing has been played here yet")], 3)
        with self._journal() as journal:
            place = find(journal, name)
            if place is None:
                raise Refused([Problem("R006", name, "there is no such table in this run")], 3)
            if not any(place.fixture in journal.paths(stage) for stage in watchable(journal)):
                raise Refused(
                    [Problem("R011", name, "this table belongs to a stage that is not over: it is withheld")], 5
                )
            seed = known_seed(journal)
            if seed is None:
                raise Refused([Problem("R010", name, "the seed of this run cannot be read from here")], 3)
            return encoded(packed(next(load(journal, seed, place.fixture, [place.nth]))))


def encoded(value: Any) -> bytes:
    """Return JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def figures(told: Account, replays: list[Place]) -> dict[str, Any]:
    """Return what each address below /api/ gives; every object names its schema."""
    whole = as_json(told)
    stages = [{"stage": stage.name, "kind": stage.kind, "state": stage.state} for stage in told.stages]
    run = (
        "name",
        "game",
        "title",
        "state",
        "level",
        "seed",
        "seed_sha256",
        "version",
        "began",
        "sentence",
        "rules",
        "config",
    )
    sections: dict[str, Any] = {
        "run": {key: whole[key] for key in run} | {"fixtures": sum(stage.fixtures for stage in told.stages)},
        "standings": {
            "stages": [
                about | {"fixtures": stage.fixtures, "rows": json_rows(stage.rows), "sure": list(stage.sure)}
                for about, stage in zip(stages, told.stages, strict=True)
            ]
        },
        "pairs": {
            "stages": [
                about | {"by": stage.pairs_by, "rows": told_stage["pairs"]}
                for about, stage, told_stage in zip(stages, told.stages, whole["stages"], strict=True)
            ]
        },
        "bots": {"rows": whole["bots"]},
        "faults": {"rows": [fault for bot in whole["bots"] for fault in bot["faults"]]},
        "replays": {"rows": [{"table": place.name, "why": place.why} for place in replays]},
    }
    return {f"{name}.json": {"schema": f"croupier/{name}/1"} | section for name, section in sections.items()}
