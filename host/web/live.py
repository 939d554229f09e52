"""Publishes a journal as a page and as API documents, made once for all clients when the journal has changed."""

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
from typing import Any, NamedTuple, TypeVar

import trio

from host.base.errors import Problem, UserError
from host.inspect.recorded import known_seed, root_of
from host.inspect.table_replays import TableRef, find, load, to_json
from host.inspect.visibility import visible
from host.journal.lock import lock_holder
from host.journal.reader import Journal, decompress_scores, reading
from host.journal.schema import VERSION
from host.play.fixture_id import group_of
from host.report.export import as_lines, chosen
from host.report.listings import Listing, Results, by_bot, by_pair
from host.report.offers import Highlight, Offers, Quota
from host.report.page import Page
from host.report.pictures import plain
from host.report.public import RECORDS, PublicLines, after, public_files
from host.report.summary import RunSummary, summarize
from host.report.timelines import Chips, chips
from host.results.standings import Row
from host.rules.catalogue import display_of
from host.stages import CROUPIERS, Registry

POLL_INTERVAL_S = 0.5  # between two checks of the journal's files
MAX_CPU_SHARE = 1 / 40  # of one core while a tournament runs: the tournament needs the machine
MIN_SNAPSHOT_INTERVAL_S, MAX_SNAPSHOT_INTERVAL_S = 1.0, 300.0  # between two snapshots while a tournament runs
OFFERED = Quota(40, 200)  # tables on the page
OFFERED_WHILE_RUNNING = OFFERED._replace(replayed=4)  # the next snapshot replays further fixtures to describe them
MAX_CACHED_REPLAYS = 64
TABLES_PER_CHUNK = 20  # of an export of events: a page may have to wait for one chunk
MAX_EXPORT_SHARE = 1 / 2  # of one core for all exports of events together

T = TypeVar("T")


class CachedResponse(NamedTuple):
    """Body of one address, compressed once for all clients, and its ETag."""

    gzipped: bytes
    etag: str


class Snapshot(NamedTuple):
    """Everything that the site serves to its clients until the journal changes."""

    number: int
    page: CachedResponse
    api: Mapping[str, Callable[[], CachedResponse]]  # each computed at its first request
    notification: bytes  # one server-sent event
    state: str


class LivePublisher:
    """Follows a journal and holds the latest snapshot. Sets the event `changed` when it has made a newer snapshot."""

    def __init__(self, path: Path, spoilers: bool = False, registry: Registry = CROUPIERS) -> None:
        self.path, self._spoilers, self._registry = path, spoilers, registry
        self.changed = trio.Event()
        self._signature: tuple[tuple[int, int, int], ...] = ()  # of the files that the snapshot was made from
        self._validated_inode: int | None = None
        self._summary: RunSummary | None = None  # the last one, which the next one continues
        self._replays: OrderedDict[str, bytes] = OrderedDict()
        self._chip_charts: dict[str, Chips | None] = {}
        self._highlights: dict[tuple[str, int | None, bool], Highlight] = {}
        self._export_turn = trio.Lock()
        self._public: tuple[int, dict[str, list[str]]] | None = None  # of the snapshot with this number
        self._journal_limiter, self._api_limiter = trio.CapacityLimiter(1), trio.CapacityLimiter(1)
        self.snapshot = self._make_snapshot(0)

    async def follow(self) -> None:
        """Make a new snapshot whenever the journal has changed, within MAX_CPU_SHARE while a tournament runs.

        The cost of a snapshot includes its downloads: every connected client fetches it.
        """
        made_at, cpu_before = time.monotonic(), time.process_time()
        while True:
            await trio.sleep(POLL_INTERVAL_S)
            if self._file_signature() == self._signature:
                continue
            needed = (time.process_time() - cpu_before) / MAX_CPU_SHARE
            interval = min(MAX_SNAPSHOT_INTERVAL_S, max(MIN_SNAPSHOT_INTERVAL_S, needed))
            if time.monotonic() < made_at + interval and lock_holder(self.path):
                continue
            made_at, cpu_before = time.monotonic(), time.process_time()
            make = partial(self._make_snapshot, self.snapshot.number + 1)
            self.snapshot = await trio.to_thread.run_sync(make, abandon_on_cancel=True)
            changed, self.changed = self.changed, trio.Event()
            changed.set()

    async def api_response(self, name: str) -> CachedResponse:
        """Return the response of one address of the snapshot's `api`."""
        return await trio.to_thread.run_sync(self.snapshot.api[name], limiter=self._api_limiter)

    async def public_lines(self, name: str, since: str) -> Sequence[str]:
        """Return the lines of a file of `export public`, as of the snapshot. All clients share the list.

        If `since` is a seal, return only the records after it. Raise UserError if there is no such file, seal or
        result.
        """
        return await self._one_export_at_a_time(partial(self._public_lines, name, since))

    def _public_lines(self, name: str, since: str) -> Sequence[str]:
        number = self.snapshot.number
        if self._public is None or self._public[0] != number:
            with self._journal() as journal:
                files = {each: text.splitlines(keepends=True) for each, text in public_files(journal).items()}
            self._public = number, files
        files = self._public[1]
        if name not in files:
            message = "there is no such file in the public folder"
            raise UserError([Problem("U001", name, message, hint=", ".join(files))], 2)
        if name != RECORDS or not since:
            return files[name]
        return after(PublicLines(files[RECORDS], json.loads("".join(files["rules.json"]))["seal"], frozenset()), since)

    async def replay(self, name: str) -> bytes:
        """Return a table as JSON for the casino, which is the part of the page that replays tables.

        Raise UserError when the table does not exist or is still withheld.
        """
        if name not in self._replays:
            replay = await trio.to_thread.run_sync(self._read_replay, name, limiter=self._journal_limiter)
            self._replays[name] = replay
            while len(self._replays) > MAX_CACHED_REPLAYS:
                self._replays.popitem(last=False)
        return self._replays[name]

    async def events(self, selection: str | None) -> AsyncIterator[bytes]:
        """Yield the events of the selected tables in chunks, as `export jsonl` writes them.

        `_one_export_at_a_time` limits the use of the processor. Raise UserError, before the first chunk, when the
        selection does not exist or is still withheld.
        """
        selected = await self._one_export_at_a_time(partial(self._select, selection))
        for path, tables in selected:
            for start in range(0, len(tables), TABLES_PER_CHUNK):
                chunk = tables[start : start + TABLES_PER_CHUNK]
                yield await self._one_export_at_a_time(partial(self._read_events, path, chunk))

    async def _one_export_at_a_time(self, read: Callable[[], T]) -> T:
        """Call `read` in a thread and return its result, while other exports wait.

        All exports together use at most MAX_EXPORT_SHARE of a core, or MAX_CPU_SHARE while a tournament runs. In the
        remaining time the interpreter is free for the page.
        """
        async with self._export_turn:
            started = time.monotonic()
            found = await trio.to_thread.run_sync(read, limiter=self._journal_limiter)
            share = MAX_CPU_SHARE if self.snapshot.state == "running" else MAX_EXPORT_SHARE
            await trio.sleep((time.monotonic() - started) * (1 / share - 1))
        return found

    def _file_signature(self) -> tuple[tuple[int, int, int], ...]:
        """Return inode, size and modification time of the journal and its write-ahead log."""
        signature = []
        for file in (self.path, self.path.with_name(self.path.name + "-wal")):
            with contextlib.suppress(OSError):
                status = file.stat()
                signature.append((status.st_ino, status.st_size, status.st_mtime_ns))
        return tuple(signature)

    @contextlib.contextmanager
    def _journal(self) -> Iterator[Journal]:
        """Open the journal in one read transaction. Check a file for damage only the first time it is opened.

        Raise UserError when it cannot be read: the file may be deleted or replaced while it is being served.
        """
        try:
            if not self.path.exists() or self.path.stat().st_ino != self._validated_inode:
                with reading(self.path, self._registry):
                    self._validated_inode = self.path.stat().st_ino
                    self._forget()
            with contextlib.closing(
                sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
            ) as database:
                database.execute("BEGIN")
                if database.execute("PRAGMA user_version").fetchone() != (VERSION,):
                    with reading(
                        self.path, self._registry
                    ):  # raises: another version of croupier has continued this journal
                        pass
                yield Journal(database, self.path, self._registry)
        except (sqlite3.Error, OSError) as error:
            raise UserError([Problem("R005", str(self.path), f"cannot be read: {error}")], 3) from error

    def _forget(self) -> None:
        """Discard everything cached of an earlier journal at this path."""
        self._summary = None
        self._replays.clear()
        self._chip_charts.clear()
        self._highlights.clear()

    def _make_snapshot(self, number: int) -> Snapshot:
        """Return a snapshot of the journal. When the journal cannot be read, the page contains the reason."""
        self._signature = self._file_signature()
        replays: list[TableRef] = []
        charts: list[Chips] = []
        summary = RunSummary(self.path.parent.parent.resolve().name)
        try:
            with self._journal() as journal:
                seed, shown = known_seed(journal), visible(journal, self._spoilers)
                summary = summarize(journal, seed, shown.stages, self._summary)
                self._forget_other_run(summary)
                if seed is not None:
                    offers = Offers(journal, summary, shown)
                    offers.known = self._highlights
                    root = journal.state().root(seed)
                    replays = offers.choose(root, OFFERED_WHILE_RUNNING if summary.state == "running" else OFFERED)
                    charts = self._make_chip_charts(journal, root, summary, replays)
        except UserError as refused:
            problem = refused.problems[0]
            reason = problem.message if problem.code == "R006" else f"{self.path.name} {problem.message}"
            summary = summary._replace(problem=reason)
            self._validated_inode = None
        self._forget_other_run(summary)
        self._summary = summary
        page = cached_response(Page(summary, live=True, stacks=charts).html(replays).encode())
        api = {f"{name}.json": cache(partial(_api_response, name, summary, replays)) for name in DOCUMENTS}
        data = json.dumps({"edition": number, "newest": summary.newest, "state": summary.state})
        notification = f"event: news\nid: {number}\ndata: {data}\n\n".encode()
        return Snapshot(number, page, api, notification, summary.state)

    def _forget_other_run(self, summary: RunSummary) -> None:
        """Discard the cache if the last summary was of another run, or if the run has been corrected since."""

        def key(of: RunSummary) -> tuple[object, ...]:
            return of.run.seed_sha256, of.run.began, of.run.changes

        if self._summary and key(self._summary) != key(summary):
            self._forget()

    def _make_chip_charts(
        self, journal: Journal, seed: bytes, summary: RunSummary, replays: Sequence[TableRef]
    ) -> list[Chips]:
        """Return the chips by round of one offered table of each group; nothing if the game has no such chart.

        Charts are cached, because finished tables do not change.
        """
        if not display_of(summary.game).chips_by_round:
            return []
        groups = {group.name for stage in summary.stages for group in stage.groups}
        first_tables = {group_of(table.name): table for table in reversed(replays)}
        keys = []
        for group in groups & first_tables.keys():
            table = first_tables[group]
            key = f"{summary.run.seed_sha256}/{table.name}"
            keys.append(key)
            if key not in self._chip_charts:
                (played,) = load(journal, seed, table.fixture, [table.nth], self._spoilers)
                self._chip_charts[key] = chips(played)
        charts = (self._chip_charts[key] for key in keys)
        return [chart for chart in charts if chart is not None]

    def _read_replay(self, name: str) -> bytes:
        with self._journal() as journal:
            table = find(journal, name, self._spoilers)
            if table is None:
                raise UserError([Problem("R006", name, "there is no such table in this run")], 3)
            played = load(journal, root_of(journal), table.fixture, [table.nth], self._spoilers)
            return encode_json(to_json(next(played)))

    def _select(self, selection: str | None) -> list[tuple[str, Sequence[int]]]:
        """Return the path of each selected fixture, with the numbers of its selected tables.

        Without a selection, select all tables that may be shown.
        """
        with self._journal() as journal:
            root_of(journal)
            shown = visible(journal, self._spoilers)
            selections = [selection] if selection else sorted(filter(journal.paths, shown.stages | shown.tables))
            found = [each for one in selections for each in chosen(journal, one, self._spoilers)]
            return [
                (path, range(len(decompress_scores(journal.scores_of(path)))) if tables is None else tables)
                for _, path, tables in found
            ]

    def _read_events(self, path: str, tables: Sequence[int]) -> bytes:
        with self._journal() as journal:
            played = load(journal, root_of(journal), path, tables, self._spoilers)
            return "".join(map(as_lines, played)).encode()


def cached_response(body: bytes) -> CachedResponse:
    """Return a compressed body with its ETag: a hash of the content, which stays valid when the server is restarted."""
    return CachedResponse(gzip.compress(body, 5, mtime=0), f'W/"{hashlib.sha256(body).hexdigest()[:20]}"')


def _api_response(name: str, summary: RunSummary, replays: Sequence[TableRef]) -> CachedResponse:
    return cached_response(encode_json(api_document(name, summary, replays)))


def encode_json(value: Any) -> bytes:
    """Encode a value as compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def api_document(name: str, summary: RunSummary, replays: Sequence[TableRef]) -> dict[str, Any]:
    """Return the document of an address below /api/, one of DOCUMENTS, with the name of its schema."""
    return {"schema": f"croupier/live-{name}/1"} | DOCUMENTS[name](summary, replays)


def _run(summary: RunSummary, _replays: Sequence[TableRef]) -> dict[str, Any]:
    run = summary.run
    return {
        "name": summary.name,
        "game": run.game,
        "title": summary.title,
        "state": summary.state,
        "level": run.level if summary.stages else "",
        "seed": summary.seed,
        "seed_sha256": run.seed_sha256,
        "version": run.version,
        "began": run.began,
        "sentence": summary.sentence,
        "rules": summary.rules,
        "config": summary.settings,
        "fixtures": sum(stage.fixtures for stage in summary.stages),
    }


def _stages(listing: Callable[[Results], Listing], summary: RunSummary, _replays: Sequence[TableRef]) -> dict[str, Any]:
    """Return `listing` for each stage as JSON, as its command prints it with --json."""
    return {"stages": [plain(listing(results).json()) for results in summary.results]}


def _bots(summary: RunSummary, _replays: Sequence[TableRef]) -> dict[str, Any]:
    return {"rows": [plain(bot._asdict() | {"rows": [*map(_row, bot.rows)]}) for bot in summary.bots]}


def _row(of_stage: tuple[str, Row]) -> list[Any]:
    """Return a bot's row of a stage as JSON values."""
    stage, row = of_stage
    return [stage, row.flat() | {"kind": row.kind, "mirror": row.mirror, "score": row.points.value}]


def _faults(summary: RunSummary, _replays: Sequence[TableRef]) -> dict[str, Any]:
    return {"rows": [plain(group) for bot in summary.bots for group in bot.faults]}


def _replays(_summary: RunSummary, replays: Sequence[TableRef]) -> dict[str, Any]:
    keys = ("title", "result", "why")
    return {"rows": [{key: getattr(table, key) for key in keys} | {"table": table.name} for table in replays]}


DOCUMENTS: Mapping[str, Callable[[RunSummary, Sequence[TableRef]], dict[str, Any]]] = {
    "run": _run,
    "standings": partial(_stages, by_bot),
    "pairs": partial(_stages, by_pair),
    "bots": _bots,
    "faults": _faults,
    "replays": _replays,
}
"""The function that returns each document, by the document's name below /api/."""
