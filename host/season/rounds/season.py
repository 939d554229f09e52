"""The state that the tasks of a season process share: its terms, its store, and its current activity."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

import msgspec
import trio

from host.base.errors import UserError
from host.config.difference import difference
from host.config.tournament_config import Tournament
from host.games.luck import digest_of
from host.season.documents import EntriesDocument, EntryRow, LadderDocument, State
from host.season.entries.inbox import arrivals
from host.season.entries.store import Store
from host.season.entries.values import Submission, Version
from host.season.folder import SeasonFolder
from host.season.intake.requests import ENTRIES, PAUSED, EntryTerms, closing_time, is_closed, reopen
from host.season.rounds.book import Book, SeasonTotals
from host.season.rounds.chain import TERMS, SeasonChain, public_terms
from host.season.rounds.play import how_tables_are_played
from host.season.season_config import SeasonTable, terms_of

ORGANISER, SITE, LADDER = "organiser", "site", "ladder"
"""Names of settings of the store. `organiser`: the SHA-256 of the secret of the organiser's link.
`site`: the address of the site in links. `ladder`: the last ladder, as JSON."""

SITE_CHANGED = "how the site is reached has changed"

Log = Callable[[str, str, str], None]
"""Takes an event: its kind, its subject and a sentence."""


def entries_in(store: Store) -> EntriesDocument | None:
    """Return the entries of the final; None before they are fixed."""
    return store.value(ENTRIES, EntriesDocument)


def ladder_in(store: Store) -> LadderDocument | None:
    """Return the ladder after the last round; None before the first."""
    return store.value(LADDER, LadderDocument)


class Bell:
    """Wakes tasks that wait for a change."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        """Wake all tasks that wait."""
        self._rung.set()
        self._rung = trio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait until `ring` is called, but at most `seconds`."""
        rung = self._rung
        with trio.move_on_after(max(seconds, 0)):
            await rung.wait()


def no_log(_kind: str, _subject: str, _text: str) -> None:
    """Print no event."""


class Season:
    """A season that is open in this process."""

    def __init__(self, folder: SeasonFolder, tournament: Tournament, store: Store, log: Log = no_log) -> None:
        self.folder, self.tournament, self.store = folder, tournament, store
        self.seed = folder.seed()
        self.book, self.totals, self.bell = Book(store), SeasonTotals(), Bell()
        self.chain = SeasonChain(store)
        self.final_over = False
        """Whether the final is known to have been played (`is_final_over`)."""
        self._log = log
        self._waits = dict[str, str]()  # by task that waits for the machine: the reason
        self.now = ""
        """The current activity, in a line."""
        self.url = ""
        """The address at which the site of the season listens, or will soon; empty if another process runs the site."""

    @property
    def terms(self) -> SeasonTable:
        """Return the table [season] of croupier.toml."""
        return terms_of(self.tournament)

    def event(self, kind: str, subject: str, text: str) -> None:
        """Store an event, print it, and wake the tasks that wait for a change."""
        self._log(kind, subject, text)
        with suppress(UserError):  # on a full disk it is only printed
            self.store.events.add(time.time(), kind, subject, text)
        self.bell.ring()

    def waits(self, what: str, failed: UserError | OSError) -> None:
        """Store an event: the task `what` waits because the machine lacks something, and the season will try again.

        If the task already waits for the same reason, store nothing. The task waits until `goes_on` is called for it.
        """
        problems = failed.problems if isinstance(failed, UserError) else ()
        reason = "\n".join(f"{each.code} {each.where}" for each in problems) or str(failed)
        if self._waits.get(what) != reason:
            self._waits[what] = reason
            self.event("waits", what, f"{failed}; it is tried again".removeprefix("error").replace("\n", " "))

    def goes_on(self, what: str) -> None:
        """Note that the task `what` no longer waits for the machine, so that its next failure is an event again."""
        self._waits.pop(what, None)

    def _set_with_event(self, name: str, value: str, kind: str, subject: str, text: str) -> None:
        """Store a setting and its event in one transaction, so that `season verify` finds both or neither.

        Print the event.
        """
        with self.store.transaction():
            self.store.set_setting(name, value)
            self.store.events.add(time.time(), kind, subject, text)
        self.logged(kind, subject, text)

    def logged(self, kind: str, subject: str, text: str) -> None:
        """Print an event that is in the store already, and wake the tasks that wait for a change."""
        self._log(kind, subject, text)
        self.bell.ring()

    def site_is_at(self, url: str) -> None:
        """Store the address of the site. `season invite` makes links with it, even before the site listens."""
        self.url = url
        if self.store.setting(SITE) != url:
            self.store.set_setting(SITE, url)

    def listens(self, url: str) -> None:
        """Store the address at which the site listens now, and print it."""
        self.site_is_at(url)
        self.logged("site", "process", f"listens at {url}")

    def doing(self, what: str) -> None:
        """Set the current activity (a line, empty for none), and wake the tasks that wait if it has changed."""
        if what != self.now:
            self.now = what
            self.bell.ring()

    # Its state.

    @property
    def paused(self) -> str:
        """Return why the season is paused; empty if it is not paused."""
        return self.store.setting(PAUSED)

    @property
    def closes(self) -> float | None:
        """Return when entry closes, in seconds since 1970; None if no time is set.

        Entry closes at `freeze` plus the grace period, or earlier if the organiser has closed it.
        """
        return closing_time(self.store, self.terms.closes)

    def frozen(self) -> bool:
        """Return whether entry is closed."""
        return is_closed(self.closes, time.time())

    def entry_is_settled(self) -> bool:
        """Return whether entry is closed, and everything that was received before that has been read and has a verdict."""
        if not self.frozen() or self.waiting():
            return False
        return all(is_closed(self.closes, at) for at in arrivals(self.folder.inbox))

    def waiting(self) -> list[Submission]:
        """Return the submissions that were received before entry closed, and have no verdict yet."""
        return [each for each in self.store.submissions.open() if not is_closed(self.closes, each.at)]

    @property
    def state(self) -> State:
        """Return the state of the season: "final" once the final is made, "paused", "frozen" or "open"."""
        if self.folder.final_file.exists():
            return "final"
        if self.paused:
            return "paused"
        return "frozen" if self.frozen() else "open"

    # Who plays.

    def entered(self) -> list[Version]:
        """Return the versions that play in rounds.

        A version whose submission was received after entry had closed does not play.
        """
        late = self.late()
        return [version for version in self.store.versions.playing() if version.label not in late]

    def late(self) -> set[str]:
        """Return the labels of the versions whose submissions were received after entry had closed."""
        return set() if self.closes is None else {version.label for _, version in self.store.versions.late(self.closes)}

    def fix_entries(self) -> EntriesDocument:
        """Store the entries of the final, which are the versions that play in rounds now. Return the entries.

        Call this when entry is settled.
        """
        entries = tuple(EntryRow(version.label, version.author, version.sha256) for version in self.entered())
        digest = digest_of(bytes.fromhex(entry.sha256) for entry in entries).hex()
        document = EntriesDocument(time.time(), digest, entries)
        text = f"{len(entries)} bots of the final are fixed, digest {digest}"
        self._set_with_event(ENTRIES, msgspec.json.encode(document).decode(), "entries", "final", text)
        return document

    # The ladder.

    @cached_property
    def ladder(self) -> LadderDocument | None:
        """Return the ladder after the last round; None before the first."""
        return ladder_in(self.store)

    def set_ladder(self, ladder: LadderDocument) -> None:
        """Store the ladder after a round."""
        self.store.set_setting(LADDER, msgspec.json.encode(ladder).decode())
        self.ladder = ladder

    # Changes of the terms.

    def take_terms(self, tournament: Tournament) -> None:
        """Use an edited croupier.toml from now on. If its terms have changed, store an event that names the changes.

        If entry was closed by the old terms, and the new ones close it later, entry is open again until then. If an
        author may have fewer versions that play, those that were entered first are stopped, unless entry is closed.
        Raise UserError if the terms cannot be stored; then the old terms stay in force.
        """
        after, terms = terms_text(tournament), terms_of(tournament)
        before = self.store.value(TERMS, dict)
        if before is None:
            self.store.set_setting(TERMS, after)
        elif self.store.setting(TERMS) != after:
            changes = difference(_spelled(public_terms(before)), _spelled(public_terms(json.loads(after))))
            kind, text = ("terms", f"the terms have changed: {changes}") if changes else ("site", SITE_CHANGED)
            with self.store.transaction():
                self._set_with_event(TERMS, after, kind, "croupier.toml", text)
                self._reopen_if_later(before["season"], terms)
                if not is_closed(closing_time(self.store, terms.closes), time.time()):
                    for version in self.store.versions.keep_newest(terms.active):
                        self.event("inactive", version.label, "its author may have fewer versions that play")
        self.tournament = tournament

    def _reopen_if_later(self, before: dict[str, Any], terms: SeasonTable) -> None:
        """Open entry again if it was closed by `before`, the old [season], and closes later by the new terms.

        Change nothing if the final has been made.
        """
        closed = closing_time(self.store, before["freeze"] + before["grace"] if before["freeze"] else None)
        if closed is None or closed > time.time() or self.folder.final_file.exists():
            return
        if not is_closed(closing_time(self.store, terms.closes), closed):
            reopen(self.store, closed, EntryTerms(terms.author_limits, closes=terms.closes))
            self.event("unfreeze", "croupier.toml", "entry is open again: it closes later")


def _spelled(terms: dict[str, Any]) -> dict[str, Any]:
    """Return public terms as croupier.toml spells them, with dates and units."""
    usual = msgspec.to_builtins(SeasonTable())
    known = usual | terms["season"] | {"per_author": usual["per_author"] | terms["season.per_author"]}
    season = msgspec.convert(known, SeasonTable).settings()
    return terms | {"season.per_author": season.pop("per_author"), "season": season}


def terms_text(tournament: Tournament) -> str:
    """Return the terms of a season as JSON: [season], and the settings that decide how tables are played."""
    season = terms_of(tournament)
    own = {key: value for key, value in vars(season).items() if key != "per_author"}
    tables = {"season": own, "season.per_author": vars(season.per_author)} | json.loads(
        how_tables_are_played(tournament)
    )
    return json.dumps(tables, sort_keys=True, default=list)
