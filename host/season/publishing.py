"""Decides when each document of a season is published again: after an event, after a request, after a round."""

import time
from collections.abc import Sequence
from functools import partial

import trio

from host.base.errors import UserError
from host.season.documents import FaultRow, LadderDocument
from host.season.entries.inbox import Manage, StoredRequest
from host.season.intake.intake import SeasonIntake
from host.season.publish import (
    LADDER,
    Now,
    Publisher,
    bytes_on_disk,
    listed,
    own_faults,
    publish_admin,
    publish_author,
    publish_bots,
    publish_round,
    publish_rounds,
    publish_site,
    publish_tokens,
    published_ladder,
)
from host.season.rounds.book import Round
from host.season.rounds.ladder import Before, LastRound, ladder
from host.season.rounds.retention import remove_answers, too_old
from host.season.rounds.round_files import write_round_files
from host.season.rounds.round_loop import RoundPlayer
from host.season.rounds.season import ORGANISER, Season, entries_in

SHOWN_HISTORY = 200
"""Rounds after which the ladder shows the rating of a version, the newest last."""

MEASURE_INTERVAL_S = 60.0

FASTEST_S, SLOWEST_S = 0.3, 5.0
"""Seconds between two looks for something to publish."""


class Publishing:
    """Publishes the documents of a season while it is open."""

    def __init__(self, season: Season, player: RoundPlayer, intake: SeasonIntake) -> None:
        self._season, self._player, self._intake = season, player, intake
        self._publisher = Publisher(season.folder)
        self._ladder: LadderDocument | None = None
        self._faults = dict[str, tuple[FaultRow, ...]]()  # by author; they change with a round
        self._disk_bytes, self._measure_at = 0, 0.0
        self._due = list[Round]()  # rounds whose files have not been written yet

    def now(self) -> Now:
        """Return what changes from one moment to the next."""
        last = self._player.last
        return Now(
            rounds=self._player.rounds,
            ladder=self._ladder,
            places=self._intake.places(time.time()),
            next_round=self._player.next_at,
            round=last.number if last else 0,
        )

    def publish_all(self) -> None:
        """Publish everything, for example when the season is opened."""
        self._update_ladder()
        for which in self._player.rounds:
            report = f"rounds/{which.number}.html"
            exists = (self._season.folder.published / report).exists()
            publish_round(self._publisher, which, report if exists else "")
        self._after_round()
        self._publish()

    def answer(self, requests: Sequence[StoredRequest]) -> None:
        """Publish the answers to requests, before these are removed from the inbox."""
        publish_tokens(self._season, self._publisher, self._season.store.setting(ORGANISER))
        names = {getattr(each.request, "author", "") or getattr(each.request, "name", "") for each in requests}
        self._season.touched |= names
        everybody = any(isinstance(each.request, Manage) for each in requests)
        self._publish_authors(self._everybody() if everybody else names)

    def _everybody(self) -> set[str]:
        return {author.name for author in self._season.store.authors.all()}

    def round_over(self, which: Round) -> None:
        """Publish what a round has changed. Its report and tables are written later, while the next round plays."""
        self._update_ladder()
        publish_round(self._publisher, which)
        self._after_round()
        if which.counted:
            self._due.append(which)

    async def run(self) -> None:
        """Publish whatever has changed, until it is cancelled."""
        season = self._season
        while True:
            await season.bell.wait(SLOWEST_S)
            await trio.sleep(FASTEST_S)
            try:
                self._publish()
                while self._due and not self._player.prepares:  # both compute, and the next round is more urgent
                    await self._write_files(self._due.pop(0))
            except (UserError, OSError) as failed:
                season.event("waits", "published", f"{failed}".replace("\n", " "))
                await trio.sleep(SLOWEST_S)

    def _publish(self) -> None:
        now = self.now()
        publish_site(self._season, self._publisher, now)
        publish_rounds(self._publisher, now.rounds)
        if (entries := entries_in(self._season.store)) is not None:
            self._publisher.write("entries.json", entries)
        else:
            self._publisher.remove("entries.json")
        if (current := self._player.current) and current.state in ("waiting", "running"):
            publish_round(self._publisher, current)
        if time.monotonic() >= self._measure_at:  # counting the bytes of all files takes a while
            self._disk_bytes = bytes_on_disk(self._season.folder.path)
            self._measure_at = time.monotonic() + MEASURE_INTERVAL_S
        publish_admin(self._season, self._publisher, now, self._disk_bytes)
        publish_tokens(self._season, self._publisher, self._season.store.setting(ORGANISER))
        waiting = {each.author for each in self._season.store.submissions.open()}
        touched, self._season.touched = self._season.touched, set()
        if touched:  # there may be another version, or another one may play
            publish_bots(self._season, self._publisher, now)
        self._publish_authors(waiting | touched)

    def _publish_authors(self, names: set[str]) -> None:
        now, known = self.now(), self._everybody()
        for name in sorted(names & known):
            if name not in self._faults:
                labels = [version.label for version in self._season.store.versions.of_author(name)]
                self._faults[name] = own_faults(self._season, labels, now.rounds)
            publish_author(self._season, self._publisher, name, now, self._faults[name])

    def _after_round(self) -> None:
        self._faults.clear()
        self._season.touched |= self._everybody()

    def _update_ladder(self) -> None:
        """Compute the ladder after the last round that counts, unless it has been published, and publish it."""
        last = next((each for each in reversed(self._player.rounds) if each.counted), None)
        if self._ladder is None:
            self._ladder = published_ladder(self._season.folder)
        if last is None or last.counted is None or (self._ladder is not None and self._ladder.round >= last.number):
            return
        before = Before.of(self._ladder)
        history = {label: past[1 - SHOWN_HISTORY :] for label, past in before.history.items()}
        after = LastRound(last.number, last.ended or 0.0, dict(last.counted.orders))
        self._ladder = ladder(
            listed(self._season),
            self._season.totals.sums,
            after,
            Before(before.ranks, history),
            self._season.terms.places,
        )
        self._publisher.write(LADDER, self._ladder)

    async def _write_files(self, which: Round) -> None:
        """Write the report of a round and the tables of authors, in a thread: it may take seconds."""
        season = self._season
        authors = {player.label: player.author for player in which.players}
        work = partial(write_round_files, season.folder, which.number, season.tournament, authors)
        report = await trio.to_thread.run_sync(work)
        publish_round(self._publisher, which, report)
        for old in too_old(self._player.rounds, season.terms.keep):
            note = await trio.to_thread.run_sync(remove_answers, season.folder, old, season.tournament)
            self._player.replace(season.book.note(old, note))
            publish_round(self._publisher, old._replace(note=note))
            season.event("kept", f"round {old.number}", note)
