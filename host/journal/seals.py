"""Keeps the chain of a journal (chain.py): appends its entries, and compares them with the rows of the journal."""

import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from host.journal.chain import (
    SALT_BYTES,
    ChainEntryKind,
    StoredFixture,
    StoredUndecided,
    canonical,
    content_of,
    differing,
    fixture_content,
    line_after,
    parsed,
    seal_of,
    undecided_content,
)
from host.journal.changes import LATE, MORE
from host.journal.descriptions import stored_value
from host.journal.state import RunState, StageStatus

CHAIN_TABLE = """
CREATE TABLE chain     (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, ref INTEGER NOT NULL, line TEXT NOT NULL,
                        salt BLOB NOT NULL, seal TEXT NOT NULL);
CREATE INDEX chain_by_kind ON chain(kind, ref);
"""
"""The table of the chain. It stores the lines of terms and stages. Other lines follow from row `ref` of their table."""

FREE_TERMS = ("workers", "parallel_tables", "version", "machine")
"""The terms that may differ when a run continues."""


class Link(NamedTuple):
    """An entry of the chain. It is sound if it still has the sealed content and follows the seal before it."""

    kind: ChainEntryKind
    ref: int  # the number of the fixture, undecided fixture, change or version
    name: str  # the path of the fixture, or a description of the entry
    seal: str
    sound: bool
    line: str  # empty if the journal is too damaged for it


class Seals:
    """The chain of an open journal. `kept` returns the lines of fixtures whose answers have been removed, by number."""

    def __init__(self, database: sqlite3.Connection, kept: Callable[[], Mapping[int, str]] = dict) -> None:
        self._database, self._kept = database, kept

    def last(self, stage: str | None = None) -> str:
        """Return the last seal; empty if there is none.

        With `stage`, return the seal of the last entry about this stage, or about a change of all stages.
        """
        query = "SELECT seal FROM chain ORDER BY number DESC LIMIT 1"
        if stage is not None:
            query = (
                "SELECT seal FROM chain LEFT JOIN fixture ON chain.kind = 'fixture' AND fixture.id = ref "
                "LEFT JOIN change ON chain.kind = 'change' AND change.id = ref "
                "LEFT JOIN undecided ON chain.kind = 'undecided' AND undecided.id = ref "
                "WHERE fixture.stage = ?1 OR undecided.stage = ?1 "
                "OR change.stage IN (?1, '') OR chain.kind = 'stage' AND json_extract(line, '$.stage.name') = ?1 "
                "ORDER BY number DESC LIMIT 1"
            )
        found = self._database.execute(query, () if stage is None else (stage,)).fetchone()
        return str(found[0]) if found else ""

    def add(self, kind: ChainEntryKind, ref: int) -> None:
        """Append the entry of a fixture, an undecided fixture, a change or a version.

        `ref` is the id of its row, which must already be in the journal.
        """
        salt = secrets.token_bytes(SALT_BYTES) if kind == "fixture" else b""
        self._append(kind, ref, "", salt, self._content(kind, ref, salt))

    def update(self, state: RunState) -> None:
        """Append an entry for each new version of a bot, and for the terms and each stage that have changed."""
        sealed = self._sealed()
        for kind, name, content in documents(state):
            if kind == "stage" and sealed.get((kind, name)) is None and content["status"] == StageStatus.WAITING:
                continue
            if canonical(sealed.get((kind, name))) != canonical(content):
                self._append(kind, 0, "stored", b"", content)
            if kind == "terms":
                for number in self._without_entry("version"):
                    self.add("version", number)

    def entries(self) -> Iterator[Link]:
        """Yield the entries in order, each compared with its seal."""
        before = ""
        rows = self._database.execute(
            "SELECT number, kind, ref, line, salt, seal FROM chain ORDER BY number"
        ).fetchall()
        for expected, (number, kind, ref, stored, salt, seal) in enumerate(rows, 1):
            line, name = "", self._path(ref) if kind == "fixture" else f"{kind} {ref or ''}".rstrip()
            try:
                if (stored and ref) or (salt and kind != "fixture"):
                    raise ValueError("an entry of this kind has no such column")
                content = content_of(stored, kind, before) if stored else self._content(kind, ref, salt)
                name = _name(kind, content)
                line = line_after(before, kind, content)
                if kind == "fixture" and seal_of(line) != seal:
                    line = self._kept_line(ref, before, content) or line
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError, zlib.error, sqlite3.Error):
                pass  # the journal is damaged, so the entry is not sound
            yield Link(kind, ref, name, str(seal), bool(line) and number == expected and seal_of(line) == seal, line)
            before = str(seal)

    def _kept_line(self, fixture: int, before: str, content: Mapping[str, Any]) -> str:
        """Return the kept line of a fixture whose answers have been removed.

        Return "" if there is none, or if it differs from `content` in more than the hashes of removed data.
        """
        line = self._kept().get(fixture, "")
        kept = content_of(line, "fixture", before) if line else {}
        hashes = {"answers", "private"}  # their data has been removed
        same = canonical({key: kept[key] for key in kept.keys() - hashes})
        return line if kept and same == canonical({key: content[key] for key in content.keys() - hashes}) else ""

    def differences(self, state: RunState) -> Iterator[str]:
        """Yield a sentence for each difference between the journal and its chain.

        Leave out entries whose content has changed: `entries` reports them.
        """
        played = self._without_entry("fixture")
        if not played and not self.last():  # nothing has been played, so nothing is sealed
            return
        yield from (f"{self._path(number)}: it was not sealed" for number in played)
        yield from (
            f"{kind} {ref}: it was not sealed"
            for kind in ("change", "version", "undecided")
            for ref in self._without_entry(kind)
        )
        sealed = self._sealed()
        for kind, name, content in documents(state):
            before = sealed.pop((kind, name), None)
            if before is None and kind == "stage":
                before = stage_content(name, StageStatus.WAITING)
            for key, was, found in differing(before or {}, content):
                yield f"{f'{kind} {name}'.strip()}: {key} is {canonical(found)}, but it was sealed as {canonical(was)}"
        yield from (f"stage {name}: it was sealed, and is not in the journal" for _, name in sealed)
        yield from self._unexplained_terms([stage.name for stage in state.stages])

    def _unexplained_terms(self, stages: Sequence[str]) -> Iterator[str]:
        """Yield a sentence for each changed term that may not change and that no `Change` in the chain explains."""
        before, free, raised = dict[str, Any](), {*FREE_TERMS}, dict[str, int]()
        for kind, ref, line in self._database.execute("SELECT kind, ref, line FROM chain ORDER BY number").fetchall():
            if kind == "change":
                query = "SELECT kind, what, stage, about FROM change WHERE id = ?"
                for change, what, stage, about in self._database.execute(query, (ref,)):
                    free |= {"guests"} if change == LATE else set()
                    if change == MORE and stage in stages:
                        number, after = stages.index(stage) + 1, stored_value(about, dict[str, Any]).get("after")
                        raised |= dict.fromkeys((f"config.stage.{number}.{what}", f"stages.{number}.{what}"), after)
            if kind != "terms":
                continue
            terms = _content(line, "terms")
            for key, was, found in differing(before, terms) if before else ():
                if key not in free and (key not in raised or raised[key] != found):
                    yield f"terms: {key} was changed from {canonical(was)} to {canonical(found)} during the run"
            before = dict(terms)

    def _append(self, kind: ChainEntryKind, ref: int, line: str, salt: bytes, content: Mapping[str, Any]) -> None:
        full = line_after(self.last(), kind, content)
        row = (kind, ref, line and full, salt, seal_of(full))
        self._database.execute("INSERT INTO chain(kind, ref, line, salt, seal) VALUES (?, ?, ?, ?, ?)", row)

    def _sealed(self) -> dict[tuple[str, str], Any]:
        """Return the last sealed content of the terms, by ("terms", ""), and of each stage, by ("stage", name)."""
        query = "SELECT kind, line FROM chain WHERE kind IN ('terms', 'stage') ORDER BY number"
        found = [(kind, _content(line, kind)) for kind, line in self._database.execute(query)]
        return {(kind, str(content.get("name")) if kind == "stage" else ""): content for kind, content in found}

    def _without_entry(self, kind: str) -> list[int]:
        """Return the ids of the rows in the table `kind` that have no entry in the chain, ascending."""
        query = f"SELECT id FROM {kind} WHERE id NOT IN (SELECT ref FROM chain WHERE kind = ?) ORDER BY id"
        return [number for (number,) in self._database.execute(query, (kind,))]

    def _content(self, kind: str, ref: int, salt: bytes) -> dict[str, Any]:
        """Return the content of a row's line. Raise LookupError, ValueError or TypeError if the row is damaged."""
        match kind:
            case "fixture":
                return fixture_content(self._fixture(ref), salt)
            case "undecided":
                query = "SELECT path, stage, at, about, why FROM undecided WHERE id = ?"
                path, stage, at, about, why = self._row(query, ref)
                return undecided_content(StoredUndecided(ref, path, stage, at, parsed(about), why))
            case "version":
                return self._version(ref)
            case "change":
                return self._change(ref)
        raise LookupError(f"there is no kind {kind!r}")

    def _fixture(self, number: int) -> StoredFixture:
        query = (
            "SELECT path, stage, at, about, summary, seats, scores, answers, times, banks, transcript "
            "FROM fixture JOIN record ON fixture = id WHERE id = ?"
        )
        path, stage, at, about, summary, seats, scores, answers, times, banks, transcript = self._row(query, number)
        description = parsed(about)
        faults = "SELECT id, bot, kind, evidence FROM fault WHERE fixture = ? ORDER BY id"
        states = "SELECT bot, content FROM state WHERE fixture = ? ORDER BY bot"
        return StoredFixture(
            number=number,
            path=path,
            stage=stage,
            at=at,
            about=description,
            versions=[self._version_then(bot, number) for bot in description["bots"]],
            summary=summary,
            seats=seats,
            scores=scores,
            answers=answers,
            times=times,
            banks=banks,
            transcript=transcript,
            faults=self._database.execute(faults, (number,)).fetchall(),
            states=self._database.execute(states, (number,)).fetchall(),
        )

    def _path(self, fixture: int) -> str:
        row = self._database.execute("SELECT path FROM fixture WHERE id = ?", (fixture,)).fetchone()
        return str(row[0]) if row else f"fixture {fixture}"

    def _version_then(self, bot: str, fixture: int) -> int | None:
        """Return the id of the version with which a bot plays the fixture with this number; None if there is none."""
        query = "SELECT max(id) FROM version WHERE name = ? AND after < ?"
        (found,) = self._database.execute(query, (bot, fixture)).fetchone()
        return None if found is None else int(found)

    def _version(self, number: int) -> dict[str, Any]:
        keys = ("number", "name", "sha256", "language", "entered", "entered_by", "replaces", "after")
        query = (
            "SELECT about, id, name, sha256, language, entered, entered_by, replaces, after FROM version WHERE id = ?"
        )
        about, *row = self._row(query, number)
        return {**parsed(about), **dict(zip(keys, row, strict=True))}

    def _change(self, number: int) -> dict[str, Any]:
        keys = ("number", "at", "kind", "what", "stage", "reason", "after")
        about, *row = self._row(
            "SELECT about, id, at, kind, what, stage, reason, after FROM change WHERE id = ?", number
        )
        aside = self._database.execute("SELECT fixture FROM set_aside WHERE change = ? ORDER BY fixture", (number,))
        more = {"about": parsed(about), "set_aside": [fixture for (fixture,) in aside]}
        return {**dict(zip(keys, row, strict=True)), **more}

    def _row(self, query: str, number: int) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._database.execute(query, (number,)).fetchone()
        if row is None:
            raise LookupError("a row is missing")
        return row


def documents(state: RunState) -> Iterator[tuple[ChainEntryKind, str, dict[str, Any]]]:
    """Yield (kind, name, content) for the sealed parts of a run's state: its terms, without a name, then each stage."""
    yield "terms", "", state.sealed()
    for stage in state.stages:
        yield "stage", stage.name, stage_content(stage.name, stage.status, [*stage.field], [*stage.places])


def stage_content(
    name: str, status: StageStatus, field: list[str] | None = None, places: list[str] | None = None
) -> dict[str, Any]:
    """Return the content of the line for a stage."""
    return {"name": name, "status": str(status), "field": field or [], "places": places or []}


def _content(line: str, kind: str) -> Mapping[str, Any]:
    """Return the content of a stored line; {} if it is damaged, which `entries` reports."""
    try:
        content = parsed(line)[kind]
    except (ValueError, TypeError, LookupError):
        content = None
    return content if isinstance(content, dict) else {}


def _name(kind: str, content: Mapping[str, Any]) -> str:
    """Return the name of an entry in messages."""
    match kind:
        case "fixture" | "undecided":
            return str(content["path"])
        case "change":
            return f"change {content['number']}"
        case "version":
            return f"version {content['number']} of {content['name']}"
        case "stage":
            return f"stage {content['name']}, {content['status']}"
    return kind
