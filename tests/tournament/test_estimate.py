"""A dry run lists the fixtures and the number of tables, and estimates the time."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
import trio
from command import CROUPIER, croupier, cup_in, environment
from trio.testing import MockClock

from host.config.tournament_config import load
from host.play.jobs import Job
from host.play.records import Fixture, Record, Result
from host.sandbox.levels import DEFAULT_LEVEL
from host.stages import kind_of
from host.stages.kind import Field
from host.tournament.estimate import (
    Forecast,
    StageEstimate,
    TrialRound,
    pairings_on_trial,
    remaining,
    table_seconds,
    trial,
)

BOTS = [f"b{number}" for number in range(8)]


def cup(folder: Path, game: str, stages: str) -> Path:
    """Write a tournament; return its folder."""
    (folder / "croupier.toml").write_text(f'game = "{game}"\n{stages}')
    return folder


def programme_of(folder: Path, game: str, stages: str, bots: list[str] = BOTS, seed: bytes | None = b"s") -> list:
    return remaining(load(cup(folder, game, stages)), bots, seed, folder / "none")[0]


def test_a_league_has_every_pair_once(tmp_path: Path) -> None:
    (stage,) = programme_of(tmp_path, "pazaak", '[[stage]]\nkind = "round-robin"\ntables_per_pair = 25_000')
    assert (len(stage.meetings), stage.meetings[0]) == (28, (("b0", "b7"), 3, 25_000))
    assert (stage.fixtures, stage.bounds) == (84, "exactly")


def test_a_pair_that_may_end_early_is_told_at_the_most(tmp_path: Path) -> None:
    stages = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 25_000\n[run]\nstop_early = true'
    (stage,) = programme_of(tmp_path, "pazaak", stages)
    assert (stage.fixtures, stage.bounds) == (84, "at most")


def test_a_cup_is_counted_at_the_least_and_names_nobody_before_its_seeding(tmp_path: Path) -> None:
    stages = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\n[[stage]]\nkind = "knockout"\nset = 5\nfirst_to = 4'
    league, knockout = programme_of(tmp_path, "pazaak", stages)
    assert knockout[:6] == ("knockout", "knockout", 8, "at least", 12 * 4, 12 * 4 * 5)
    assert (len(league.meetings), knockout.meetings) == (28, ())


def test_groups_are_counted_to_the_final_and_named_once_there_is_a_seed(tmp_path: Path) -> None:
    bots = [f"b{number:02}" for number in range(23)]
    stages = '[[stage]]\nkind = "groups"\n[[stage]]\nname = "final"\nkind = "groups"\nadvance = 1'
    known, final = programme_of(tmp_path, "holdem", stages, bots)
    unknown, _ = programme_of(tmp_path, "holdem", stages, bots, None)
    assert (known.fixtures, len(known.meetings), known.bounds) == (5 + 2, 5, "exactly")
    assert (unknown.fixtures, unknown.meetings) == (5 + 2, ())
    assert (final.bots, final.fixtures, final.meetings) == (5, 1, ())


@pytest.mark.parametrize(
    ("kind", "game", "bots"),
    [
        *[('"knockout"\nset = 5\nfirst_to = 3', "pazaak", bots) for bots in (2, 3, 8, 11)],
        *[('"groups"\nrepeat = 2', "holdem", bots) for bots in (4, 6, 23, 60)],
        ('"groups"\nadvance = 1', "holdem", 23),
    ],
)
def test_a_stage_in_which_the_first_bot_always_wins_is_as_large_as_it_is_counted(
    kind: str, game: str, bots: int, tmp_path: Path
) -> None:
    (stage,) = load(cup(tmp_path, game, f"[[stage]]\nkind = {kind}")).stages
    blank = Fixture(game, None, "", "", (), 0)
    field = Field([f"b{number:02}" for number in range(bots)], b"s")
    played = dict[str, Record]()
    tables = 0
    while wave := kind_of(stage).due(stage, blank, field, played):
        for fixture in wave:
            won = {bot: fixture.tables * (bot == min(fixture.bots)) for bot in fixture.bots}
            results = {bot: Result(fixture.tables, wins, wins, 0, 1, int(wins > 0)) for bot, wins in won.items()}
            played[fixture.path] = Record(fixture.path, results, {}, {}, (), (), b"")
            tables += fixture.tables
    left = kind_of(stage).left
    size = kind_of(stage).size
    assert size is not None
    assert size(stage, blank, bots)[:3] == (len(played), tables, len(left(stage, field, played)) if left else bots)


def test_what_has_been_played_is_not_left(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=3, rounds=1)
    assert croupier("run", "-C", folder).code == 0
    done = croupier("run", "--dry-run", "-C", folder)
    assert done.out.splitlines()[-1] == f"everything has been played: croupier -C {folder} standings"


def test_nothing_has_been_played_in_an_empty_journal(tmp_path: Path) -> None:
    journal = tmp_path / "run" / "run.sqlite"
    journal.parent.mkdir()
    journal.touch()
    (stage,), now = remaining(load(cup(tmp_path, "pazaak", '[[stage]]\nkind = "round-robin"')), BOTS, b"s", journal)
    assert stage.fixtures == len(now) > 0
    assert "a tournament of pazaak, not started" in croupier("-C", tmp_path).out


@pytest.mark.long
def test_a_dry_run_says_on_a_terminal_that_it_is_on_trial(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=3, rounds=1)
    terminal, end = pty.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as shown:
        command = [*CROUPIER, "-C", str(folder), "run", "--dry-run"]
        done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, stderr=end, timeout=120, check=True)
        os.close(end)
        assert shown.read(4000).startswith(b"trial  plays some tables for at most 20 s")
    assert b"trial  " not in done.stdout


def test_a_dry_run_plays_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=3, rounds=2)
    done = croupier("run", "--dry-run", "-C", folder)
    assert done.code == 0
    assert "  tables         mixed-tables 3 tourneys of 2 rounds, 2 bots at changing tables" in done.out
    assert re.search(r"it will take about \d+ s; on trial, \d+ tables", done.out)
    assert not (folder / "run").exists()
    told = croupier("run", "--dry-run", "--json", "-C", folder).json
    (row,) = told["rows"]
    assert (told["schema"], row["fixtures"], row["meetings"][0]["bots"]) == (
        *("croupier/dry-run/4", 3, ["cautious", "davey"]),
    )
    assert told["seconds"] > 0
    assert told["trial"]["tables"] > 0 and not told["at_least"]


def test_the_start_of_the_bots_is_not_part_of_each_table() -> None:
    """One fixture of a thousand tables: 0.2 s for the start, and 1 ms for each table."""
    rounds = [TrialRound(tables, 0.2 + tables / 1000) for tables in (1, 10, 100, 1000)]
    for finished in (2, 3, 4):
        assert table_seconds(rounds[:finished], 1000) == pytest.approx(1.2 / 1000)
    assert table_seconds(rounds[:1], 1000) == pytest.approx(0.201)
    assert table_seconds([TrialRound(1, 0.3), TrialRound(10, 0.29)], 1000) == pytest.approx(0.29 / 1000)


class SteadyPool:
    """A worker that takes the same time for each table."""

    description, count, has_result = "1 worker", 1, True

    def __init__(self, table_seconds: float = 0.01) -> None:
        self._jobs, self._table_seconds = list[Job](), table_seconds

    async def submit(self, job: Job) -> None:
        self._jobs.append(job)

    async def next_result(self) -> Record:
        path, tables = self._jobs[0].fixture.path, self._jobs.pop(0).fixture.tables
        await trio.sleep(seconds := tables * self._table_seconds)
        return Record(path, {}, {}, {}, (), (), b"", seconds=seconds)


@pytest.mark.parametrize(("tables", "played"), [(1, 1), (50, 1 + 10 + 50), (100_000, 1 + 10 + 100 + 1000)])
def test_a_trial_plays_more_tables_while_there_is_time(tables: int, played: int) -> None:
    """The fourth round of a long fixture ends after 11.11 s, and leaves no time for a longer one."""
    fixture = Fixture("pazaak", None, "", "one", ("a", "b"), tables)
    cost = trio.run(trial, [fixture], SteadyPool(), print, clock=MockClock(autojump_threshold=0))
    assert (cost.tables, cost.table_seconds) == (played, pytest.approx(0.01))
    stage = StageEstimate("league", "round-robin", 4, "exactly", 1, 5_000, tourneys=False)
    assert Forecast("", "pazaak", DEFAULT_LEVEL, 2, [stage], cost).seconds == pytest.approx(25)


def test_a_trial_in_which_no_table_ends_cannot_tell() -> None:
    fixture = Fixture("pazaak", None, "", "one", ("a", "b"), 10)
    cost = trio.run(trial, [fixture], SteadyPool(100), print, clock=MockClock(autojump_threshold=0))
    assert (cost.tables, cost.seconds, cost.table_seconds) == (0, 20, None)


def test_every_bot_is_on_trial_if_there_is_room() -> None:
    bots = [f"b{number:02}" for number in range(20)]
    wave = [Fixture("pazaak", None, "", f"{a}{b}", (a, b), 10) for a in bots for b in bots if a < b]
    assert {bot for fixture in pairings_on_trial(wave) for bot in fixture.bots} == set(bots)


def test_a_dry_run_refuses_what_a_run_would(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1)
    (folder / "bots" / "broken.c").write_text("int main(")
    assert croupier("run", "--dry-run", "-C", folder).code == 4


def test_bare_croupier_says_how_far_a_tournament_is(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1, rounds=1)
    assert 'a tournament of cardshark, "Cup of tests", not started' in croupier("-C", folder).out
    assert croupier("-C", folder).out.splitlines()[1].startswith(f"  croupier -C {folder} run --dry-run ")
    assert croupier("run", "-C", folder).code == 0
    told = croupier("-C", folder, "--json").json
    assert told["here"].endswith(", finished")
    assert [row["command"] for row in told["rows"]] == [
        f"croupier -C {folder} {words}" for words in ("standings", "report --open", "verify")
    ]
    (folder / "run" / "run.sqlite").write_text(json.dumps("no journal"))
    assert croupier("-C", folder).out.startswith("croupier 0.1.0: this folder contains a tournament of cardshark")


def test_bare_croupier_knows_a_bot(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('name = "Mine\\u001b"\ngame = "pazaak"')
    told = croupier("-C", tmp_path).out
    assert 'this folder contains a bot for pazaak, "Mine\\x1b"' in told and "croupier games pazaak" in told
