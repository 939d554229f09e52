"""docs/adding-a-game.md as it is written: its files make a tournament of a fourth game, and everything works with it."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ROOT, answers_in, croupier, croupier_process, environment

from host import outsiders
from host.games import GAMES
from tests.browser import browser, complaints, missing

PAGE = (ROOT / "docs" / "adding-a-game.md").read_text()
FILE = re.compile(r"^```\w+ (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def laid_out(place: Path) -> Path:
    """Write the page's files into a folder; what stands in several blocks belongs together."""
    files: dict[str, list[str]] = {}
    for block in FILE.finditer(PAGE):
        files.setdefault(block["name"], []).append(block["text"])
    assert {"goofspiel.py", "croupier.toml", "bots/copycat.py", "bots/miser.c", "test_goofspiel.py"} == set(files)
    for name, texts in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("\n\n".join(texts))
    return place


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    """Forget the game when all is done."""
    before = dict(GAMES)
    yield
    GAMES.clear()
    GAMES.update(before)
    outsiders._origins.clear()
    for name in ("goofspiel", "twin"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the page's tournament, not played yet."""
    return laid_out(tmp_path / "sunday")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page's tournament, played, with its report."""
    folder = laid_out(tmp_path_factory.mktemp("played") / "sunday")
    assert croupier("-C", folder, "run").code == 0
    assert croupier("-C", folder, "report", "-o", folder / "report.html").code == 0
    return folder


def test_the_page_is_played_as_it_is_written(folder: Path) -> None:
    for words in PAGE.split("```console\n")[1].split("```")[0].splitlines():
        done = croupier_process("-C", folder, *words.removeprefix("$ croupier ").split())
        assert done.code == 0, done.err
    rows = {row["bot"]: row for row in croupier_process("-C", folder, "standings", "--json").json["rows"]}
    assert sum(row["tables"] for row in rows.values()) == 400
    assert rows["copycat"]["wins"] > 150  # it takes the dear prizes


def test_everything_that_looks_at_tables_knows_the_game(played: Path) -> None:
    folder = played
    assert "prize" in croupier("-C", folder, "games", "goofspiel").out
    table = next(iter(answers_in(folder / "run" / "run.sqlite")))
    assert "BID" in croupier("-C", folder, "replay", f"{table.rpartition('/')[0]}/3").out
    assert croupier("-C", folder, "export", "csv", "-o", folder / "out.csv").code == 0
    assert croupier("-C", folder, "play", "bots/copycat.py", "bots/miser.c", "-n", 20).code == 0


@pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}")
def test_its_tables_are_shown_in_words(played: Path) -> None:
    with browser() as driver:
        driver.get(f"{(played / 'report.html').as_uri()}#casino")
        driver.execute_script("document.querySelector('.shelf a').click()")
        until = time.monotonic() + 60
        while not driver.execute_script("return document.querySelector('#picture .felt')"):
            assert time.monotonic() < until, complaints(driver)
        driver.execute_script("document.getElementById('next').click(); document.getElementById('next').click()")
        assert "prize card" in driver.execute_script("return document.getElementById('player').innerText")
        assert complaints(driver) == []


def test_a_first_bot_can_be_begun_for_it(folder: Path) -> None:
    assert croupier("-C", folder, "init", folder / "bots" / "first", "--game", "goofspiel", "--lang", "c").code == 0
    assert croupier("-C", folder, "check", folder / "bots" / "first").code == 0


def test_the_page_s_own_tests_pass(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", folder, folder]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout[-2000:]


def test_a_journal_away_from_its_game_says_where_to_look(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "run", tmp_path / "elsewhere" / "run")
    done = croupier_process("-C", tmp_path / "elsewhere", "verify")
    assert done.code == 3
    assert "C018" in done.err and "the game goofspiel is not known here" in done.err


BROKEN = {
    "a module that is not there": ("nowhere:GAME", "cannot be imported: No module named 'nowhere'"),
    "a value that is not there": ("goofspiel:GAMES", "has no attribute 'GAMES'"),
    "what is no game": ("goofspiel:GRAMMAR", "is no Game but Grammar"),
    "no module at all": ("goofspiel:", "names no value of a module"),
    "Python that is none": ("broken:GAME", "cannot be imported: invalid syntax"),
    "the name of another": ("twin:GAME", "is called pazaak, as another game is"),
    "a name that is none": ("twin:ODD", "is called 'Odd one'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_game_that_cannot_be_brought_is_refused_by_name(case: str, folder: Path) -> None:
    said, why = BROKEN[case]
    (folder / "broken.py").write_text("GAME = = 1\n")
    (folder / "twin.py").write_text(
        "from goofspiel import GAME as G\nGAME = G._replace(name='pazaak')\nODD = G._replace(name='Odd one')\n"
    )
    config = folder / "croupier.toml"
    config.write_text(config.read_text().replace("goofspiel:GAME", said))
    done = croupier("-C", folder, "ls")
    assert done.code == 3
    assert "C018" in done.err and why in done.err and "croupier.toml:1" in done.err
    sys.modules.pop("twin", None)


def test_a_bot_can_not_bring_code_of_its_own(folder: Path) -> None:
    guest = folder / "bots" / "guest"
    guest.mkdir()
    (guest / "evil.py").write_text("import pathlib\npathlib.Path('/tmp/evil').touch()\nGAME = None\n")
    (guest / "bot.toml").write_text('name = "guest"\nlanguage = "python"\nentry = "evil.py"\ngame = "evil:GAME"\n')
    done = croupier("check", guest)
    assert done.code != 0 and "C008" in done.err + done.out and not Path("/tmp/evil").exists()
