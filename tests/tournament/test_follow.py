"""`status --follow` reads the progress of a run from its journal while another process writes it."""

from collections.abc import Iterator
from pathlib import Path

from host.games import GAMES
from host.journal.reader import reading
from host.journal.state import RecordedBot, RunState, RunStatus, StageState, StageStatus
from host.journal.writer import writing
from host.play.records import Fixture, Record, Result, Undecided, undecided_record
from host.stages.round_robin import RoundRobin
from host.tournament.follow import poll_progress
from host.tournament.progress import Progress

BOTS = ("ada", "bob")


def fixture_of(number: int) -> Fixture:
    return Fixture("pazaak", GAMES["pazaak"].presets["thread"], "independent", f"league/ada+bob/{number}", BOTS, 1)


def shown(progress: Iterator[Progress]) -> tuple[str, int, int]:
    """Return the path of the next fixture, and the numbers of finished and known fixtures."""
    found = next(progress)
    return found.record.path if found.record else "", found.done, found.known


def test_a_fixture_without_a_result_is_shown_although_no_record_follows(tmp_path: Path) -> None:
    path, first, second = tmp_path / "run.sqlite", fixture_of(1), fixture_of(2)
    with writing(path) as book:
        stage = StageState(RoundRobin(name="league", tables_per_pair=2), StageStatus.RUNNING, field=BOTS, known=2)
        book.set_state(RunState(game="pazaak", status=RunStatus.RUNNING, stages=[stage]))
        for bot in BOTS:
            book.add_bot(RecordedBot(bot))
        results = {bot: Result(1, won, 20, 0, 3, 1) for won, bot in enumerate(BOTS)}
        book.add("league", Record(first.path, results, {}, {}, (), (), b""), first)
        with reading(path) as journal:
            progress = poll_progress(journal, ())
            assert [shown(progress), shown(progress)] == [("", 1, 2), (first.path, 1, 2)]
            book.add_undecided("league", undecided_record(second.path, BOTS, Undecided("it died")), second)
            book.set_status(RunStatus.FINISHED)
            assert shown(progress) == (second.path, 2, 2)
            assert list(progress) == []
