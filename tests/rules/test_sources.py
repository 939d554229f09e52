"""A game in Python that fails costs no bot anything and stops no tournament."""

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import answers_in, croupier, croupier_process
from failing_games import LEAGUE, bot, set_mode, tournament
from helpers import long

AT_ONCE = pytest.mark.parametrize("parallel", [long(1), 8])
"""Tables at once."""


def run(folder: Path, *words: object, code: int = 0) -> str:
    """Run a tournament. Return what it printed to standard error."""
    done = croupier("-C", folder, "run", "--progress", "none", *words)
    assert done.code == code, (done.code, done.out, done.err)
    return done.err


def standings(folder: Path, *words: object) -> Any:
    """Return the standings as JSON."""
    return croupier("-C", folder, "standings", "--json", *words).json


def verified(folder: Path, code: int = 0) -> str:
    """Verify a tournament, and return what was printed."""
    done = croupier_process("-C", folder, "verify")
    assert done.code == code, (done.out, done.err)
    return done.out


@pytest.fixture(scope="module")
def unfailing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament whose game does not fail, after it was played."""
    folder = tournament(tmp_path_factory.mktemp("unfailing") / "cup", "GAME", LEAGUE)
    run(folder, "--workers", 1)
    return folder


@pytest.fixture(scope="module", params=[long(1), 8])
def failed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a tournament whose game fails at some answers, after it was played, and what its run has printed."""
    more = f"{LEAGUE}\n[run]\nparallel_tables = {request.param}\n"
    folder = tournament(tmp_path_factory.mktemp("failed") / "cup", "GAME", more, mode="always")
    return folder, run(folder, code=7)


# A failure is survived.


@pytest.mark.long
@AT_ONCE
def test_a_game_that_fails_once_gets_the_answers_again_and_no_bot_is_asked_again(
    parallel: int, unfailing: Path, tmp_path: Path
) -> None:
    more = f"{LEAGUE}\n[run]\nparallel_tables = {parallel}\n"
    folder = tournament(tmp_path / "cup", "GAME", more, mode="once")
    run(folder, "--workers", 2)
    marks = len([*(folder / "marks").iterdir()])
    assert marks > 2
    assert answers_in(folder / "run" / "run.sqlite") == answers_in(unfailing / "run" / "run.sqlite")
    told = standings(folder)
    assert told["replayed"] == marks and len(told["failures"]) == marks and not told["undecided"]
    assert "the game failed: LookupError" in told["failures"][0]
    assert "every recorded answer gives the recorded score" in verified(folder)  # also: as many questions as answers


ENDS = pytest.mark.parametrize("end", ["segfault", "endless"])
"""How rules end their process, or never return."""

ERRATIC = "77 if int(card) % 3 == 0 and turn == '1' else __import__('random').randrange(120)"
"""The number of a bot that plays differently if it is asked again, and whose illegal moves are counted."""


def heard(folder: Path) -> list[str]:
    """Return what the game was given: a line for each turn of each table, however often it was given it."""
    return sorted({*(folder / "heard").read_text().splitlines()})


@pytest.mark.long
@ENDS
@pytest.mark.parametrize("parallel", [1, 8])
@pytest.mark.one_in(4)
def test_a_game_that_ends_its_process_gets_the_answers_again_and_no_bot_is_asked_again(
    end: str, parallel: int, tmp_path: Path
) -> None:
    more = f"{LEAGUE}\n[run]\nparallel_tables = {parallel}\n"
    folder = tournament(tmp_path / "cup", "GAME", more, mode=f"once heard {end}", bots=())
    for name in ("ada", "bob"):
        bot(folder, name, ERRATIC)
    if parallel == 1:
        with (folder / "croupier.toml").open("a") as file:
            file.write('bank = "60 s / table"\n')
    run(folder, "--workers", 1)
    marks = len([*(folder / "marks").iterdir()])
    assert marks > 1
    told = standings(folder)
    assert told["replayed"] == marks and not told["undecided"]
    reason = "it ended its process (Segmentation fault)" if end == "segfault" else "it computed for 0.5 s"
    assert all(reason in failure for failure in told["failures"]), told["failures"]
    turns = [line.split()[:2] for line in heard(folder)]
    assert len(turns) == len({*map(tuple, turns)}) == 12 * 3  # each turn of each table with the same answers
    assert "every recorded answer gives the recorded score" in verified(folder)  # faults, questions and banks as well


@pytest.mark.long
@ENDS
def test_a_game_that_ends_its_process_twice_at_an_answer_sets_its_fixture_aside(
    end: str, unfailing: Path, tmp_path: Path
) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode=f"always {end}")
    run(folder, "--workers", 2, code=7)
    whole, found, undecided = decided(unfailing), decided(folder), standings(folder)["undecided"]
    assert len(found) == 4 and all(found[path] == whole[path] for path in found)
    assert [(each["bots"], each["answer"]) for each in undecided] == [(["cyd"], 4)] * 2
    assert all(each["table"].startswith(each["fixture"][:-1]) for each in undecided)


@pytest.mark.long
def test_a_game_whose_thread_ends_its_process_gets_the_answers_again_too(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode="always thread", bots=())
    for name in ("ada", "bob"):
        bot(folder, name, "77 if turn == '1' else __import__('time').sleep(0.3) or 5")
    run(folder, "--workers", 1)
    told = standings(folder)
    assert told["replayed"] > 0 and not told["undecided"]
    assert all("it ended its process (Segmentation fault)" in failure for failure in told["failures"])


# A second failure at the same answer.


def decided(folder: Path) -> Mapping[str, Any]:
    """Return what was recorded of the fixtures with a result."""
    return answers_in(folder / "run" / "run.sqlite")


@pytest.mark.long
def test_a_game_that_fails_twice_at_an_answer_sets_its_fixture_aside_and_the_rest_is_played(
    unfailing: Path, failed: tuple[Path, str]
) -> None:
    folder, warned = failed
    whole, found = decided(unfailing), decided(folder)
    undecided = standings(folder)["undecided"]
    missing = {each["fixture"] for each in undecided}
    assert len(missing) == 2 and missing | found.keys() == whole.keys() and not missing & found.keys()
    assert all(found[path] == whole[path] for path in found)  # no other fixture is touched
    assert all(each["bots"] == ["cyd"] and each["table"].startswith(each["fixture"][:-1]) for each in undecided)
    assert all(each["answer"] in (3, 4) and "77 is too much" in each["reason"] for each in undecided)
    assert warned.count("WARNING  ") == len(missing) and "no bot is charged" in warned
    for each in undecided:
        assert f"{each['fixture']} is undecided" in warned
    assert f"{len(missing)} fixture" in warned and "Try again:  croupier -C" in warned
    rows = standings(folder)["rows"]
    assert {kind for row in rows for kind in row["faults_by_kind"]} <= {"illegal"}
    assert sum(row["tables"] for row in rows) == 24 * len(found)
    for command in ("standings", "status"):
        assert "undecided: the game failed" in croupier("-C", folder, command).out
    assert f"{len(missing)} fixture" in verified(folder)


@pytest.mark.long
def test_the_table_at_which_a_game_failed_is_kept_for_its_authors(failed: tuple[Path, str]) -> None:
    folder, _ = failed
    undecided = standings(folder)["undecided"]
    bundles = [json.loads(gzip.decompress(path.read_bytes())) for path in sorted((folder / "run/undecided").iterdir())]
    assert [bundle["table"] for bundle in bundles] == sorted(each["table"] for each in undecided)
    for bundle in bundles:
        assert bundle["schema"] == "croupier/undecided/1" and bundle["game"] == "sums:GAME"
        assert bundle["reason"] == "LookupError: 77 is too much" and "sums.py:" in bundle["where"]
        assert bundle["answers"][-1] == "PLAY 77" or bundle["answers"][-2] == "PLAY 77"
        assert len(bundle["luck"]) == 64 and not bundle["shared_luck"]
        assert bundle["rules"] == {"seats": 2, "chips": 10} and bundle["given_by"] == ["cyd"]


@pytest.mark.long
def test_a_run_without_any_result_is_tried_again(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode="always", bots=("ada", "cyd"), often=1)
    for _ in range(2):
        run(folder, code=7)
        assert standings(folder)["undecided"] and not decided(folder)
    set_mode(folder, "never")
    run(folder)
    assert decided(folder) and not standings(folder)["undecided"]
    assert "undecided" not in verified(folder)


@pytest.mark.long
def test_running_again_tries_undecided_fixtures_again(unfailing: Path, tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode="always")
    run(folder, code=7)
    before = standings(folder)["undecided"]
    done = croupier("-C", folder, "run", "--workers", 1)  # the game still fails
    assert done.code == 7 and "trying 2 undecided fixtures again" in done.out
    again = standings(folder)["undecided"]
    assert sorted(each["fixture"] for each in again) == sorted(each["fixture"] for each in before)
    assert all(one["at"] > other["at"] for one, other in zip(again, before, strict=True))
    set_mode(folder, "never")
    run(folder)
    assert decided(folder) == decided(unfailing) and not standings(folder)["undecided"]
    assert "undecided" not in verified(folder)


@pytest.mark.long
def test_the_undecided_fixtures_depend_neither_on_workers_nor_on_interruptions(tmp_path: Path) -> None:
    found = []
    for name, workers, parallel in (("one", 1, 1), ("two", 2, 8), ("cut", 2, 8)):
        more = f"{LEAGUE}\n[run]\nparallel_tables = {parallel}\n"
        folder = tournament(tmp_path / name, "GAME", more, mode="always")
        if name == "cut":
            run(folder, "--workers", workers, "--stop-after", "1 ms", code=5)
        run(folder, "--workers", workers, code=7)
        undecided = sorted(standings(folder)["undecided"], key=lambda each: str(each["fixture"]))
        found.append((decided(folder), [(each["fixture"], each["bots"], each["reason"]) for each in undecided]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("command", ["play ada cyd -n 12", long("compare ada cyd -n 12"), long("run --dry-run")])
def test_outside_a_run_a_failing_game_is_an_error(command: str, tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode="always", often=1)
    done = croupier("-C", folder, *command.split())
    assert done.code == 3 and f"error[C020] {folder}/sums.py:" in done.err, done.err
    assert "the game sums:GAME failed at table" in done.err and "no bot is charged" in done.err


def test_rules_whose_report_of_a_failure_is_not_utf_8_are_named_by_how_they_ended(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, mode="always unreadable", often=1)
    done = croupier("-C", folder, "play", "ada", "cyd", "-n", 12)
    assert done.code == 3 and "error[C020]" in done.err and "ended its process" in done.err, done.err


# Brackets go on.

CUP = """
[[stage]]
name = "cup"
kind = "knockout"
set = 4
first_to = 1
min_bots = 4
practice = true
elimination = "{elimination}"
seeds = {seeds}
"""
SEEDS = '["dan", "cyd", "bob", "ada"]'


@pytest.mark.long
@pytest.mark.parametrize("elimination", ["single", "double"])
@pytest.mark.one_in(2)
def test_an_undecided_tie_goes_to_the_better_seed(elimination: str, tmp_path: Path) -> None:
    stages = CUP.format(elimination=elimination, seeds=SEEDS)
    folder = tournament(tmp_path / "cup", "GAME", stages, mode="always", often=1)
    run(folder, code=7)
    told = standings(folder)
    assert len(told["undecided"]) >= 3 and all("cyd" in each["fixture"] for each in told["undecided"])
    ties = [tie for each in told["bracket"] for tie in each["ties"] if "cyd" in tie["bots"] and None not in tie["bots"]]
    assert ties and all(tie["winner"] == ("dan" if "dan" in tie["bots"] else "cyd") for tie in ties)
    printed = croupier("-C", folder, "standings").out
    assert "cyd goes on as the better seed" in " ".join(printed.split())
    assert "every recorded answer" in verified(folder)
    run(folder, code=7)  # only the last set of a tie that nothing follows is tried again
    again = [each for each in standings(folder)["undecided"] if each not in told["undecided"]]
    assert len(again) <= 1 and all(re.search("/set [36]/", each["fixture"]) for each in again)


SWISS = """
[[stage]]
name = "swiss"
kind = "swiss"
rounds = 3
tables_per_pairing = 4
rank_by = ["sets", "buchholz"]
practice = true
"""


@pytest.mark.long
def test_an_undecided_set_of_a_swiss_stage_is_a_point_for_the_better_seed(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", SWISS, mode="always", often=1)
    run(folder, code=7)
    told = standings(folder)
    assert len(told["undecided"]) == 3
    sets = {tuple(each["bots"]): each["points"] for number in told["rounds"] for each in number["sets"]}
    assert len(sets) == 6 and all(sorted(points) in ([0, 1], [0.5, 0.5]) for points in sets.values())
    assert "gets the point as the better seed" in " ".join(croupier("-C", folder, "standings").out.split())
    verified(folder)


GROUPS = """
[[stage]]
name = "groups"
kind = "groups"
advance = 2
until = 3
practice = true
[[stage]]
name = "final"
kind = "groups"
advance = 1
practice = true
"""


@pytest.mark.long
def test_a_group_without_any_result_is_ranked_by_seed_and_its_final_is_played(tmp_path: Path) -> None:
    bots = ("ada", "bob", "cyd", "dan", "eve", "fay")
    folder = tournament(tmp_path / "cup", "GAME", GROUPS, mode="always", often=1, bots=bots)
    run(folder, code=7)
    told = standings(folder, "groups")
    assert len(told["undecided"]) == 1
    group = next(each for each in told["groups"] if "cyd" in [seat["bot"] for seat in each["seats"]])
    assert [seat["bot"] for seat in group["seats"]] == sorted(seat["bot"] for seat in group["seats"])
    assert "undecided, because the game failed; the better seeds go on" in " ".join(
        croupier("-C", folder, "standings", "groups").out.split()
    )
    assert len(standings(folder, "final")["rows"]) == 6
    verified(folder)


LONG = """
import re
from typing import NamedTuple

from host.games.engine import Game, Opening, Request, best_unless_equal
from protocols.wire import Grammar, Move


class Rules(NamedTuple):
    seats: int = 2


class View(NamedTuple):
    turn: int
    story: str


def play(rules, luck, tell=None):
    first = yield Request(0, View(0, "short"))
    yield Request(1, View(1, "a b" * (30_000 if first == Move("TELL") else 1)))
    return 1, 0


GAME = Game(
    name="story", title="Story", seats=(2, 2), protocol="lines", presets={"story": Rules()}, play=play,
    grammar=Grammar(re.compile("(?P<verb>TELL|WAIT)"), "TELL or WAIT"), allows=lambda *_: True, winners=best_unless_equal,
    view=View, edges={"first": View(0, "x")}, decisions=2, opening=Opening("turn", 1, "TELL", "WAIT"), card="TELL or WAIT.",
)
"""


@pytest.mark.long
def test_a_question_too_long_for_argv_is_the_fault_of_its_game(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    (tmp_path / "story.py").write_text(LONG)
    (tmp_path / "bots" / "arg.py").write_text("print('WAIT')")
    (tmp_path / "bots" / "bob.py").write_text("while input():\n    print('TELL', flush=True)\n")
    for name, protocol in (("arg", "argv"), ("bob", "lines")):
        place = tmp_path / "bots" / name
        place.mkdir()
        (tmp_path / "bots" / f"{name}.py").rename(place / "bot.py")
        (place / "bot.toml").write_text(f'protocol = "{protocol}"\n')
    stage = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\nfixture_tables = 1\n'
    (tmp_path / "croupier.toml").write_text(f'game = "story:GAME"\nbots = ["bots/*"]\nseed = "a"\n{stage}')

    done = croupier("-C", tmp_path, "run", "--progress", "none")

    assert done.code == 7, done.err
    assert "it asks arg, over argv, a question of 150003 bytes; at most 48 KiB are possible" in " ".join(
        done.err.split()
    )
    told = croupier("-C", tmp_path, "standings", "--json").json
    assert [row["faults"] for row in told["rows"]] == [0, 0] and len(told["undecided"]) == 1
    checked = croupier("-C", tmp_path, "check", "arg")
    assert checked.code == 3 and "error[C020]" in checked.err and "a question of 150003 bytes" in checked.err
    assert croupier("-C", tmp_path, "check", "bob").code == 0
