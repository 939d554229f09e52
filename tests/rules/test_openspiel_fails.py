"""A game of OpenSpiel that raises an exception or ends its process costs no bot anything, and is named."""

import os
import re
from pathlib import Path

import pytest
from command import Done, croupier_process, environment
from helpers import long

# Python runs a module of this name when it starts: so every process of the run knows the game.
SITE = """\
import os

import pyspiel

KIND = pyspiel.GameType(
    short_name="failing", long_name="Failing", dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION, utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL, max_num_players=2, min_num_players=2,
    provides_information_state_string=True, provides_information_state_tensor=False,
    provides_observation_string=True, provides_observation_tensor=False, parameter_specification={},
)
INFO = pyspiel.GameInfo(num_distinct_actions=100, max_chance_outcomes=0, num_players=2, min_utility=-1.0,
                        max_utility=1.0, utility_sum=0.0, max_game_length=3)


class State(pyspiel.State):
    def __init__(self, game):
        super().__init__(game)
        self.moves = []

    def current_player(self):
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else len(self.moves) % 2

    def _legal_actions(self, player):
        return list(range(100))

    def _apply_action(self, action):
        self.moves.append(action)
        if self.moves == [99, 98]:
            FAIL

    def _action_to_string(self, player, action):
        return f"take{action}"

    def is_terminal(self):
        return len(self.moves) == 3

    def returns(self):
        return [1.0, -1.0] if sum(self.moves) % 2 else [-1.0, 1.0]

    def information_state_string(self, player=None):
        return str(self.moves)

    observation_string = information_state_string
    __str__ = information_state_string


class Failing(pyspiel.Game):
    def __init__(self, params=None):
        super().__init__(KIND, INFO, params or {})

    def new_initial_state(self):
        return State(self)


pyspiel.register_game(KIND, Failing)
"""
BOT = """\
import sys

for line in sys.stdin:
    print(MOVE, flush=True)
"""
MOVES = {"high": "99", "low": "0", "next": "98 if '[99]' in line else 0"}


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    """Return a tournament of bots of which only high and next, in this order, bring the game to fail."""
    (tmp_path / "bots").mkdir()
    for name, move in MOVES.items():
        (tmp_path / "bots" / f"{name}.py").write_text(BOT.replace("MOVE", move))
    stage = '[rules]\nopening = 0\n[[stage]]\nkind = "league"\ntables = 8\n'
    (tmp_path / "croupier.toml").write_text(f'game = "openspiel:failing"\nbots = ["bots/*"]\nseed = "ab"\n\n{stage}')
    return tmp_path


def site(cup: Path, fail: str) -> dict[str, str]:
    """Return the environment in which every process of croupier knows the game, which fails in this way."""
    (cup / "site").mkdir(exist_ok=True)
    (cup / "site" / "sitecustomize.py").write_text(SITE.replace("FAIL", fail))
    return environment(PYTHONPATH=os.pathsep.join(filter(None, [str(cup / "site"), os.environ.get("PYTHONPATH")])))


def run(cup: Path, fail: str) -> Done:
    """Run the tournament with two workers and a game that fails in this way."""
    return croupier_process("-C", cup, "run", "--progress", "none", "--workers", "2", env=site(cup, fail))


@pytest.mark.long
@pytest.mark.parametrize(
    ("fail", "said"),
    [
        ('raise OverflowError("too deep\\nfor it")', "OverflowError: too deep"),
        long(("os.abort()", r"it ended its process \(Aborted\)")),
    ],
)
def test_a_game_that_fails_is_named_no_bot_is_charged_and_the_rest_is_played(fail: str, said: str, cup: Path) -> None:
    done = run(cup, fail)
    assert done.code == 7, done.err
    said = rf"failed at table league/\d+/high\+next/\d+, after an answer of next: {said}"
    assert re.search(said, done.err) and "no bot is charged" in done.err and "Traceback" not in done.err
    told = croupier_process("-C", cup, "standings", "--json", env=site(cup, fail)).json
    assert all(row["faults"] == 0 for row in told["rows"])
    assert all("high+next" in each["fixture"] for each in told["undecided"]) and told["undecided"]
    assert sum(row["tables"] for row in told["rows"]) + 2 * 4 * len(told["undecided"]) == 24


def test_a_game_that_fails_in_its_test_is_refused_by_name(cup: Path) -> None:
    env = site(cup, "pass")
    text = SITE.replace("return list(range(100))", 'raise LookupError("no moves")')
    (cup / "site" / "sitecustomize.py").write_text(text.replace("FAIL", "pass"))
    done = croupier_process("-C", cup, "run", env=env)
    assert done.code == 3 and "Traceback" not in done.err, done.err
    assert "raised an exception in a test with random moves: LookupError: no moves" in " ".join(done.err.split())


@pytest.mark.long
def test_a_run_whose_game_failed_continues(cup: Path) -> None:
    for fail, code, tables in [("os.abort()", 7, None), ("pass", 0, [8, 8, 8])]:
        assert run(cup, fail).code == code
        done = croupier_process("-C", cup, "standings", "--json", env=site(cup, fail))
        rows = done.json["rows"]
        assert all(row["faults"] == 0 for row in rows) and tables in (None, sorted(row["tables"] for row in rows))
