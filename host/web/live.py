"""A journal watched: the pages and figures of a run as it stands, made anew when something is new, for everybody at once."""

import contextlib
import gzip
import hashlib
import json
import sqlite3
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import trio

from host.base.errors import Problem, UserError
from host.inspect.recorded import known_seed, seed_of
from host.play.custom_games import display_of
from host.report.export import as_lines, chosen
from host.report.page import empty_account, render
from host.report.summary import RunSummary, as_json, summarize
from host.report.table_replays import TableRef, find, load, select_replays, to_json
from host.report.terminal import json_rows
from host.report.timelines import Chips, chips
from host.report.visibility import all_stages, public_stages
from host.tournament.journal import VERSION, Journal, decompress_scores, lock_holder, reading

LOOKING = 0.5  # seconds between two looks at the journal's files
SHARE = 40  # while a run goes on, all we do may take one part in so many of a core: the tournament needs the machine
SOONEST, LATEST = 1.0, 300.0  # seconds from one edition of a run that goes on to the next, whatever they take
RUN = (
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
FIGURES = ("run", "standings", "pairs", "bots", "faults", "replays")
REPLAYS, REMEMBERED = 40, 64
TABLES = 100  # whose events are made at a time


class CachedResponse(NamedTuple):
    """What one address shows: packed once for everybody, with a tag by which who has it already knows it again."""

    packed: bytes  # gzip
    tag: str


class Snapshot(NamedTuple):
    """What everybody is shown until something is new."""

    number: int
    page: CachedResponse
    api: Mapping[str, Callable[[], CachedResponse]]  # made when somebody asks for it first
    news: bytes  # one server-sent event
    state: str


class LivePublisher:
    """Looks at a journal and keeps the latest edition; `changed` is set when there is a newer one."""

    def __init__(self, path: Path, spoilers: bool = False) -> None:
        self.path, self._spoilers = path, spoilers
        self.changed = trio.Event()
        self._seen: tuple[Any, ...] = ()
        self._checked: int | None = None  # the inode of the file that has been looked through
        self._told: RunSummary | None = None
        self._replays: OrderedDict[str, bytes] = OrderedDict()
        self._stacks: dict[str, Chips | None] = {}
        self._one_at_a_time, self._figuring = trio.CapacityLimiter(1), trio.CapacityLimiter(1)
        self.edition = self._made(0)

    async def follow(self) -> None:
        """Make a new edition whenever the journal has changed, but never spend much of a running tournament's time.

        What an edition costs is not only its making: everybody who listens fetches it.
        """
        made, spent = time.monotonic(), time.process_time()
        while True:
            await trio.sleep(LOOKING)
            if self._signature() == self._seen:
                continue
            rest = min(LATEST, max(SOONEST, SHARE * (time.process_time() - spent)))
            if time.monotonic() < made + rest and lock_holder(self.path):
                continue
            made, spent = time.monotonic(), time.process_time()
            make = partial(self._made, self.edition.number + 1)
            self.edition = await trio.to_thread.run_sync(make, abandon_on_cancel=True)
            changed, self.changed = self.changed, trio.Event()
            changed.set()

    async def figures(self, name: str) -> CachedResponse:
        """Return what an address of the edition's `api` gives."""
        return await trio.to_thread.run_sync(self.edition.api[name], limiter=self._figuring)

    async def replay(self, name: str) -> bytes:
        """Return a table of a finished stage, packed for the casino. Raise Refused when it may not or cannot be shown."""
        if name not in self._replays:
            made = await trio.to_thread.run_sync(self._replay, name, limiter=self._one_at_a_time)
            self._replays[name] = made
            while len(self._replays) > REMEMBERED:
                self._replays.popitem(last=False)
        return self._replays[name]

    async def events(self, selection: str | None) -> AsyncIterator[bytes]:
        """Yield the events of what is meant, as `export jsonl` writes them, without spending much of a run's time.

        Raise Refused, before anything is yielded, for what does not exist or may not be shown yet.
        """
        for path, tables in await trio.to_thread.run_sync(self._meant, selection, limiter=self._one_at_a_time):
            for at in range(0, len(tables), TABLES):
                started = time.monotonic()
                some = tables[at : at + TABLES]
                yield await trio.to_thread.run_sync(self._events, path, some, limiter=self._one_at_a_time)
                if self.edition.state == "running":
                    await trio.sleep(SHARE * (time.monotonic() - started))

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
        """Open the journal for one look, all of it as of one moment; a file is looked through for damage once only.

        Raise Refused for whatever cannot be read: it may be thrown away or replaced while we serve.
        """
        try:
            if not self.path.exists() or self.path.stat().st_ino != self._checked:
                with reading(self.path):
                    self._checked = self.path.stat().st_ino
                    self._forget()
            with contextlib.closing(
                sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
            ) as database:
                database.execute("BEGIN")
                if database.execute("PRAGMA user_version").fetchone() != (VERSION,):
                    with reading(self.path):  # which refuses: another croupier has gone on with it
                        pass
                yield Journal(database, self.path)
        except (sqlite3.Error, OSError) as failed:
            raise UserError([Problem("R005", str(self.path), f"cannot be read: {failed}")], 3) from failed

    def _forget(self) -> None:
        """Forget what an earlier journal in this place has told."""
        self._told = None
        self._replays.clear()
        self._stacks.clear()

    def _made(self, number: int) -> Snapshot:
        """Return an edition; what keeps us from it stands on the page."""
        self._seen = self._signature()
        replays: list[TableRef] = []
        stacks: list[Chips] = []
        told, wrong = empty_account(self.path.parent.parent.resolve().name), ""
        try:
            with self._journal() as journal:
                seed, stages = known_seed(journal), self._stages(journal)
                told = summarize(journal, seed, stages, self._told)
                if seed is not None:
                    replays = select_replays(journal, stages, REPLAYS)
                    stacks = self._games(journal, seed, told, replays)
        except UserError as refused:
            problem = refused.problems[0]
            wrong = problem.message if problem.code == "R006" else f"{self.path.name} {problem.message}"
            self._checked = None
        if self._told and (self._told.seed_sha256, self._told.began) != (told.seed_sha256, told.began):
            self._forget()  # what has been told was another run's
        self._told = told
        page = sheet(render(told, replays, {}, live=True, stacks=stacks, wrong=wrong).encode())
        api = {f"{name}.json": cache(partial(_figured, name, told, replays)) for name in FIGURES}
        news = json.dumps({"edition": number, "newest": told.newest, "state": told.state})
        event = f"event: news\nid: {number}\ndata: {news}\n\n".encode()
        return Snapshot(number, page, api, event, told.state)

    def _games(self, journal: Journal, seed: bytes, told: RunSummary, replays: list[TableRef]) -> list[Chips]:
        """Return how the chips went in one game of each group; what has been played does not change."""
        groups = {group.name for stage in told.stages for group in stage.groups}
        if not display_of(told.game).chips_by_round:
            return []
        found = {place.name.rpartition("/")[0]: place for place in reversed(replays)}
        for group in groups & found.keys():
            name = f"{told.seed_sha256}/{found[group].name}"
            if name not in self._stacks:
                (table,) = load(journal, seed, found[group].fixture, [found[group].nth])
                self._stacks[name] = chips(table)
        told_of = (self._stacks[f"{told.seed_sha256}/{found[group].name}"] for group in groups & found.keys())
        return [each for each in told_of if each is not None]

    def _stages(self, journal: Journal) -> set[str]:
        """Return the stages whose tables may be shown."""
        return all_stages(journal) if self._spoilers else public_stages(journal)

    def _replay(self, name: str) -> bytes:
        with self._journal() as journal:
            place = find(journal, name)
            if place is None:
                raise UserError([Problem("R006", name, "there is no such table in this run")], 3)
            if not any(place.fixture in journal.paths(stage) for stage in self._stages(journal)):
                raise UserError(
                    [Problem("R011", name, "this table belongs to a stage that is not over: it is withheld")], 5
                )
            return encoded(to_json(next(load(journal, seed_of(journal), place.fixture, [place.nth]))))

    def _meant(self, selection: str | None) -> list[tuple[str, Sequence[int]]]:
        """Return fixtures and their tables; without a selection everything that may be shown."""
        with self._journal() as journal:
            seed_of(journal)
            several = [selection] if selection else [stage for stage in self._stages(journal) if journal.paths(stage)]
            found = [each for one in several for each in chosen(journal, one, self._spoilers)]
            return [
                (path, range(len(decompress_scores(journal.scores_of(path)[1]))) if tables is None else tables)
                for _, path, tables in found
            ]

    def _events(self, path: str, tables: Sequence[int]) -> bytes:
        with self._journal() as journal:
            return "".join(map(as_lines, load(journal, seed_of(journal), path, tables))).encode()


def sheet(body: bytes) -> CachedResponse:
    """Return a body, packed. Its tag follows from what it says: it holds for a server that has been started anew."""
    return CachedResponse(gzip.compress(body, 5, mtime=0), f'W/"{hashlib.sha256(body).hexdigest()[:20]}"')


def _figured(name: str, told: RunSummary, replays: Sequence[TableRef]) -> CachedResponse:
    return sheet(encoded(figure(name, told, replays)))


def encoded(value: Any) -> bytes:
    """Return JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def figure(name: str, told: RunSummary, replays: Sequence[TableRef]) -> dict[str, Any]:
    """Return what an address below /api/ gives, one of FIGURES; it names its schema."""
    stages = [
        {"stage": stage.name, "kind": stage.kind, "state": stage.state, "seal": stage.seal or None}
        for stage in told.stages
    ]
    section: dict[str, Any]
    match name:
        case "run":
            whole = as_json(told._replace(stages=(), bots=()))
            section = {key: whole[key] for key in RUN} | {"fixtures": sum(stage.fixtures for stage in told.stages)}
        case "standings":
            section = {
                "stages": [
                    about | {"fixtures": stage.fixtures, "rows": json_rows(stage.rows), "sure": list(stage.sure)}
                    for about, stage in zip(stages, told.stages, strict=True)
                ]
            }
        case "pairs":
            section = {
                "stages": [
                    about | {"by": stage["pairs_by"], "rows": stage["pairs"]}
                    for about, stage in zip(stages, as_json(told._replace(bots=()))["stages"], strict=True)
                ]
            }
        case "bots":
            section = {"rows": as_json(told._replace(stages=()))["bots"]}
        case "faults":
            faulty = [bot._replace(opponents=(), ranks=None) for bot in told.bots if bot.faults]
            bots = as_json(told._replace(stages=(), bots=tuple(faulty)))["bots"]
            section = {"rows": [fault for bot in bots for fault in bot["faults"]]}
        case "replays":
            section = {"rows": [{"table": place.name, "why": place.why} for place in replays]}
    return {"schema": f"croupier/{name}/1"} | section
