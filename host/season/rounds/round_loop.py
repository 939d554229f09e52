"""Plays the rounds of a season, one after another: plans each round, plays it, and adds up its results."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from statistics import median_low
from typing import NamedTuple

import trio

from host.backends.local import WorkerFailed
from host.base.errors import Problem, UserError, cause_of
from host.base.format import counted, duration, thousands
from host.season.entries.values import Version
from host.season.folder import round_root
from host.season.intake.pruning import require_room
from host.season.intake.requests import PAUSED
from host.season.rounds.book import Round
from host.season.rounds.play import read_round, write_round
from host.season.rounds.scheduler import Player, RoundTerms, is_uniform, next_round
from host.season.rounds.season import Season
from host.submissions.discovery import load_submissions
from host.tournament.loading import load_checked
from host.tournament.progress import Progress
from host.tournament.running import RunOptions, play_tournament
from host.tournament.stage_runner import Backend

FIRST_TABLES_EACH = 10
"""The number of tables of each version in a round while no speed has been measured, if a table has two seats."""

LEAST_COST = 0.02
"""The least cost of a table, however fast its version is; a version in the middle of the field has the cost 1."""

REFERENCE = "/"
"""The first character of the author's name that a reference has in a round; no author of a season has such a name."""

MAX_GROWTH = 4.0
"""A round has at most this many times the tables of the last round that counts.

So a wrong measurement of the speed does no harm."""

TRY_AGAIN_S = 10.0
"""Seconds after which the season tries again what the machine could not do, for example because its disk was full."""

MAX_DAMAGED = 3
"""Damaged rounds in a row after which the season pauses: then the cause is not in one of these rounds."""

MAX_STALLED = 3
"""Attempts to prepare the bots of a round: the first ones may fail because the machine is too busy.

After the last attempt, the versions that do not start are taken off the ladder."""

IDLE_S = 5.0

NO_START = "no longer starts ({})"

OpenedBackend = Callable[[Callable[[str], None]], AbstractAsyncContextManager[Backend]]
"""Opens the backend that plays a round. Its argument is called with a report of lost work.

On this machine, the workers are kept from one round to the next."""


class RoundLog(NamedTuple):
    """Observer of a round while it is played: counts its tables, and stores the warnings of the runner."""

    season: Season
    number: int
    counts: list[int]  # fixtures done, fixtures known, tables done

    def say(self, text: str) -> None:
        """Store a warning of the runner as an event. Ignore its other lines."""
        if text.startswith("WARNING"):
            self.season.event("warning", f"round {self.number}", text.removeprefix("WARNING").strip())

    def progress(self, progress: Progress) -> None:
        """Count the fixtures and tables that have been played. Show the number of fixtures as the current activity."""
        self.counts[:2] = progress.done, progress.known
        if progress.record is not None:
            self.counts[2] += max((each.tables for each in progress.record.results.values()), default=0)
        self.season.doing(f"round {self.number}: {progress.done} of {progress.known} fixtures")


class RoundPlayer:
    """Plays the rounds of a season.

    If a round fails, earlier rounds keep their results, and the next round is played.
    """

    def __init__(self, season: Season, backend: OpenedBackend, workers: int) -> None:
        self._season, self._backend, self._workers = season, backend, workers
        self.current: Round | None = None
        self.next_at: float | None = None
        self.rounds = season.book.rounds()
        """All rounds in their order."""
        self._damaged = self._stalled = 0
        self._announced = 0
        """The number of the last round whose beginning, or continuation, this process has logged."""
        self._goes_on = False
        """Whether the last round failed because of a version that is off the ladder now.

        The next round then begins immediately."""
        self.prepares = False
        """Whether the bots of a round are being prepared."""
        for each in self.rounds:
            season.totals.add(each)

    @property
    def last(self) -> Round | None:
        """Return the last round that has been planned; None before the first."""
        return self.rounds[-1] if self.rounds else None

    def replace(self, which: Round) -> None:
        """Replace the round of the same number in `rounds`, for example after its note has changed."""
        at = next(nth for nth, each in enumerate(self.rounds) if each.number == which.number)
        self.rounds[at] = which

    async def run(self, over: Callable[[], None]) -> None:
        """Play rounds until this task is cancelled. Call `over` after each round that is finished or damaged.

        If the machine lacks something, wait and try again. Raise UserError for any other problem.
        """
        while True:
            failure: BaseException | None = None
            try:
                await self._step(over)
                self._season.goes_on("rounds")
            except* (UserError, OSError) as failed:
                failure = cause_of(failed.subgroup(is_of_machine) or failed)
            if isinstance(failure, UserError) and failure.exit_code != 6:
                raise failure
            if isinstance(failure, (UserError, OSError)):
                self._season.waits("rounds", failure)
                await trio.sleep(TRY_AGAIN_S)

    async def _step(self, over: Callable[[], None]) -> None:
        """Play one round, or wait for a while if there is none to play.

        Raise UserError or OSError if it fails, for example because the machine lacks something.
        """
        season = self._season
        if season.state in ("paused", "final"):
            season.doing("" if season.state == "final" else f"paused: {season.paused}")
            await season.bell.wait(IDLE_S)
            return
        which = self._unfinished() or self._planned()
        if which is None:
            await season.bell.wait(min(IDLE_S, max((self.next_at or 0) - time.time(), 0.05)))
            return
        await self._play_until_paused(which)
        if self.current is not None and self.current.state in ("finished", "damaged"):
            self._settle(self.current, over)

    def _unfinished(self) -> Round | None:
        """Return the last round if it is not over, for example because the process was restarted; otherwise None."""
        last = self.last
        return last if last is not None and last.state in ("waiting", "running") else None

    def _planned(self) -> Round | None:
        """Plan the next round, store it, and return it.

        Return None if it is too early, or if versions of too few authors can play.
        """
        season, last = self._season, self.last
        now = time.time()
        self.next_at = now if last is None or self._goes_on else due_at(last.began or 0, season.terms.round_every, now)
        if now < self.next_at:
            return None
        number = last.number + 1 if last else 1
        versions = season.entered()
        paces = {each.label: season.totals.pace.get(each.label, each.pace) for each in versions}
        costs, middle = costs_of(paces), middle_of(paces) * (season.totals.uniform_pace if is_uniform(number) else 1)
        players = tuple(
            Player(each.label, each.author, season.totals.since.get(each.label, number), costs[each.label])
            for each in sorted(versions, key=lambda each: each.label)
        )
        players += self._references(players)
        terms = RoundTerms(
            number=number,
            seats=season.tournament.rules.seats,
            tables=self._tables(len(players), middle),
            places=season.terms.places,
            fewest=season.tournament.game.seats[0],
        )
        meetings = next_round(players, season.totals.sums, terms)
        if not meetings:
            self.next_at = None
            season.doing("waits for versions of two authors")
            return None
        which = season.book.plan(terms, players, meetings)
        self._goes_on = False
        self.rounds.append(which)
        return which

    def _references(self, players: Sequence[Player]) -> tuple[Player, ...]:
        """Return the references as players if authors take part, but too few for a table; otherwise no players.

        References are not on the ladder.
        """
        season = self._season
        fewest = season.tournament.game.seats[0]
        if not 0 < len({each.author for each in players}) < fewest:
            return ()
        tournament, terms = season.tournament, season.terms
        found = load_submissions(terms.references, season.folder.path, tournament.game, tournament.limits)
        # References meet each other only if a table has more than two seats.
        return tuple(Player(each.name, REFERENCE + each.name if fewest > 2 else REFERENCE, 1) for each in found)

    def _tables(self, players: int, middle: float) -> int:
        """Return the number of tables of a round: as many as fit into its time budget by the measured speed.

        `middle` is the worker time in seconds of a table of a version in the middle of the field.
        """
        season, last = self._season, next((each for each in reversed(self.rounds) if each.counted), None)
        seats: int = season.tournament.rules.seats
        if not season.totals.speed or last is None:
            return max(FIRST_TABLES_EACH * players // 2, seats)
        speed = season.totals.workers / (seats * middle) if middle else season.totals.speed
        most = MAX_GROWTH * max(last.terms.tables, FIRST_TABLES_EACH)
        return max(int(min(speed * season.terms.budget, most)), seats)

    async def _play_until_paused(self, which: Round) -> None:
        """Play a round to its end, or until the season is paused.

        A paused round keeps its finished fixtures, and is continued later.
        """
        self.current = which
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_if_paused, nursery.cancel_scope)
            self.current = await self._play(which)
            nursery.cancel_scope.cancel()

    async def _cancel_if_paused(self, scope: trio.CancelScope) -> None:
        while not self._season.paused:
            await self._season.bell.wait(1.0)
        scope.cancel()

    async def _play(self, which: Round) -> Round:
        """Play a round, or its remaining fixtures. Return the round as finished or damaged.

        If the machine cannot play it now, wait, and return a round that is still to be played.
        """
        season, place = self._season, self._season.folder.round(which.number)
        problem: BaseException
        try:
            require_room(season.folder.path, which.began)
            season.chain.update(season, self.rounds)  # publishes the versions of the round before its first table
            own = [player.label for player in which.players if not player.author.startswith(REFERENCE)]
            versions = [season.store.versions.labelled(label) for label in own]
            self._write(which, versions)
            text = "goes on" if which.began else f"begins: {self._size_of(which)}"
            which = self.rounds[-1] = self.current = season.book.begin(which)
            if self._announced != which.number:
                season.event("round", str(which.number), text)
                self._announced = which.number
            log, began = RoundLog(season, which.number, [0, 0, 0]), time.monotonic()
            first_table, self.prepares = [began], True

            def begin() -> None:
                first_table[0], self.prepares = time.monotonic(), False

            loaded = load_checked(place, log.say)
            async with self._backend(log.say) as backend:
                options = RunOptions(workers=self._workers)
                await play_tournament(loaded, log, backend, options, begin)
            speed = log.counts[2] / max(time.monotonic() - first_table[0], 0.001)
            brought = read_round(place, loaded.tournament, speed)
            which = season.book.finish(which, brought.sums, brought.seal, brought.seed)
            season.goes_on(f"round {which.number}")
            took = f"{duration(time.monotonic() - began)}, ready after {duration(first_table[0] - began)}"
            tables = counted(brought.sums.all_tables, "table")
            season.event("round", str(which.number), f"is over: {tables} in {took}, seal {brought.seal[:16]}…")
            return which
        except* UserError as refused:
            problem = cause_of(refused)
        except* (OSError, WorkerFailed) as failed:
            problem = cause_of(failed)
        finally:
            self.prepares = False
        return await self._after_failure(which, problem)

    def _write(self, which: Round, versions: list[Version]) -> None:
        season = self._season
        playing = {label for meeting in which.meetings for label in meeting.labels}
        bots = [f"../../{version.place}" for version in versions if version.label in playing]
        if len(versions) < len(which.players):
            bots += [each if each.startswith("sample:") else f"../../{each}" for each in season.terms.references]
        root = round_root(season.seed, which.number)
        place = season.folder.round(which.number)
        if aside := write_round(place, which.number, root, season.tournament, bots, which.meetings):
            about = "its folder had other meetings or bots than the store, which may be from a backup"
            text = f"{about}: it is rounds/{aside.name} now"
            season.event("warning", f"round {which.number}", text)

    def _size_of(self, which: Round) -> str:
        tables = sum(meeting.tables for meeting in which.meetings)
        uniform = ", spread over the whole field" if which.terms.uniform else ""
        return f"{counted(len(which.players), 'version')}, {thousands(tables)} tables{uniform}"

    async def _after_failure(self, which: Round, failure: BaseException) -> Round:
        """If the machine lacks something, wait TRY_AGAIN_S, and return the round unchanged.

        Otherwise take the versions that `failure` names off the ladder, store the round as damaged, and return it.
        """
        season = self._season
        problems = failure.problems if isinstance(failure, UserError) else [Problem("H001", "", str(failure))]
        self._stalled += any(problem.code.startswith("B") for problem in problems)
        lacking: UserError | OSError | None = self._lacking_room(which)
        if self._stalled < MAX_STALLED and (
            isinstance(failure, OSError) or (isinstance(failure, UserError) and failure.exit_code in (5, 6))
        ):
            lacking = failure
        if lacking is not None:
            season.waits(f"round {which.number}", lacking)
            await trio.sleep(TRY_AGAIN_S)
            return which
        self._goes_on = True in [self._take_off(which, problem) for problem in problems]
        why = "; ".join(map(public_words, problems))[:500]
        season.event("damaged", f"round {which.number}", f"is not counted: {why}")
        return season.book.damage(which, why)

    def _lacking_room(self, which: Round) -> UserError | None:
        """Return the error about a disk that is almost full; None if there is room."""
        try:
            require_room(self._season.folder.path, which.began)
        except UserError as full:
            return full
        return None

    def _take_off(self, which: Round, problem: Problem) -> bool:
        """Take the versions that a problem names off the ladder, if the problem arose while bots were prepared.

        Return False if it is another problem, or if it names no version of the round.
        """
        if not problem.code.startswith("B"):
            return False
        known = {version.label for version in self._season.store.versions.all()}
        named = sorted(known.intersection(problem.where.split("/")).intersection(which.labels))
        for label in named:
            self._season.store.versions.take_off(label, f"it {NO_START.format(problem.code)}: {problem.message}")
            self._season.event("off ladder", label, NO_START.format(problem.code))
        return bool(named)

    def _settle(self, which: Round, over: Callable[[], None]) -> None:
        """Add the results of a finished or damaged round to the totals, and call `over`.

        Take versions that keep crashing off the ladder. Pause the season after MAX_DAMAGED damaged rounds in a row.
        """
        season = self._season
        self.rounds[-1] = which
        season.totals.add(which)
        self._stalled = 0
        known = {version.label for version in season.store.versions.all()}
        for label in sorted(known.intersection(season.totals.fallen)):
            reason = "it crashed in three fixtures in a row; choose it again, or hand in another version"
            season.store.versions.take_off(label, reason)
            season.event("off ladder", label, "crashed in three fixtures in a row, and rests until its author acts")
        self._damaged = self._damaged + 1 if which.state == "damaged" and not self._goes_on else 0
        if self._damaged >= MAX_DAMAGED:
            season.store.set_setting(PAUSED, f"{MAX_DAMAGED} rounds in a row could not be played: see the log")
            season.event("paused", "season", f"{MAX_DAMAGED} rounds in a row could not be played")
            self._damaged = 0
        over()
        season.doing("")


def is_of_machine(failure: BaseException) -> bool:
    """Return whether a failure means that the machine lacks something, for example space on its disk.

    The season waits for the machine, even if something else has failed at the same time.
    """
    return isinstance(failure, OSError) or (isinstance(failure, UserError) and failure.exit_code == 6)


def public_words(problem: Problem) -> str:
    """Return the text of a problem that everybody may read: it has nothing that a bot has written."""
    message = NO_START.format(problem.code) if problem.code.startswith("B") else problem.message
    return f"{problem.where}: {message}" if problem.where else message


def middle_of(paces: Mapping[str, float]) -> float:
    """Return the median of the measured seconds per table; of two middle values the lower one; 0 if there are none."""
    known = [pace for pace in paces.values() if pace > 0]
    return median_low(known) if known else 0.0


def costs_of(paces: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of a table of each version, by label: its seconds divided by the median; 1 if not measured.

    `paces` has the seconds per table by label; 0: not measured. No cost is below LEAST_COST.
    """
    middle = middle_of(paces)
    return {label: round(max(pace / middle, LEAST_COST), 3) if pace > 0 else 1.0 for label, pace in paces.items()}


def due_at(began: float, every: float, now: float) -> float:
    """Return the time at which the next round may begin: `every` seconds after the last one `began`.

    Return `now` if the clock has been set back since the last round began.
    """
    return began + every if began <= now else now
