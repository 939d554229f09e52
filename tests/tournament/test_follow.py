"""The progress of a run as its own process shows it, and as `status --follow` reads it from the journal meanwhile."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import trio

from host.backends.local import FixtureQueue
from host.games import GAMES
from host.journal.changes import Draft
from host.journal.reader import reading
from host.journal.state import RecordedBot, RunState, RunStatus, StageState, StageStatus
from host.journal.writer import JournalWriter, writing
from host.play.records import Fixture, Record, Result, Undecided, undecided_record
from host.stages.kind import Field
from host.stages.round_robin import RoundRobin
from host.tournament.follow import poll_progress, tally_of
from host.tournament.progress import Progress, Tally
from host.tournament.stage_runner import Run, run_stage

BOTS = ("ada", "bob")
STAGE = RoundRobin(name="league", tables_per_pair=1)


def fixture_of(number: int, bots: tuple[str, ...] = BOTS) -> Fixture:
    rules = GAMES["pazaak"].presets["thread"]
    return Fixture("pazaak", rules, "independent", f"league/{'+'.join(bots)}/{number}", bots, 1)


def record_of(fixture: Fixture) -> Record:
    """Return a record in which the last bot of a fixture wins its table."""
    results = {bot: Result(1, int(bot == fixture.bots[-1]), 20, 0, 3, 1) for bot in fixture.bots}
    return Record(fixture.path, results, {}, {}, (), (), b"")


@contextmanager
def played_league(path: Path, bots: Iterable[str], *fixtures: Fixture) -> Iterator[JournalWriter]:
    """Open a new journal in which these fixtures of a league have been played."""
    with writing(path) as journal:
        stage = StageState(STAGE, StageStatus.RUNNING, field=tuple(bots), known=2)
        journal.set_state(RunState(game="pazaak", status=RunStatus.RUNNING, stages=[stage]))
        for bot in bots:
            journal.add_bot(RecordedBot(bot))
        for fixture in fixtures:
            journal.add("league", record_of(fixture), fixture)
        yield journal


def shown(progress: Iterator[Progress]) -> tuple[str, int, int]:
    """Return the path of the next fixture, and the numbers of finished and known fixtures."""
    found = next(progress)
    return found.record.path if found.record else "", found.done, found.known


def test_a_fixture_without_a_result_is_shown_although_no_record_follows(tmp_path: Path) -> None:
    path, first, second = tmp_path / "run.sqlite", fixture_of(1), fixture_of(2)
    with played_league(path, BOTS, first) as book, reading(path) as journal:
        progress = poll_progress(journal, ())
        assert [shown(progress), shown(progress)] == [("", 1, 2), (first.path, 1, 2)]
        book.add_undecided("league", undecided_record(second.path, BOTS, Undecided("it died")), second)
        book.set_status(RunStatus.FINISHED)
        assert shown(progress) == (second.path, 2, 2)
        assert list(progress) == []


def test_the_live_views_count_what_status_counts(tmp_path: Path) -> None:
    bots, tally, followed = ("ada", "bob", "carl"), Tally(), Tally()
    fixtures = [fixture_of(1, pair) for pair in combinations(bots, 2)]
    with played_league(tmp_path / "run.sqlite", bots, *fixtures) as journal:
        journal.change(Draft("withdraw", "carl", "it cheats"))
        run = Run(fixtures[0]._replace(path="", bots=(), tables=0), journal, FixtureQueue(print, "", 1), tally.add)
        trio.run(run_stage, STAGE, Field([*bots], b"seed", withdrawn=("carl",)), run)
        journal.set_status(RunStatus.FINISHED)
        for progress in poll_progress(journal, ()):
            followed.add(progress)
        assert tally.early is None and followed.early is not None
        assert tally.newest == followed.newest == tally_of(journal, {"league"}).newest
    assert {bot: sums.tables for bot, sums in tally.newest.bots.items()} == {"ada": 1, "bob": 1}
