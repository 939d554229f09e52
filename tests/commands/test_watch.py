"""`croupier status --follow` shows a run from another terminal, fixture by fixture, until it ends in any way."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, croupier, cup_in, environment

from host.journal.reader import Journal, reading
from host.journal.state import RunStatus, StageStatus
from host.journal.writer import writing
from host.play.records import Fixture, Record
from tests.browser import games

Kept = list[tuple[Record, Fixture]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cup = cup_in(tmp_path_factory.mktemp("watch") / "cup", tourneys=3, rounds=1)
    assert croupier("run", "-C", cup, "--progress", "none").code == 0
    return cup


@contextmanager
def under_way(finished: Path, folder: Path) -> Iterator[tuple[Path, Journal, Kept]]:
    """Repeat the run of a finished tournament before its first fixture; yield it with the finished records."""
    with reading(finished / "run" / "run.sqlite") as before:
        run, bots = before.state(), before.bots()
        kept = [(before.full_record(path), before.fixture(path)) for path in before.paths()]
    cup = folder / "cup"
    with writing(cup / "run" / "run.sqlite") as journal:
        journal.set_state(replace(run, status=RunStatus.RUNNING))
        journal.set_stage("tables", StageStatus.RUNNING, known=3)
        for bot in bots.values():
            journal.add_bot(bot)
        yield cup, journal, kept


@contextmanager
def watching(cup: Path) -> Iterator[subprocess.Popen[str]]:
    words = [*CROUPIER, "status", "--follow", "--json", "-C", str(cup)]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()  # otherwise a failed test would wait forever


def told(process: subprocess.Popen[str]) -> Any:
    """Return the next event that it prints."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(("state", "code"), [("finished", 0), ("running", 5)])
def test_every_fixture_is_told_until_the_run_ends(state: str, code: int, finished: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        playing = ExitStack()
        cup, journal, kept = playing.enter_context(under_way(finished, tmp_path))
        stack.push(playing)
        journal.add("tables", *kept[0])
        process = stack.enter_context(watching(cup))
        assert (told(process)["done"], told(process)["fixture"]) == (1, kept[0][0].path)
        journal.add("tables", *kept[1])
        event = told(process)
        assert (event["stage"], event["done"], event["known"], event["fixture"]) == ("tables", 2, 3, kept[1][0].path)
        journal.add("tables", *kept[2])
        assert told(process)["done"] == 3
        journal.set_stage("tables", StageStatus(state))
        journal.set_status(RunStatus(state))
        playing.close()
        standings = told(process)
        assert process.wait(timeout=120) == code
    assert (standings["schema"], standings["fixtures"]) == ("croupier/standings/1", 3)
    assert standings["interrupted"] == (code == 5)


def test_a_run_that_has_ended_is_told_at_once(finished: Path) -> None:
    done = croupier("status", "--follow", "-C", finished)
    assert (done.code, done.out) == (0, croupier("standings", "-C", finished).out)


def test_a_run_that_begins_anew_ends_the_view(finished: Path, tmp_path: Path) -> None:
    with under_way(finished, tmp_path) as (cup, journal, kept):
        journal.add("tables", *kept[0])
        with watching(cup) as process:
            assert told(process)["done"] == 1
            (cup / "run" / "run.sqlite").rename(cup / "run" / "old.sqlite")
            assert told(process)["fixture"] == kept[0][0].path
            assert told(process)["code"] == "R006"
            assert process.wait(timeout=120) == 5


def test_nothing_played_is_nothing_to_watch(tmp_path: Path) -> None:
    done = croupier("status", "--follow", "-C", tmp_path)
    assert (done.code, done.first.partition(" ")[0]) == (3, "error[R006]")


def test_it_only_reads(finished: Path) -> None:
    before = {path: path.read_bytes() for path in (finished / "run").glob("run.sqlite")}
    assert croupier("status", "--follow", "-C", finished).code == 0
    assert {path: path.read_bytes() for path in before} == before


def test_on_a_terminal_it_says_that_leaving_stops_nothing(finished: Path, tmp_path: Path) -> None:
    with under_way(finished, tmp_path) as (cup, journal, kept):
        journal.add("tables", *kept[0])
        ours, its = os.openpty()
        words = [*CROUPIER, "status", "--follow", "-C", str(cup)]
        with subprocess.Popen(words, env=environment(COLUMNS="100", LINES="40", TERM="xterm"), stdout=its) as process:
            os.close(its)
            seen = b""
            while b"the run goes on" not in seen:
                seen += os.read(ours, 1 << 16)  # reading fails if the view has ended
            process.kill()
        os.close(ours)
    assert b"1 of 3 fixtures" in seen and b"stop and save" not in seen


def test_status_prints_one_frame_of_the_view(finished: Path, tmp_path: Path) -> None:
    with under_way(finished, tmp_path) as (cup, journal, kept):
        journal.add("tables", *kept[0])
        done = croupier("status", "-C", cup)
        again = croupier("status", "-C", cup, "--json").json
    lines = done.out.splitlines()
    assert done.code == 0 and " · cardshark · " in lines[0] and f" · running by {again['by']}" in lines[0]
    assert lines[1].split() == ["tables", "mixed-tables", "1", "of", "3", "fixtures", "running"]
    assert lines[2] == "tables   33 %  1 of 3 fixtures"
    assert lines[4].split() == ["#", "bot", "score", "faults"]
    assert {line.split()[1] for line in lines[5:]} == {*kept[0][0].results}
    assert again["rows"] == [
        {
            "stage": "tables",
            "kind": "mixed-tables",
            "fixtures": 1,
            "known": 3,
            "state": "running",
            "seal": None,
            "undecided": 0,
        }
    ]


def test_a_frame_says_which_pairs_have_met_and_ranks_by_opponents_until_all_have(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"], "running")
    some = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 8)
    games.add(path, some[:4])
    early = " ".join(croupier("-C", tmp_path, "status").out.split())
    games.add(path, some[4:])
    late = croupier("-C", tmp_path, "status").out
    assert "so far 4 of 6 pairs have met; until all have, bots are ranked by Elo" in early
    assert "# bot Elo faults" in early and "rate" not in early
    assert "so far" not in late and "rate" in late
