"""The site of a season in a headless Chromium: without script, with script, on a phone, in the dark, and for everybody."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")
pytest.importorskip("selenium")

from season_client import Site, serving_season
from season_published import SECRETS, hostile, own, plain, publish, season_in, site

from host.season.entries.inbox import Submit
from tests.browser import browser, complaints, missing, visit

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]

AXE = "axe-core@4.14.1"  # MPL-2.0; npm downloads it for tests; it is not distributed with croupier
PHONE, DESK = (390, 844), (1280, 900)
TOO_WIDE = """return [...document.querySelectorAll("main *")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !each.closest(".scroll, pre, .hide, svg");
}).map((each) => each.outerHTML.slice(0, 120))"""
CUT = """return [...document.querySelectorAll("main td, main th, main h1, main h2, main button, main p")].filter((each) =>
    each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflow === "hidden" && !each.closest(".hide"))
    .map((each) => each.outerHTML.slice(0, 120))"""


class Page:
    """A browser at a site."""

    def __init__(self, driver: Any, running: Site) -> None:
        self.driver, self.site = driver, running

    def open(self, path: str) -> "Page":
        """Open an address."""
        visit(self.driver, self.site.url + path)
        return self

    def enter(self, *authors: str) -> "Page":
        """Open the links of authors, or of the organiser ("")."""
        for author in authors:
            self.open(f"/{'a' if author else 'o'}/{SECRETS[author]}")
        return self

    @property
    def text(self) -> str:
        """The text of the page."""
        return str(self.driver.execute_script("return document.body ? document.body.innerText : ''"))

    def find(self, selector: str) -> Any:
        """Return an element."""
        return self.driver.find_element("css selector", selector)

    def wait(self, words: str, patience: float = 30.0) -> None:
        """Wait until the page has some words; fail if it does not get them."""
        until = time.monotonic() + patience
        while words not in self.text:
            assert time.monotonic() < until, f"waited in vain for {words!r} in {self.text}"
            time.sleep(0.05)


def script_off(driver: Any) -> None:
    """Forbid scripts from here on."""
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Site]:
    """Serve a season that a test may change."""
    with serving_season(season_in(tmp_path)) as made:
        yield made


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a season in which every text of a stranger is hostile."""
    with serving_season(season_in(tmp_path_factory.mktemp("hostile"), hostile)) as made:
        yield made


def examined(running: Site, request: Submit) -> None:
    """Do what the season does with a submission: take it from the inbox and publish its verdict."""
    (folder,) = (path for path in (running.folder / "inbox").iterdir() if not path.name.startswith("."))
    shutil.rmtree(folder)
    made = own(running.folder, plain, request.author)
    row = msgspec.structs.replace(
        made.submissions[2], bot=request.bot, file_name=request.file_name, label=f"{request.bot}-1"
    )
    row = msgspec.structs.replace(row, id=running.api("GET", "/api/mine", request.author).json["submissions"][0]["id"])
    publish(running.folder, msgspec.structs.replace(made, submissions=(row,)))


@pytest.mark.parametrize("script", [False, True], ids=["without script", "with script"])
def test_a_person_submits_waits_and_sees_the_verdict(running: Site, tmp_path: Path, script: bool) -> None:
    file = tmp_path / "climber.py"
    file.write_text("print('STAND')\n")
    with browser(*DESK) as driver:
        if not script:
            script_off(driver)
        page = Page(driver, running).enter("ada")
        assert driver.current_url == f"{running.url}/mine"  # without the secret
        page.find("a[href='/submit']").click()
        page.find("#file").send_keys(str(file))
        page.find("form button").click()
        page.wait("the season has not read it yet")
        (request,) = running.inbox()
        assert request == Submit("ada", "climber.py", "web", "climber", "")
        examined(running, request)
        if not script:
            driver.refresh()
        page.wait("accepted")  # with script, the page hears of it
        assert "Practice" in page.text and "gcc 12" in page.text and complaints(driver) == []


def test_a_page_that_is_open_follows_the_season(running: Site) -> None:
    with browser(*DESK) as driver:
        page = Page(driver, running).open("/")
        page.wait("live")
        publish(running.folder, site(plain, 8, now="C build, 2 s", waiting=7))
        page.wait("C build, 2 s")
        assert complaints(driver) == []


def test_what_is_being_typed_is_not_lost_when_a_page_follows(running: Site) -> None:
    with browser(*DESK) as driver:
        page = Page(driver, running).enter("").open("/admin")
        page.find("#reason").send_keys("copied from")
        page.wait("live")
        publish(running.folder, site(plain, 8, now="C build, 2 s"))
        page.wait("C build, 2 s")
        assert page.find("#reason").get_attribute("value") == "copied from"
        assert driver.switch_to.active_element.get_attribute("id") == "reason"


def test_a_form_is_filled_in_and_sent_with_the_keyboard_alone(running: Site, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    with browser(*DESK) as driver:
        page = Page(driver, running).enter("ada").open("/mine/versions/mine-2")
        seen = []
        for _ in range(60):
            driver.switch_to.active_element.send_keys(Keys.TAB)
            active = driver.switch_to.active_element
            seen.append(active.get_attribute("id") or active.text or active.get_attribute("value"))
            if seen[-1] == "Practise":
                active.send_keys(Keys.ENTER)
                break
        assert seen[0] == "Skip to the content" and {"theme", "tables", "Rest"} <= set(seen)
        page.wait("Bots of ada")
        assert len(running.inbox()) == 1


def every_page(running: Site) -> list[str]:
    """Return the addresses of all pages, those of ada and of the organiser included."""
    ids = [row["id"] for row in running.api("GET", "/api/mine", "ada").json["submissions"]]
    own_pages = ["/mine", *(f"/mine/submissions/{each}" for each in ids), "/mine/versions/mine-2", "/submit", "/admin"]
    return ["/", "/rounds", "/rounds/2", "/bots/mine", "/rules", *own_pages, "/nothing"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_pages_fit_and_cut_nothing(hostile_site: Site, size: tuple[int, int]) -> None:
    with browser(*size) as driver:
        page = Page(driver, hostile_site).enter("ada", "")
        found = {}
        for path in every_page(hostile_site):
            page.open(path)
            wide = driver.execute_script("return document.documentElement.scrollWidth > innerWidth")
            if wrong := [*(["page"] if wide else []), *driver.execute_script(TOO_WIDE), *driver.execute_script(CUT)]:
                found[path] = wrong[:3]
        assert found == {}


def test_no_text_of_a_stranger_runs(hostile_site: Site) -> None:
    with browser(*DESK) as driver:
        page = Page(driver, hostile_site).enter("ada", "")
        for path in every_page(hostile_site):
            page.open(path)
            assert driver.execute_script("return window.evil") is None
            assert not [each for each in complaints(driver) if "404" not in each]
        visit(driver, f"{hostile_site.url}/rounds/1/report")
        assert (
            driver.execute_script("try { return document.cookie } catch (error) { return error.name }")
            == "SecurityError"
        )


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core, downloaded by npm; skip if npm is missing."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("NOT CHECKED whether pages keep anybody out: npm, which brings axe-core, is not installed")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        pytest.skip(f"NOT CHECKED whether pages keep anybody out: npm has not brought {AXE} within three minutes")
    if done.returncode:
        pytest.skip(f"NOT CHECKED whether pages keep anybody out: npm cannot bring {AXE}: {done.stderr[-500:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


@pytest.mark.parametrize(
    ("size", "dark"), [(DESK, True), (DESK, False), (PHONE, False)], ids=["dark", "light", "phone"]
)
@pytest.mark.one_in(3)
def test_axe_finds_nothing_that_keeps_anybody_out(running: Site, axe: str, size: tuple[int, int], dark: bool) -> None:
    found = []
    with browser(*size, dark=dark) as driver:
        page = Page(driver, running).enter("ada", "")
        for path in every_page(running):
            page.open(path)
            driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
            told = driver.execute_async_script("axe.run(document).then((told) => arguments[0](told.violations))")
            found += [(path, each["id"], each["nodes"][0]["html"][:160]) for each in told]
            titled = re.fullmatch(r".+ · Winter Cup", driver.title)
            assert titled, f"{path}: {driver.title}"
    assert found == []
