"""Replaces the names of bots by numbers, for judges who must not know the authors of the bots."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from host.bots.values import Evidence
from host.games.engine import Game
from host.inspect.replay import Event
from host.inspect.table_replays import ReplayedTable, retitled
from host.journal.changes import Change
from host.journal.reader import Journal, Packed
from host.journal.state import RecordedBot, RunState, StageState, Withdrawn
from host.play.fixture_id import FixtureId, contestants, contestants_in
from host.play.records import Fixture, Record, Undecided
from host.stages.pairs import ListedMeeting

WITHHELD = ""


@dataclass(frozen=True)
class Anonymizer:
    """Names of bots in a report. A bot without a mask keeps its real name.

    The names of bots and authors are also removed from the texts that bots wrote. A bot can still reveal itself in
    other ways.
    """

    masks: Mapping[str, str] = field(default_factory=dict)  # names in the report by real name; Bot 1 first
    secret: re.Pattern[str] | None = None  # names of bots and authors to remove from texts; None: nothing is removed
    real_paths: Mapping[str, str] = field(default_factory=dict)  # real paths of fixtures, by the path in the report

    def bot(self, name: str) -> str:
        """Return the name of a bot in the report."""
        return self.masks.get(name, name)

    def all_of(self, names: Iterable[str]) -> list[str]:
        """Return the names of bots in the report, in the given order."""
        return [self.bot(name) for name in names]

    def state(self, known: RunState) -> RunState:
        """Return the state of a run with the names of the report."""
        if not self.masks:
            return known
        return replace(
            known,
            guests=self.all_of(known.guests),
            stages=tuple(map(self._stage, known.stages)),
            changes=tuple(map(self.change, known.changes)),
        )

    def _stage(self, stage: StageState) -> StageState:
        config = replace(stage.config, **self._named(vars(stage.config)))
        withdrawn = Withdrawn(*map(self.all_of, stage.withdrawn))
        return replace(
            stage,
            config=config,
            field=self.all_of(stage.field),
            places=self.all_of(stage.places),
            withdrawn=withdrawn,
        )

    def _named(self, stage: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of those keys of a stage that name bots, with the names of the report."""
        named: dict[str, Any] = {key: tuple(self.all_of(stage[key])) for key in ("references", "seeds") if key in stage}
        if "meetings" in stage:
            meetings = map(ListedMeeting.parse, stage["meetings"])
            named["meetings"] = tuple(str(meeting.renamed(self.bot)) for meeting in meetings)
        if "grades" in stage:
            named["grades"] = {self.bot(name): grade for name, grade in stage["grades"].items()}
        return named

    def bots(self, known: Mapping[str, RecordedBot]) -> dict[str, RecordedBot]:
        """Return the bots, by their names in the report. If names are masked, empty their authors and hashes."""
        if not self.masks:
            return dict(known)
        return {
            mask: known[name]._replace(name=mask, author=WITHHELD, sha256=WITHHELD)
            for name, mask in self.masks.items()
            if name in known
        }

    def path(self, path: str) -> str:
        """Return the path of a fixture or of a table with the names of the report."""
        return str(FixtureId.parse(path).with_bots(self._part)) if self.masks else path

    def record(self, record: Record) -> Record:
        """Return a record with the names of the report."""
        if not self.masks:
            return record
        return record._replace(
            path=self.path(record.path),
            results={self.bot(bot): result for bot, result in record.results.items()},
            faults={self.bot(bot): faults for bot, faults in record.faults.items()},
            usage={self.bot(bot): usage for bot, usage in record.usage.items()},
            models={self.bot(bot): costs for bot, costs in record.models.items()},
            retries={self.bot(bot): count for bot, count in record.retries.items()},
            benched=tuple(self.all_of(record.benched)),
            evidence=tuple(map(self.evidence, record.evidence)),
            undecided=record.undecided and self._undecided(record.undecided),
        )

    def _undecided(self, why: Undecided) -> Undecided:
        """Return the reason of an undecided fixture with the names of the report. Keep only what pages show of it."""
        return Undecided(
            self._cleared(why.reason),
            table=self.path(why.table),
            bots=tuple(self.all_of(why.bots)),
            given_by=tuple(self.all_of(why.given_by)),
            cause=why.cause,
        )

    def change(self, change: Change) -> Change:
        """Return a correction of the run with the names of the report."""
        if not self.masks:
            return change
        what = self.bot(change.what) if change.what in self.masks else self.path(change.what)
        about = json.loads(self._cleared(json.dumps(change.about)))
        return change._replace(what=what, reason=self._cleared(change.reason), about=about)

    def scored(self, journal: Journal, path: str) -> tuple[Fixture, Game, Packed]:
        """Return a fixture with the names of the report, its game, and its compressed scores.

        `path` is the path of the fixture in the report.
        """
        real = self.real_paths.get(path, path)
        fixture = journal.fixture(real)
        named = fixture._replace(path=path, bots=tuple(self.all_of(fixture.bots)))
        return named, journal.registry.game(fixture.game), journal.scores_of(real)

    def evidence(self, piece: Evidence) -> Evidence:
        """Return a piece of evidence with the names of the report. Remove names from its texts."""
        return piece._replace(
            bot=self.bot(piece.bot),
            detail=self._cleared(piece.detail),
            raw=self._cleared_bytes(piece.raw),
            stderr=self._cleared_bytes(piece.stderr),
            ended=self._cleared(piece.ended),
        )

    def event(self, event: Event) -> Event:
        """Return an event of a table. If it contains the note of a bot, remove names from the note."""
        facts = event.facts
        return Event(event.ev, facts | {"note": self._cleared(facts["note"])}) if "note" in facts else event

    def _part(self, part: str) -> str:
        """Return a part of a path. If it names the bots of a pairing (`contestants`), use the names of the report."""
        bots = contestants_in(part)
        masked = len(bots) > 1 and all(bot in self.masks for bot in bots)
        return contestants(self.all_of(bots)) if masked else part

    def _cleared(self, text: str) -> str:
        return self.secret.sub("…", text) if self.secret else text

    def _cleared_bytes(self, text: bytes) -> bytes:
        return self._cleared(text.decode(errors="replace")).encode() if self.secret else text


REAL_NAMES = Anonymizer()
"""An anonymizer that keeps the real name of every bot."""


def numbered(journal: Journal) -> Anonymizer:
    """Return an anonymizer that names the bots Bot 1, Bot 2, … in an order that is different in each run."""
    bots = journal.bots()
    salt = journal.state().seed_sha256
    order = sorted(bots, key=lambda bot: hashlib.sha256(f"{salt}/{bot}".encode()).digest())
    authors = (bot.author for bot in bots.values())
    longest_first = sorted(map(re.escape, filter(None, (*bots, *authors))), key=len, reverse=True)
    secret = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first) or '(?!)'})(?!\w)", re.IGNORECASE)
    names = Anonymizer({bot: f"Bot {number}" for number, bot in enumerate(order, 1)}, secret)
    return Anonymizer(names.masks, secret, {names.path(path): path for path in journal.paths()})


def renamed(table: ReplayedTable, names: Anonymizer) -> ReplayedTable:
    """Return a replayed table with the names of a report."""
    if not names.masks:
        return table
    masked = retitled(table, names.path(table.sitting.path), tuple(names.all_of(table.sitting.bots)))
    return masked._replace(
        events=list(map(names.event, masked.events)), evidence=list(map(names.evidence, table.evidence))
    )
