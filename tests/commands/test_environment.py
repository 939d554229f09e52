"""`croupier.env`: the tests of PettingZoo and Gymnasium, and what an environment promises about tables and bots."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from helpers import breadth
from machines import until
from pettingzoo.test import api_test, seed_test

import croupier
from croupier.environment import AGENT

BOLD, NESTOR = "sample:dumb_bold", "sample:nestor"


@pytest.fixture(scope="module", autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    croupier.close()
    assert psutil.Process().children(recursive=True) == []


GAMES = {
    "pazaak": ("pazaak", [BOLD, NESTOR]),
    "holdem": ("holdem", ["sample:tight"]),
    "hearts": ("hearts", ["sample:duck", "sample:dodger"]),
    "openspiel": ("openspiel:leduc_poker", []),
}
RANDOM = "import sys\nfor line in sys.stdin:\n    print('LOWEST' if len(line) % 3 else 'HIGHEST', flush=True)\n"


def environment(name: str, folder: Path, **more: Any) -> Any:
    game, bots = GAMES[name]
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
        (folder / "lowest.py").write_text(RANDOM)
        bots = [str(folder / "lowest.py")]
    return croupier.env(game, bots, **more)


@pytest.mark.parametrize("name", breadth(GAMES, 5))
@pytest.mark.filterwarnings("ignore")  # PettingZoo warns that a dictionary is not an array
def test_pettingzoo_accepts_the_environment(name: str, tmp_path: Path) -> None:
    env = environment(name, tmp_path)
    api_test(env, num_cycles=60, verbose_progress=False)
    env.close()


@pytest.mark.filterwarnings("ignore")
def test_a_seed_repeats_everything(tmp_path: Path) -> None:
    seed_test(lambda: environment("pazaak", tmp_path), num_cycles=40)
    croupier.close()


def played(seed: int, tables: int, steps: int = 40, bots: tuple[str, ...] = (BOLD, NESTOR)) -> list[Any]:
    """Return what an agent that always chooses the first legal move sees, and its rewards."""
    env, seen = croupier.env("pazaak", bots, tables=tables).vector(), list[Any]()
    observed, _ = env.reset(seed=seed)
    for _ in range(steps):
        observed, rewards, over, cut, infos = env.step(observed["action_mask"].argmax(axis=1))
        assert not cut.any() and all(rewards[~over] == 0)
        ended = infos["final_info"]["bots"][infos["_final_info"]].tolist() if "final_info" in infos else []
        seen.append((observed["text"], rewards.tolist(), ended))
    env.close()
    return seen


@pytest.mark.long
def test_many_tables_repeat_with_their_seed_and_draw_their_opponents() -> None:
    first, again, other = played(3, 16), played(3, 16), played(4, 16)
    assert first == again and first != other
    tables = [bots for _, _, ended in first for bots in ended]
    assert {bot for bots in tables for bot in bots} == {AGENT, "dumb_bold", "nestor"}
    assert {bots.index(AGENT) for bots in tables} == {0, 1}, "the seat changes from table to table"


def test_the_observations_are_in_their_space() -> None:
    env = croupier.env("pazaak", [BOLD], tables=5).vector()
    observed, _ = env.reset(seed=1)
    for _ in range(30):
        for index in range(5):
            one = {name: column[index] for name, column in observed.items()}
            assert env.single_observation_space.contains(one)
        assert env.observation_space.contains(observed)
        assert [view.your_hand for view in env.views] == [
            tuple(int(card) for card in hand.split(",") if card != "-") for hand in observed["your_hand"]
        ]
        observed, *_ = env.step(env.action_space.sample())
    env.close()


def sums(view: Any) -> list[float]:
    """Return three numbers of a view of Pazaak."""
    return [sum(view.your_hand), sum(view.opponent_hand), len(view.your_side_deck)]


def test_a_function_makes_arrays_of_views() -> None:
    env = croupier.env("pazaak", [BOLD], tables=5, obs=sums).vector()
    plain = croupier.env("pazaak", [BOLD], tables=5).vector()
    (observed, infos), (fields, _) = env.reset(seed=1), plain.reset(seed=1)
    ended = 0
    for _ in range(40):
        assert observed.dtype == np.float32 and env.observation_space.contains(observed)
        assert observed.tolist() == [sums(view) for view in env.views] == [sums(view) for view in plain.views]
        assert (infos["action_mask"] == fields["action_mask"]).all()
        moves = infos["action_mask"].argmax(axis=1)
        observed, _, over, _, infos = env.step(moves)
        fields, *_ = plain.step(moves)
        ended += over.sum()
        if over.any():
            assert all(last.shape == (3,) for last in infos["final_obs"][over])
    assert ended
    env.close()
    plain.close()
    lengthens = croupier.env("pazaak", [BOLD], obs=lambda view: view.your_hand)
    lengthens.reset(seed=1)
    with pytest.raises(ValueError, match="obs: 1 numbers for the first view, 2 for another"):
        lengthens.step(0)
    lengthens.close()


BOARD = """
import re
from typing import NamedTuple
from host.games.engine import Game, Opening, Request, best_unless_equal
from protocols.wire import Grammar, Move
class Rules(NamedTuple):
    seats: int = 2
class View(NamedTuple):
    first: bool
    cells: tuple[int, ...]
def allows(rules, view, move): return view.cells[move.n] == 0
def play(rules, luck, tell=None):
    cells, first = [0] * 4, luck.below(2)
    for turn in range(4):
        seat = (first + turn) % 2
        answer = yield Request(seat, View(not turn, tuple(cells)))
        if not isinstance(answer, Move) or cells[answer.n]:
            return tuple(int(each != seat) for each in range(2))
        cells[answer.n] = 1 + seat
    return (cells[0] == 1, cells[0] == 2)
def grammar(): return Grammar(re.compile(r"(?P<verb>PUT) (?P<n>[0-3])"), "PUT 0 to PUT 3")
GAME = Game(name="board", title="Board", seats=(2, 2), protocol="lines", presets={"d": Rules()}, grammar=grammar(),
  play=play, allows=allows, winners=best_unless_equal, view=View, edges={"first": View(True, (0,) * 4)},
  moves=lambda rules: [Move("PUT", n) for n in range(4)],
  opening=Opening("cells", 1, below="PUT 0", otherwise="PUT 1"), card="x")
"""


def first_free(view: Any) -> str:
    """Put a stone on the first free cell."""
    return f"PUT {view.cells.index(0)}"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Return a folder with a game whose view is numbers."""
    (tmp_path / "board.py").write_text(BOARD)
    (tmp_path / "croupier.toml").write_text('game = "board:GAME"\nbots = []\n[[stage]]\nkind = "round-robin"\n')
    return tmp_path


def test_the_numbers_of_a_view_are_an_array(board: Path) -> None:
    env = croupier.env(None, [first_free], obs="array", folder=board)
    env.reset(seed=2)
    assert env.observation_space(AGENT).shape == (5,) and env.infos[AGENT]["seat"] == 0
    before = env.observe(AGENT).tolist()
    assert before in ([1, 0, 0, 0, 0], [0, 2, 0, 0, 0])
    env.step(3)
    after = [2, 0, 0, 1] if before[0] else [2, 2, 0, 1]
    assert env.observe(AGENT).tolist() == [0, *after]
    assert env.infos[AGENT]["action_mask"].tolist() == [int(not cell) for cell in after]
    env.close()
    with pytest.raises(
        croupier.Error, match="your_hand, opponent_hand, your_side_deck, opponent_action are not always as"
    ):
        croupier.env("pazaak", [BOLD], obs="array")
    with pytest.raises(croupier.Error, match="there are no observations 'tensor'"):
        croupier.env("pazaak", [BOLD], obs="tensor")


def test_a_copy_of_a_table_goes_on_as_the_table_does(board: Path) -> None:
    for game, opponent in ((None, first_free), ("pazaak", lambda view: "STAND")):
        env = croupier.env(game, [opponent], folder="." if game else board)
        env.reset(seed=5)
        while not env.terminations[AGENT]:
            copy = env.clone()
            mask = env.observe(AGENT)["action_mask"]
            assert copy.view == env.infos[AGENT]["view"] and copy.seat == env.infos[AGENT]["seat"]
            assert list(copy.legal) == np.flatnonzero(mask).tolist()
            other = copy.clone()
            other.step(other.legal[-1])
            env.step(copy.legal[0])
            copy.step(copy.legal[0])
            stand = env.action_meanings.index("STAND") if game else None
            while copy.seat not in {None, env.infos[AGENT]["seat"]}:
                copy.step(copy.legal[0] if stand is None else stand)
            assert (copy.scores is None) is not env.terminations[AGENT]
            assert copy.scores is None or copy.scores == tuple(env.infos[AGENT]["scores"])
        assert copy.seat is None and copy.view is None and copy.legal == ()
        with pytest.raises(ValueError, match="the game is over"):
            copy.step(0)
        with pytest.raises(croupier.Error):
            copy.step(len(env.action_meanings))
        env.close()


def test_the_rewards_are_the_scores_at_the_end() -> None:
    env = croupier.env("pazaak", [BOLD])
    totals = []
    for number in range(6):
        env.reset(seed=5 if number == 0 else None)
        total = 0.0
        for _agent in env.agent_iter():
            _, reward, over, _, info = env.last()
            total += reward
            env.step(None if over else 1)
        scores = info["scores"]
        assert info["bots"][info["seat"]] == AGENT and info["table"] == number + 1
        assert total == reward == scores[info["seat"]] and max(scores) == 3
        totals.append(total)
    assert len(totals) == 6
    env.close()


def test_the_mask_is_what_the_rules_allow_and_an_illegal_move_is_told(tmp_path: Path) -> None:
    env = environment("openspiel", tmp_path)
    env.reset(seed=1)
    mask = env.observe(AGENT)["action_mask"]
    assert env.action_meanings == ["0", "1", "2"] and mask.tolist() == [0, 1, 1]
    env.step(0)
    assert env.infos[AGENT]["illegal"]
    with pytest.raises(croupier.Error, match="3 is not the number of a move"):
        env.step(3)
    env.close()


@pytest.mark.long
def test_a_game_without_a_list_of_moves_takes_texts() -> None:
    env = croupier.env("holdem", ["sample:tight"])
    env.reset(seed=1)
    assert env.action_meanings == [] and env.action_space(AGENT).contains("10")
    for text, illegal in (("all my money", True), ("0", False)):
        env.step(text)
        assert env.infos[AGENT]["illegal"] == illegal
        env.reset()
    env.close()


def test_bots_that_fail_lose_by_the_rules(tmp_path: Path) -> None:
    (tmp_path / "crashes.py").write_text("import sys\nsys.stdin.readline()\nprint('END', flush=True)\nsys.exit(3)\n")
    env = croupier.env("pazaak", [tmp_path / "crashes.py"])
    env.reset(seed=1)
    while not env.terminations[AGENT]:
        env.step(1 if sum(env.infos[AGENT]["view"].your_hand) >= 17 else 0)
    info = env.infos[AGENT]
    assert info["faults"]["crashes"] and info["scores"][info["seat"]] == 3
    env.close()


def test_a_bot_that_takes_one_table_at_a_time_has_a_process_for_each(tmp_path: Path) -> None:
    counts = "import sys\nfor line in sys.stdin:\n    print('STAND', flush=True)\n"
    (tmp_path / "alone.py").write_text(counts)
    before = len(psutil.Process().children(recursive=True))
    env = croupier.env("pazaak", [tmp_path / "alone.py"], tables=3).vector()
    env.reset(seed=1)
    assert len(psutil.Process().children(recursive=True)) - before >= 3 * 2
    env.close()


def test_the_agents_own_policy_can_be_its_opponent() -> None:
    def policy(view: Any) -> str:
        return "STAND" if sum(view.your_hand) >= 17 else "END"

    with croupier.env("pazaak", [policy, BOLD], tables=8).vector() as env:
        env.reset(seed=3)
        met, won = set[str](), 0.0
        for _ in range(60):
            actions = [env.action_meanings.index(policy(view)) for view in env.views]
            _, rewards, over, _, infos = env.step(actions)
            for bots in infos["final_info"]["bots"][over] if over.any() else ():
                met |= {*bots}
            won += (rewards[over] == 3).sum()
    assert met == {AGENT, "policy", "dumb_bold"} and won
    with pytest.raises(RuntimeError, match="call reset"):
        env.step([0] * 8)


@pytest.mark.long
def test_an_environment_that_is_dropped_ends_its_bots() -> None:
    croupier.close()
    for _ in range(3):
        env = croupier.env("pazaak", [BOLD, NESTOR], tables=4).vector()
        env.reset(seed=1)
    del env
    gc.collect()
    until(lambda: not psutil.Process().children(recursive=True))


@pytest.mark.parametrize("actions", [[0, 0, 0], [0] * 9, "END", []], ids=str)
def test_each_table_needs_an_action(actions: Any) -> None:
    env = croupier.env("pazaak", [BOLD], tables=8).vector()
    env.reset(seed=1)
    before = env.views
    with pytest.raises(ValueError, match="one for each of 8 tables"):
        env.step(actions)
    assert env.views == before
    env.close()


def test_options_have_no_effect_and_that_is_said() -> None:
    env = croupier.env("pazaak", [BOLD], limits={"move": "200ms"})
    with pytest.warns(UserWarning, match="no options"):
        env.reset(seed=1, options={"deck": "stacked"})
    env.close()


def test_after_close_an_environment_can_be_reset() -> None:
    env = croupier.env("pazaak", [BOLD])
    env.reset(seed=1)
    first = env.observe(AGENT)["text"]
    croupier.close()
    with pytest.raises(RuntimeError, match="reset the environment"):
        env.step(0)
    env.reset(seed=1)
    assert env.observe(AGENT)["text"] == first
    env.close()


@pytest.mark.long
def test_an_environment_that_is_left_open_ends_with_the_process() -> None:
    program = f"import croupier\nenv = croupier.env('pazaak', ['{BOLD}'])\nenv.reset(seed=1)\n"
    program += "import psutil\nprint(*[child.pid for child in psutil.Process().children(recursive=True)])\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids and not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.long
def test_the_command_and_play_do_not_import_gymnasium() -> None:
    program = "import sys, croupier\nimport host.cli\nassert not {'gymnasium', 'pettingzoo'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.long
def test_without_its_packages_the_error_names_them() -> None:
    program = "import sys\nsys.modules['gymnasium'] = None\nimport croupier\ncroupier.env('pazaak', ['x'])\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "error[S008] the Python package gymnasium is not installed" in done.stderr
    assert "pip install 'croupier[env]'" in done.stderr


PENNIES = """
import re
from typing import NamedTuple
from host.games.engine import Game, Opening, Request, best_unless_equal
from protocols.wire import Grammar, Move
class Rules(NamedTuple):
    seats: int = 2
class View(NamedTuple):
    turn: int
def play(rules, luck, tell=None):
    points = [0, 0]
    for turn in range(10):
        both = yield [Request(seat, View(turn)) for seat in range(2)]
        shown = [each.n if isinstance(each, Move) and each.n < 2 else 5 for each in both]
        points[shown[0] != shown[1]] += 1
    return tuple(points)
GAME = Game(name="pennies", title="Pennies", seats=(2, 2), protocol="lines", presets={"d": Rules()},
  grammar=Grammar(re.compile(r"(?P<verb>SHOW) (?P<n>[0-9])"), "SHOW 0 or SHOW 1"), play=play,
  allows=lambda rules, view, move: move.n < 2, winners=best_unless_equal, view=View, edges={"first": View(0)},
  opening=Opening("turn", 1, below="SHOW 0", otherwise="SHOW 1"), card="x")
"""


def test_a_bot_that_is_asked_together_with_the_caller_is_asked_once(tmp_path: Path) -> None:
    (tmp_path / "pennies.py").write_text(PENNIES)
    (tmp_path / "croupier.toml").write_text('game = "pennies:GAME"\nbots = []\n[[stage]]\nkind = "round-robin"\n')
    asked = list[int]()

    def parity(view: Any) -> str:
        asked.append(view.turn)
        return f"SHOW {view.turn % 2}"

    with croupier.env(None, [parity], folder=tmp_path, tables=3).vector() as env:
        env.reset(seed=1)
        for turn in range(10):
            assert sorted(asked) == [each for each in range(turn + 1) for _ in range(3)]
            _, rewards, ended, _, told = env.step(["SHOW 9" if turn == 4 else "SHOW 0"] * 3)
            assert told["illegal"].tolist() == [turn == 4] * 3
        # Equal pennies are a point for the first seat: five of ten turns, but not turn 4. The caller changes seats.
        assert ended.all() and rewards.tolist() == [4, 6, 4]
