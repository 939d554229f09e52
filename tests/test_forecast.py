"""What a run will do is known before it: who meets whom, how many tables, and about how long it takes."""

import json
from pathlib import Path

import pytest
from command import croupier, cup_in

from host.games import GAMES
from host.play.records import Fixture
from host.tournament.config import load
from host.tournament.estimate import Cost, fit_cost, remaining

BOTS = [f"b{number}" for number in range(8)]


def cup(folder: Path, game: str, stages: str) -> Path:
    """Write a tournament; return its folder."""
    (folder / "croupier.toml").write_text(f'game = "{game}"\n{stages}')
    return folder


def programme_of(folder: Path, game: str, stages: str, bots: list[str] = BOTS, seed: bytes | None = b"s") -> list:
    return remaining(load(cup(folder, game, stages)), bots, seed, folder / "none")


def test_a_league_has_every_pair_once(tmp_path: Path) -> None:
    (stage,) = programme_of(tmp_path, "pazaak", '[[stage]]\nkind = "round-robin"\ntables_per_pair = 25_000')
    assert (len(stage.meetings), stage.meetings[0]) == (28, (("b0", "b1"), 3, 25_000))
    assert (len(stage.fixtures), stage.bounds) == (84, "exactly")


def test_a_pair_that_may_end_early_is_told_at_the_most(tmp_path: Path) -> None:
    stages = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 25_000\n[run]\nstop_early = true'
    (stage,) = programme_of(tmp_path, "pazaak", stages)
    assert (len(stage.fixtures), stage.bounds) == (84, "at most")


def test_a_cup_needs_so_many_sets_at_least_and_its_bots_are_places(tmp_path: Path) -> None:
    stages = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\n[[stage]]\nkind = "cup"\nset = 5\nfirst_to = 4'
    league, knockout = programme_of(tmp_path, "pazaak", stages)
    assert (len(knockout.fixtures), knockout.bounds) == (12 * 4, "at least")
    assert knockout.meetings[0].bots == ("#1 of round-robin", "#5 of round-robin")
    assert len(league.meetings) == 28


def test_groups_go_on_to_the_final_and_are_not_drawn_before_there_is_a_seed(tmp_path: Path) -> None:
    bots = [f"b{number:02}" for number in range(23)]
    stages = '[[stage]]\nkind = "groups"\n[[stage]]\nname = "final"\nkind = "groups"\nadvance = 1'
    known, final = programme_of(tmp_path, "holdem", stages, bots)
    unknown, _ = programme_of(tmp_path, "holdem", stages, bots, None)
    assert [len(wave) for wave in known.waves] == [5, 2]
    assert (known.open, unknown.open, unknown.meetings, final.open, final.bots) == (False, True, [], True, 5)


def test_what_has_been_played_is_not_left(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=3, rounds=1)
    assert croupier("run", "-C", folder).code == 0
    done = croupier("run", "--dry-run", "-C", folder)
    assert done.out.splitlines()[-1] == "everything has been played: croupier standings"


@pytest.mark.parametrize(
    ("rounds", "fixture", "table"),
    [
        ([[(1, 9.0)], [(10, 3.0)], [(100, 12.0)]], 2.0, 0.1),  # the first made the sandboxes
        ([[(1, 2.1)], [(10, 3.0)]], 2.0, 0.1),
        ([[(1, 3.0), (1, 5.0)]], 0.0, 4.0),
        ([[(1, 3.0)], [(1, 5.0)]], 0.0, 5.0),
    ],
)
def test_a_trial_tells_what_a_fixture_and_a_table_cost(
    rounds: list[list[tuple[int, float]]], fixture: float, table: float
) -> None:
    assert fit_cost(rounds)[:2] == pytest.approx((fixture, table))


def test_waves_follow_each_other_and_no_fixture_is_cut_in_two() -> None:
    one = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "independent", "x/1", ("a", "b"), 10)
    cost = Cost(1.0, 0.1, 0, 0.0, True)
    assert cost.of([[one] * 4, [one]], 2) == pytest.approx(4.0 + 2.0)


def test_a_dry_run_plays_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=3, rounds=2)
    done = croupier("run", "--dry-run", "-C", folder)
    assert done.code == 0
    assert "  tables         tables       3 tourneys of 2 rounds, 2 bots at changing tables" in done.out
    assert "it will take about " in done.out
    assert not (folder / "run").exists()
    told = croupier("run", "--dry-run", "--json", "-C", folder).json
    (row,) = told["rows"]
    assert (told["schema"], row["fixtures"], row["meetings"][0]["bots"]) == (
        *("croupier/dry-run/1", 3, ["cautious", "davey"]),
    )
    assert told["seconds"] > 0 and told["trial"]["tables"] > 0 and not told["at_least"]


def test_a_dry_run_refuses_what_a_run_would(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1)
    (folder / "bots" / "broken.c").write_text("int main(")
    assert croupier("run", "--dry-run", "-C", folder).code == 4


def test_bare_croupier_says_how_far_a_tournament_is(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1, rounds=1)
    assert 'a tournament of cardshark, "Cup of tests", not begun' in croupier("-C", folder).out
    assert croupier("-C", folder).out.splitlines()[1].startswith("  croupier run --dry-run ")
    assert croupier("run", "-C", folder).code == 0
    told = croupier("-C", folder, "--json").json
    assert told["here"].endswith(", finished")
    assert [row["command"] for row in told["rows"]] == [
        *("croupier standings", "croupier report --open", "croupier verify"),
    ]
    (folder / "run" / "run.sqlite").write_text(json.dumps("no journal"))
    assert croupier("-C", folder).out.startswith("croupier 0.1.0: here is a tournament of cardshark")


def test_bare_croupier_knows_a_bot(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('name = "Mine\\u001b"\ngame = "pazaak"')
    told = croupier("-C", tmp_path).out
    assert 'here is a bot for pazaak, "Mine\\x1b"' in told and "croupier games pazaak" in told
