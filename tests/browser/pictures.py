"""Take the pictures of README and docs: `python -m tests.browser.pictures` plays three small tournaments for them."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.browser import browser, picture, smaller

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-game.md"
PICTURES = ROOT / "docs" / "pictures"
PATIENCE = 600.0  # seconds until a tournament has enough results for a picture
BOTS = {"cardshark": '"bots/*"', "pazaak": '"bots/*", "shaky.py"', "holdem": '"bots/*"'}
STAGES = {
    "cardshark": """
name = "Blackjack"
[[stage]]
name = "tourneys"
kind = "mixed-tables"
tourneys = 40
""",
    "pazaak": """
name = "Simple Pazaak"
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 500
[[stage]]
name = "cup"
kind = "knockout"
set = 50
""",
    "holdem": """
name = "Banksalad"
[[stage]]
name = "groups"
kind = "groups"
repeat = 2
[[stage]]
name = "final"
kind = "groups"
advance = 1
""",
}
SHAKY = """import sys
for number, line in enumerate(sys.stdin, 1):
    if number % 900 == 0:
        raise ValueError("that was one too many")
    print("PLAY 7" if number % 700 == 0 else "STAND" if number % 3 == 0 else "END", flush=True)
"""
MIDDLE = """import sys
for line in sys.stdin:
    legal = line.split()[2].split(",")
    print(legal[len(legal) // 2 - len(line) % 2], flush=True)
"""
GENERAL = {
    "goofspiel": (["bots/copycat.py", "bots/miser.c"], 16),
    "hearts": (["sample:dodger", "sample:cowardly", "sample:duck", "sample:duck"], 30),
    "openspiel:connect_four": (["bots/left.py", "bots/right.py"], 20),
}
"""Games that the general table draws: their bots, and the step of the picture."""
LIVELY = """(mark) => {
    const {steps} = window.casino.shown();
    const living = (step) => step.state.players.filter((one) => !one.died && !one.out).length;
    const worth = steps.map((step, nth) => [mark === "pot" ? (step.state.end === "showdown") * step.state.pot * living(step)
        : step.events.some((ev) => ev.ev === mark) && step.answer ? 1 + (nth > 8) : 0, nth]);
    return worth.sort((one, two) => two[0] - one[0] || one[1] - two[1])[0][1]; }"""


def wait(driver: Any, script: str) -> None:
    """Wait until a script returns true."""
    until = time.monotonic() + PATIENCE
    while not driver.execute_script(f"return {script}"):
        if time.monotonic() > until:
            raise TimeoutError(script)
        time.sleep(0.1)


def take(
    url: str, name: str, width: int = 1180, height: int = 760, dark: bool = False, lively: str = "", ready: str = "true"
) -> None:
    """Take one picture as soon as a page is ready; show a replay at its most interesting step."""
    with browser(width, height, dark) as driver:
        driver.get(url)
        wait(driver, ready)
        if lively:
            wait(driver, "document.querySelector('.shelf a')")
            driver.execute_script("document.querySelector('.shelf a').click()")
            wait(driver, "document.querySelector('#picture .felt')")
            at = driver.execute_script(f"return ({LIVELY})(arguments[0])", lively)
            driver.execute_script(f"location.hash = document.querySelector('.shelf a').hash + '&s={at}'")
            driver.execute_script("document.querySelector('#casino h1').style.display = 'none'")
        time.sleep(0.8)
        picture(driver, PICTURES / f"{name}.png")


def tournament(place: Path, game: str) -> Path:
    """Create the folder of a small tournament between sample bots."""
    shutil.copytree(ROOT / "sample_bots" / game, place / "bots", ignore=shutil.ignore_patterns("README.md"))
    if game == "pazaak":
        (place / "shaky.py").write_text(SHAKY)
    (place / "croupier.toml").write_text(f'game = "{game}"\nbots = [{BOTS[game]}]\n{STAGES[game]}')
    return place


def command(place: Path, *words: str) -> list[str]:
    """Return a croupier command for a folder."""
    return [sys.executable, "-m", "host", "-C", str(place), *words]


@contextlib.contextmanager
def serving(place: Path) -> Iterator[str]:
    """Serve a folder; yield the address."""
    words = command(place, "--json", "serve", "--bind", "127.0.0.1:0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


def general(game: str) -> None:
    """Play one table of a game that the general table draws, and take its picture."""
    bots, step = GENERAL[game]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if game == "goofspiel":
            for name, text in re.findall(r"^```\w+ ((?:bots/)?\w+\.\w+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
                (place / name).parent.mkdir(exist_ok=True)
                with (place / name).open("a") as file:
                    file.write(text + "\n\n")
        else:
            (place / "croupier.toml").write_text(f'game = "{game}"\n')
            (place / "bots").mkdir()
            for side in ("left", "right"):
                (place / "bots" / f"{side}.py").write_text(MIDDLE)
        players = [bot if bot.startswith("sample:") else str(place / bot) for bot in bots]
        subprocess.run(command(place, "play", *players, "-n", "1", "--seed", "ab" * 16), check=True)
        page = place / "table.html"
        subprocess.run(command(place, "replay", "last", "-o", str(page)), check=True)
        name = game.rpartition(":")[2].replace("_", "-")
        with browser(820, 640) as driver:
            driver.get(page.as_uri())
            wait(driver, "document.querySelector('.shelf a')")
            driver.execute_script("document.querySelector('.shelf a').click()")
            wait(driver, "document.querySelector('#picture .felt')")
            driver.execute_script(f"location.hash = document.querySelector('.shelf a').hash + '&s={step}'")
            time.sleep(0.8)
            driver.find_element("id", "picture").screenshot(str(PICTURES / f"table-{name}.png"))
            smaller(PICTURES / f"table-{name}.png", 48)


def main() -> None:
    """Play three tournaments and take their pictures, one of them during the run; then one table of other games."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for game in GENERAL:
        general(game)
    with tempfile.TemporaryDirectory() as place:
        urls = []
        for game in STAGES:
            folder = tournament(Path(place) / game, game)
            with subprocess.Popen(command(folder, "run", "--progress", "none")) as run:
                if game == "pazaak":
                    with serving(folder) as url:
                        take(url, "live", ready="document.querySelector('progress')?.value > 14")
            assert run.returncode == 0
            subprocess.run(command(folder, "report", "-o", str(folder / "report.html")), check=True)
            urls.append((folder / "report.html").as_uri())
        cardshark, pazaak, holdem = urls
        take(pazaak, "result")
        take(f"{pazaak}#standings", "standings", height=600)
        take(f"{pazaak}#pairs", "pairs", height=800, dark=True)
        take(f"{pazaak}#pair-0-4-9", "pair", height=720)
        take(f"{pazaak}#bracket", "knockout", height=760)
        take(f"{holdem}#groups", "groups", height=760)
        take(f"{cardshark}#bot-3", "bot", height=900)
        take(f"{pazaak}#about", "about", height=760)
        take(f"{cardshark}#casino", "casino-blackjack", height=860, lively="deal")
        take(f"{pazaak}#casino", "casino-pazaak", lively="play")
        take(f"{holdem}#casino", "casino-holdem", height=960, dark=True, lively="pot")
        take(f"{pazaak}#casino", "casino-phone", 390, 844, lively="play")


if __name__ == "__main__":
    main()
