"""Everything that one machine can play, a cluster can play with the same answers and scores.

The machines of these tests cannot see the tournaments' folders, have their own caches, and have no package index.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import failing_games
import pytest
import test_banksalad
import test_foreign_games
import test_lasting_state
import test_simplepazaak
import test_wheels
from command import MEASURED, ROOT, answers_in, croupier_process, environment
from machines import Machines, machines, until
from test_adding_a_game import laid_out
from test_cluster import present

pytestmark = pytest.mark.long
SUNDAY = '''\
"""Goofspiel as it is played here: each prize is worth more."""

from collections.abc import Iterator
from pathlib import Path

import worth
from sunday.goofspiel import GAME as PLAIN

TIMES = int(Path(__file__).with_name("times.txt").read_text())


def play(rules, luck, tell=None):
    """Play one game."""
    points = yield from PLAIN.play(rules, luck, tell)
    return tuple(each * TIMES + worth.MORE for each in points)


GAME = PLAIN._replace(play=play)
'''
STAGE = """
[[stage]]
name = "all"
kind = "{kind}"
practice = true
{more}
[limits]
move = "20 s"
cpu = "20 s"
startup = "60 s"
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Start two machines that see neither the tournaments' folders nor a package index."""
    base = tmp_path_factory.getbasetemp()
    with machines() as standing:
        for name in ("alice", "bob"):
            env = environment(CROUPIER_CACHE=str(standing.folder / f"cache of {name}"), PIP_NO_INDEX="1")
            standing.start(name, env, hiding=base)
        until(lambda: {"alice", "bob"} <= set(present(standing.address)))
        yield standing


def played(cup: Path, *words: str, env: Mapping[str, str] | None = None) -> Any:
    """Play a tournament; return what must be the same wherever it is played."""
    done = croupier_process("-C", cup, "run", *words, env=env)
    assert done.code == 0, done.err
    told = croupier_process("-C", cup, "standings", "--json").json["rows"]
    rows = [{key: value for key, value in row.items() if key not in MEASURED} for row in told]
    return rows, answers_in(cup / "run" / "run.sqlite")


def same(lay: Callable[[Path], object], place: Path, cluster: Machines, env: Mapping[str, str] | None = None) -> bool:
    """Play the same tournament here and on a cluster; return whether the results are equal."""
    for name in ("here", "there"):
        (place / name).mkdir()
        lay(place / name)
    rows, answers = here = played(place / "here", env=env)
    assert rows and answers
    return bool(here == played(place / "there", "--cluster", cluster.address, env=env))


def cup(place: Path, game: str, bots: str, kind: str, more: str = "", end: str = "") -> None:
    """Write a croupier.toml."""
    head = f'game = "{game}"\nseed = "a seed for tests"\nbots = [{bots}]\n'
    (place / "croupier.toml").write_text(head + STAGE.format(kind=kind, more=more) + end)


def with_a_game(times: int) -> Callable[[Path], None]:
    """Return a function that writes a tournament with its own game: a package, a file that it reads, and a module."""

    def lay(place: Path) -> None:
        laid_out(place)
        (place / "sunday").mkdir()
        (place / "goofspiel.py").rename(place / "sunday" / "goofspiel.py")
        (place / "sunday" / "__init__.py").write_text(SUNDAY)
        (place / "sunday" / "times.txt").write_text(str(times))
        (place / "worth.py").write_text("MORE = 3\n")
        cup(place, "sunday:GAME", '"bots/*"', "round-robin", "tables_per_pair = 20")

    return lay


@pytest.mark.proof
def test_a_game_of_ones_own_travels_and_is_forgotten_again(elsewhere: Machines, tmp_path: Path) -> None:
    for times in (2, 3):  # another game with the same name, on the same machines
        place = tmp_path / str(times)
        place.mkdir()
        assert same(with_a_game(times), place, elsewhere)


def test_a_referee_travels_and_is_built_on_each_machine(elsewhere: Machines, tmp_path: Path) -> None:
    def lay(place: Path) -> None:
        laid_out(place)
        shutil.copytree(ROOT / "sample_bots" / "referees" / "goofspiel_c", place / "prizes")
        cup(place, "prizes/", '"bots/*"', "round-robin", "tables_per_pair = 20")

    assert same(lay, tmp_path, elsewhere)


@pytest.mark.proof
def test_a_referee_of_another_host_travels_with_its_adapter(elsewhere: Machines, tmp_path: Path) -> None:
    def lay(place: Path) -> None:
        shutil.copytree(ROOT / "sample_bots" / "referees" / "nim_python", place / "nim")
        test_foreign_games.tournament(place, "nim", "brutaltester:nim/")

    assert same(lay, tmp_path, elsewhere)


def test_a_game_that_ends_its_process_goes_on_from_its_answers(elsewhere: Machines, tmp_path: Path) -> None:
    failing_games.tournament(tmp_path / "cup", "GAME", failing_games.LEAGUE)
    game = tmp_path / "cup" / "sums.py"  # a file beside it would not travel
    game.write_text(game.read_text().replace('(HERE / "mode").read_text()', '"always segfault"'))
    done = croupier_process("-C", tmp_path / "cup", "run", "--cluster", elsewhere.address)
    assert done.code == 7 and done.err.count("is undecided") == 2, done.err
    assert "after an answer of cyd: it ended its process (Segmentation fault)" in done.err


def test_a_module_that_reads_a_file_beside_it_is_refused_with_the_cure(elsewhere: Machines, tmp_path: Path) -> None:
    failing_games.tournament(tmp_path / "cup", "GAME", failing_games.LEAGUE)
    done = croupier_process("-C", tmp_path / "cup", "run", "--cluster", elsewhere.address)
    assert (
        done.code == 3 and 'error[C018] game = "sums:GAME" cannot read a file on a machine of the cluster' in done.err
    )
    assert "/mode" in done.err and "is sent with all its files" in done.err


def test_what_bots_require_is_downloaded_here_and_travels(elsewhere: Machines, tmp_path: Path) -> None:
    index = tmp_path / "index"
    index.mkdir()
    test_wheels.wheel(index, test_wheels.LIMITS, "17.1", needs="deeper")
    test_wheels.wheel(index, "deeper", "1.0")

    def lay(place: Path) -> None:
        (place / "bots").mkdir()
        test_wheels.guest(place / "bots", f'["{test_wheels.LIMITS}<18"]')
        cup(place, "pazaak", '"bots/*", "sample:dumb_bold"', "round-robin", "tables_per_pair = 20")

    env = environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))
    assert same(lay, tmp_path, elsewhere, env)


def test_warm_bots(elsewhere: Machines, tmp_path: Path) -> None:
    def lay(place: Path) -> None:
        bots = '"sample:lim17", "sample:linear_bet", "sample:davey"'
        cup(place, "cardshark", bots, "mixed-tables", "tourneys = 2\nrounds = 3", "[sandbox]\nwarm = true\n")

    assert same(lay, tmp_path, elsewhere)


def test_a_file_that_outlives_its_fixtures(elsewhere: Machines, tmp_path: Path) -> None:
    assert same(test_lasting_state.cup_in, tmp_path, elsewhere)
    kept = [test_lasting_state.counted(tmp_path / where, "again") for where in ("here", "there")]
    assert kept[0] == kept[1] == dict.fromkeys(("one", "two", "three"), b"4")


def test_a_class_of_2015(elsewhere: Machines, tmp_path: Path) -> None:
    def lay(place: Path) -> None:
        (place / "bots" / "Old").mkdir(parents=True)
        java = f"public class Bot extends Player {{ {test_simplepazaak.DECIDES} {{ this.setAction(Action.STAND); }} }}"
        test_simplepazaak.handed_in(place / "bots" / "Old", java)
        cup(place, "pazaak", '"bots/*", "sample:dumb_bold"', "round-robin", "tables_per_pair = 20")

    assert same(lay, tmp_path, elsewhere)


def test_a_turn_of_2018(elsewhere: Machines, tmp_path: Path) -> None:
    def lay(place: Path) -> None:
        (place / "bots" / "Turn").mkdir(parents=True)
        test_banksalad.handed_in(place / "bots" / "Turn", "return min_bet_amt")
        (place / "bots" / "Turn" / "bot.toml").write_text('name = "Turn"\nadapter = "banksalad"\n')
        cup(place, "holdem", '"bots/*", "sample:always_bet", "sample:tight"', "groups", "advance = 1")

    assert same(lay, tmp_path, elsewhere)


def test_nothing_that_travelled_outlives_its_machine(tmp_path: Path) -> None:
    with machines() as standing:
        standing.start("carol")
        place = tmp_path / "cup"
        place.mkdir()
        cup(place, "cardshark", '"sample:davey", "sample:cautious"', "mixed-tables", "tourneys = 1\nrounds = 1")
        played(place, "--cluster", standing.address)
        assert len([*standing.folder.rglob("croupier/*/davey.c")]) == 1
        standing.stop("carol")
        assert not [*standing.folder.rglob("davey.c")]
