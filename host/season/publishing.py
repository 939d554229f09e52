"""Publishes the documents of a season, after the transactions of its store, in the database that the site reads.

The store remembers its changes (`Store.touched`) until they have been published, so no change is lost if the disk is
full. A season publishes everything again when it is opened; rows that have not changed stay as they are.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import trio

from host.base.errors import UserError
from host.base.paths import size_of
from host.season.documents import (
    ANSWER,
    AUTHOR,
    BOT,
    DOCUMENT,
    OWN_TABLES,
    ROUND,
    SUBMISSION,
    FaultRow,
    OwnTables,
    PublishedAuthor,
    SiteDocument,
    report_of,
    topic_of,
)
from host.season.entries.queue import Quota
from host.season.entries.store import Touched
from host.season.entries.table import V
from host.season.intake.intake import SeasonIntake
from host.season.publish import (
    SHOWN_FAULTS,
    admin_document,
    bot_documents,
    listed,
    own_faults,
    published_round,
    site_document,
    start_faults,
    submission_row,
    with_authors,
)
from host.season.rounds.book import Round
from host.season.rounds.chain import is_final_over
from host.season.rounds.ladder import Before, LastRound, ladder
from host.season.rounds.retention import remove_answers, too_old
from host.season.rounds.round_files import KEPT_FILES, RoundFiles, has_records, made_files, write_records
from host.season.rounds.round_loop import REFERENCE, RoundPlayer
from host.season.rounds.season import ORGANISER, Season, entries_in
from host.season.site_database import SiteDatabase
from host.submissions.build import builds

SHOWN_HISTORY = 200
"""How many ratings of a version the ladder keeps: one for each of the last rounds."""

MEASURE_INTERVAL_S = 60.0
DOING_INTERVAL_S = 3.0
"""Shortest time in seconds until the current work (`now`) is published again, if nothing else has changed."""

FASTEST_S, SLOWEST_S = 0.3, 5.0
"""Seconds between two checks for changes: FASTEST_S after the bell, or SLOWEST_S + FASTEST_S if it does not ring."""


class Publishing:
    """Publishes the documents of a season while it is open."""

    def __init__(self, season: Season, player: RoundPlayer, intake: SeasonIntake, site: SiteDatabase) -> None:
        self._season, self._player, self._intake, self._site = season, player, intake, site
        self._shown = dict[int, Round]()  # rounds as they have been published
        self._faults = dict[str, tuple[FaultRow, ...]]()  # at tables, by author; they change with each round
        over = [each for each in player.rounds if each.counted]
        self._recorded = {each.number for each in over if has_records(season.folder, each)}  # also damaged rounds
        self._everything: object = None  # what concerns all authors and bots, as published last; None after a round
        self._document: SiteDocument | None = None
        self._disk_bytes, self._measure_at, self._doing_at = 0, 0.0, 0.0

    def round_over(self) -> None:
        """Publish the changes by a round that is over. `run` writes its files later, while the next round plays."""
        self._faults.clear()
        self._everything = None  # also after a damaged round, which leaves the ladder as it is
        self.publish()

    async def run(self) -> None:
        """Publish each change within seconds, and write the files of finished rounds, until this task is cancelled."""
        season = self._season
        while True:
            await season.bell.wait(SLOWEST_S)
            await trio.sleep(FASTEST_S)
            try:
                if not season.final_over:
                    season.final_over = await trio.to_thread.run_sync(is_final_over, season)
                self.publish()
                while not self._player.prepares and await self._write_due():  # the next round is more urgent
                    self.publish()
                season.goes_on("published")
            except (UserError, OSError) as failed:
                season.waits("published", failed)
                await trio.sleep(SLOWEST_S)

    def publish(self) -> None:
        """Publish all changes since the last call. Raise UserError or OSError if it fails; the next call repeats it."""
        season, rounds = self._season, self._player.rounds
        season.chain.update(season, rounds)
        if self._everything is None:  # the chain comes first: an export at any moment must find the round of the ladder
            self._update_ladder()
        ladder, touched = season.ladder, season.store.touched()
        everything = (season.state, season.closes, season.terms, ladder and ladder.round, len(rounds))
        if everything != self._everything:
            touched = touched._replace(authors={author.name for author in season.store.authors.all()})
        with self._site.database.transaction():
            self._publish_public(touched)
            self._publish_private(touched)
        season.store.forget(touched)
        self._everything = everything
        self._shown = {each.number: each for each in rounds}

    def _publish_public(self, touched: Touched) -> None:
        season, site, player, before = self._season, self._site, self._player, self._document
        document = site_document(season, player.last.number if player.last else 0, player.next_at)
        if (
            before is None
            or time.monotonic() >= self._doing_at
            or before != msgspec.structs.replace(document, now=before.now)
        ):
            site.document("site", document)
            self._document, self._doing_at = document, time.monotonic() + DOING_INTERVAL_S
        if season.ladder and touched.authors:  # a new ladder touches all authors
            site.document("ladder", with_authors(season.store, season.ladder))
        if (entries := entries_in(season.store)) is not None:
            site.document("entries", entries)
        else:
            site.remove("entries", DOCUMENT, name="entries")
        for which in player.rounds:
            if self._shown.get(which.number) is not which:
                site.put("rounds", ROUND, published_round(which, self._report_of(which)))
        if touched.authors:  # there may be a new version, or another version may play
            for bot in bot_documents(season, player.rounds, touched.authors):
                site.put("bots", BOT, bot)

    def _report_of(self, which: Round) -> str | None:
        """Return the path of a round's report below published/: None if not made yet, empty if there will be none."""
        name, known = report_of(which.number), self._site.round(which.number)
        if which.counted is None or which.number <= len(self._player.rounds) - KEPT_FILES:
            return ""
        if known is None or known.row.state != "finished":
            return None
        return known.report if not known.report or (self._season.folder.published / name).exists() else None

    def _publish_private(self, touched: Touched) -> None:
        season, site, store = self._season, self._site, self._season.store
        places = self._intake.places(time.time())
        if time.monotonic() >= self._measure_at:  # counting the bytes of all files takes a while
            self._disk_bytes = size_of(season.folder.path) + size_of(builds())
            self._measure_at = time.monotonic() + MEASURE_INTERVAL_S
        site.document("admin", admin_document(season, places, self._disk_bytes))
        site.put("admin", AUTHOR, PublishedAuthor("", store.setting(ORGANISER), Quota(), ()))
        known = {author.name: author.token_sha256 for author in store.authors.all()}
        for name in site.tokens():
            if name and name not in known:
                site.remove(topic_of(name), AUTHOR, author=name)
        for submission in [*store.submissions.open(), *map(store.submissions.get, sorted(touched.submissions))]:
            if submission is not None:
                site.put(topic_of(submission.author), SUBMISSION, submission_row(submission, places))
        for author in sorted(touched.authors & {*known}):
            for answer in (answers := store.events.answers(author)):
                site.put(topic_of(author), ANSWER, answer)
            if answers:
                site.remove_old(topic_of(author), ANSWER, "at", answers[0].at, author=author)
            quota = Quota(season.terms.author_limits, store.used(author, time.time()))
            row = PublishedAuthor(author, known[author], quota, self._faults_of(author))
            site.put(topic_of(author), AUTHOR, row)

    def _faults_of(self, author: str) -> tuple[FaultRow, ...]:
        versions = self._season.store.versions.of_author(author)
        if author not in self._faults:
            self._faults[author] = own_faults(self._season, versions, self._player.rounds)
        return (start_faults(versions) + self._faults[author])[:SHOWN_FAULTS]

    def _update_ladder(self) -> None:
        """Compute and store the ladder after the last finished round, unless the store has this ladder already."""
        season, last = self._season, next((each for each in reversed(self._player.rounds) if each.counted), None)
        if last is None or last.counted is None or (season.ladder is not None and season.ladder.round >= last.number):
            return
        before = Before.of(season.ladder)
        history = {label: past[1 - SHOWN_HISTORY :] for label, past in before.history.items()}
        tables = {frozenset(each.labels): each.tables for each in last.counted.meetings}
        after = LastRound(last.number, last.ended or 0.0, dict(last.counted.orders), tables)
        found = ladder(listed(season), season.totals.sums, after, Before(before.ranks, history), season.terms.places)
        season.set_ladder(found)

    # The files of a round that is over.

    async def _write_due(self) -> bool:
        """Write the newest missing records of a round or, if none are missing, the newest missing report.

        Return whether anything was missing.
        """
        due, rounds = self._site.round_without_report(), [*reversed(self._player.rounds)]
        if which := next((each for each in rounds if each.counted and each.number not in self._recorded), None):
            await self._write(which, "records", write_records)
            self._recorded.add(which.number)
        elif which := next((each for each in rounds if each.number == due), None):
            await self._write_files(which)
        return which is not None

    async def _write(self, which: Round, what: str, write: Callable[..., V], *more: Any) -> V | None:
        """Call `write` for a round in a thread, because it may take seconds, and return its result.

        If the journal of the round is damaged, log that the round has no `what`, and return None. Raise UserError if
        the machine lacks something.
        """
        season = self._season
        try:
            return await trio.to_thread.run_sync(write, season.folder, which.number, season.tournament, *more)
        except UserError as damaged:
            if damaged.exit_code == 6:
                raise
            season.event("warning", f"round {which.number}", f"has no {what}: {damaged.problems[0].message}")
            return None

    async def _write_files(self, which: Round) -> None:
        """Write the report of a round, and publish its bots' own tables.

        Remove both for rounds that are too old, and remove the answers of rounds for which `keep` has no room.
        """
        season = self._season
        own = [player.label for player in which.players if not player.author.startswith(REFERENCE)]
        bots = {label: label.rpartition("-")[0] for label in own}
        files = await self._write(which, "report", made_files, bots) or RoundFiles("", {})

        last, site = which.number - KEPT_FILES, self._site
        with site.database.transaction():
            site.put("rounds", ROUND, published_round(which, files.report))
            for bot, content in files.tables.items():
                author = season.store.submissions.owner(bot)  # the author may have been renamed since the round
                site.put(topic_of(author), OWN_TABLES, OwnTables(bot, which.number, content))
            site.remove_old("rounds", OWN_TABLES, "round", last + 1)
            for old in site.rounds_with_report():
                if old.number <= last:
                    site.put("rounds", ROUND, old._replace(report=""))
        self._everything = ()  # bots have another replay
        for large in too_old(self._player.rounds, season.terms.keep):
            note = await trio.to_thread.run_sync(remove_answers, season.folder, large, season.tournament)
            self._player.replace(season.book.note(large, note))
            season.event("kept", f"round {large.number}", note)
