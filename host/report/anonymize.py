"""A journal whose bots wear numbers, for judges who must not know whose they are."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from host.bots.values import Evidence
from host.play.records import Record
from host.report.replay import Event
from host.report.table_replays import Place, Shown, load
from host.tournament.journal import Journal
from host.tournament.seat_effects import Effects
from host.tournament.stages import contestants

WITHHELD = ""


class Blind(Journal):
    """A journal as it may be judged: no names, no authors, no hashes; who is Bot 3 is another in every run.

    What bots have said themselves is cleared of names and authors, but a bot can still give itself away.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal._database, journal.path)
        self.seen = journal
        bots = super().bots()
        salt = super().facts().get("seed_sha256", "")
        order = sorted(bots, key=lambda bot: hashlib.sha256(f"{salt}/{bot}".encode()).digest())
        self._masks = {bot: f"Bot {number}" for number, bot in enumerate(order, 1)}
        self._paths = {self._path(path): path for path in super().paths()}
        telling = [*bots, *(str(about["author"]) for about in bots.values() if about.get("author"))]
        longest_first = sorted(map(re.escape, filter(None, telling)), key=len, reverse=True)
        self._telling = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first) or '(?!)'})(?!\w)", re.IGNORECASE)

    def facts(self) -> dict[str, str]:
        """Return what is known of the run, orders of bots by their numbers, the config without its bots."""
        facts = super().facts()
        config = json.loads(facts.get("config", "{}"))
        facts["config"] = json.dumps({key: value for key, value in config.items() if key != "bots"})
        for key in facts:
            if key.startswith("order "):
                facts[key] = json.dumps([self._masks.get(bot, bot) for bot in json.loads(facts[key])])
        return facts

    def bots(self) -> dict[str, dict[str, Any]]:
        """Return the bots by their numbers, in that order."""
        known = super().bots()
        return {
            mask: known[bot] | {"author": WITHHELD, "sha256": WITHHELD}
            for bot, mask in self._masks.items()
            if bot in known
        }

    def paths(self, stage: str | None = None) -> list[str]:
        """Return the paths of the fixtures, contestants by their numbers."""
        return list(map(self._path, super().paths(stage)))

    def records(self, stage: str | None = None, since: int = 0) -> Iterator[tuple[int, Record]]:
        """Yield the records, bots by their numbers."""
        for number, record in super().records(stage, since):
            yield number, self._record(record)

    def whole(self, path: str) -> tuple[Record, dict[str, Any]] | None:
        """Return a fixture by its masked path."""
        found = super().whole(self._paths[path])
        return found and (self._record(found[0]), self._about(found[1]))

    def scored(self, path: str) -> tuple[dict[str, Any], bytes]:
        """Return what a fixture is about, by its masked path, and its scores."""
        about, scores = super().scored(self._paths[path])
        return self._about(about), scores

    def evidence(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[tuple[int, str, Evidence]]:
        """Yield evidence, bots by their numbers."""
        for number, path, piece in super().evidence(where, values):
            yield number, self._path(path), self._evidence(piece)

    def table(self, seed: bytes, place: Place) -> Shown:
        """Return the table at a place; it is dealt by its real name, which is in its luck."""
        real = self._paths[place.fixture]
        (found,) = load(self.seen, seed, real, [place.nth])
        return self._table(found)

    def effects(self, found: Effects | None) -> Effects | None:
        """Return effects that were found in the journal itself, where seats are drawn by names."""
        return found and found._replace(
            late=tuple(effect._replace(bot=self._masks.get(effect.bot, effect.bot)) for effect in found.late)
        )

    def _table(self, table: Shown) -> Shown:
        seat = table.sitting
        bots = tuple(self._names(seat.bots))
        sitting = seat._replace(bots=bots, path=self._path(seat.path), luck=WITHHELD)
        happened = [
            Event(ev, facts | {"table": sitting.path, "bots": list(bots)}) if ev == "table.start" else Event(ev, facts)
            for ev, facts in table.events
        ]
        return table._replace(
            sitting=sitting, events=happened, evidence=[self._evidence(piece) for piece in table.evidence]
        )

    def _path(self, path: str) -> str:
        return "/".join(self._part(part) for part in path.split("/"))

    def _part(self, part: str) -> str:
        """Return a part of a path; one that names who plays (stages.contestants) names their numbers."""
        bots = [unquote(name) for name in part.split("+")]
        known = len(bots) > 1 and all(bot in self._masks for bot in bots)
        return contestants([self._masks[bot] for bot in bots]) if known else part

    def _record(self, record: Record) -> Record:
        def masked(by_bot: dict[str, Any]) -> dict[str, Any]:
            return {self._masks.get(bot, bot): value for bot, value in by_bot.items()}

        return record._replace(
            path=self._path(record.path),
            results=masked(record.results),
            faults=masked(record.faults),
            usage=masked(record.usage),
            benched=tuple(self._names(record.benched)),
            evidence=tuple(self._evidence(piece) for piece in record.evidence),
        )

    def _names(self, bots: Iterable[str]) -> Iterator[str]:
        return (self._masks.get(bot, bot) for bot in bots)

    def _about(self, about: dict[str, Any]) -> dict[str, Any]:
        return about | {"path": self._path(about["path"]), "bots": list(self._names(about["bots"]))}

    def _evidence(self, piece: Evidence) -> Evidence:
        def clean(said: bytes) -> bytes:
            return self._cleared(said.decode(errors="replace")).encode()

        return piece._replace(
            bot=self._masks.get(piece.bot, piece.bot),
            detail=self._cleared(piece.detail),
            raw=clean(piece.raw),
            stderr=clean(piece.stderr),
            ended=self._cleared(piece.ended),
        )

    def _cleared(self, text: str) -> str:
        return self._telling.sub("…", text)
