"""The pictures of the README: `python -m tests.browser.pictures CARDSHARK PAZAAK HOLDEM`, three journals."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from host.journal import reading
from host.report.files import report_of
from tests.browser import browser, picture

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
LIVELY = """(mark) => {
    const {steps} = window.casino.shown();
    const living = (step) => step.state.players.filter((one) => !one.died && !one.out).length;
    const worth = steps.map((step, nth) => [mark === "pot" ? (step.state.end === "showdown") * step.state.pot * living(step)
        : step.events.some((ev) => ev.ev === mark) && step.answer ? 1 + (nth > 8) : 0, nth]);
    return worth.sort((one, two) => two[0] - one[0] || one[1] - two[1])[0][1]; }"""


def wait(driver: Any, script: str) -> None:
    """Wait until a script says yes."""
    until = time.monotonic() + 20
    while not driver.execute_script(f"return {script}"):
        if time.monotonic() > until:
            raise TimeoutError(script)
        time.sleep(0.1)


def take(url: str, name: str, width: int = 1180, height: int = 760, dark: bool = False, lively: str = "") -> None:
    """Take one picture; a replay is taken at its liveliest step."""
    with browser(width, height, dark) as driver:
        driver.get(url)
        if lively:
            wait(driver, "document.querySelector('.shelf a')")
            driver.execute_script("document.querySelector('.shelf a').click()")
            wait(driver, "document.querySelector('#picture .felt')")
            at = driver.execute_script(f"return ({LIVELY})(arguments[0])", lively)
            driver.execute_script(f"location.hash = document.querySelector('.shelf a').hash + '&s={at}'")
            driver.execute_script("document.querySelector('#casino h1').style.display = 'none'")
        time.sleep(0.8)
        picture(driver, PICTURES / f"{name}.png")


def main(journals: list[str]) -> None:
    """Write the reports of three tournaments and take their pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        urls = []
        for each in journals:
            path = Path(place) / f"{len(urls)}.html"
            with reading(Path(each)) as journal:
                path.write_text(report_of(journal, 20)[0])
            urls.append(path.as_uri())
        cardshark, pazaak, holdem = urls
        take(pazaak, "result")
        take(f"{pazaak}#standings", "standings", height=600)
        take(f"{pazaak}#pairs", "pairs", height=800, dark=True)
        take(f"{pazaak}#pair-0-4-9", "pair", height=720)
        take(f"{pazaak}#cup", "cup", height=760)
        take(f"{holdem}#groups", "groups", height=760)
        take(f"{cardshark}#bot-3", "bot", height=900)
        take(f"{pazaak}#about", "about", height=760)
        take(f"{cardshark}#casino", "casino-blackjack", height=860, lively="deal")
        take(f"{pazaak}#casino", "casino-pazaak", lively="play")
        take(f"{holdem}#casino", "casino-holdem", height=960, dark=True, lively="pot")
        take(f"{pazaak}#casino", "casino-phone", 390, 844, lively="play")


if __name__ == "__main__":
    main(sys.argv[1:])
