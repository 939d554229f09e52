"""What spectators see: the report, the casino and the live page in a headless Chromium."""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from croupier.playing import PlayedTable
from host.base.format import clock
from host.games import GAMES
from host.games.engine import Game, Table
from host.games.luck import Luck
from host.inspect import event_validation
from host.inspect.recorded import known_seed
from host.inspect.replay import Event
from host.inspect.table_replays import find, load
from host.journal.check import wal_files
from host.journal.reader import reading
from host.report.export import write_events, write_playlog
from host.report.html_file import report_of
from host.report.offers import Quota
from host.rules.catalogue import load_game
from protocols import argv
from protocols.wire import Move
from tests.browser import browser, complaints, games, missing
from tests.browser.games import EVIL

pytest.importorskip("selenium")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]

ROOT = Path(__file__).parents[2]
AXE = "axe-core@4.14.1"  # MPL-2.0; npm downloads it for tests; it is not distributed with croupier
DROP = """((name, text) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const facts = {dataTransfer: files, bubbles: true, cancelable: true};
    return document.body.dispatchEvent(new DragEvent("drop", facts)) || true; })(...arguments)"""
SAT_WRONG = """window.casino.shown().steps.flatMap((step, nth, steps) => {
    if (!step.ask) return [];
    const before = steps[nth - 1].state, [chips, cards, , , board, , , pot] = step.ask.q;
    const player = before.players[step.ask.seat];
    const said = [player.chips, player.cards.join(""), before.board.join("") || "-", before.pot].map(String);
    return said.join() === [chips, cards, board, pot].join() ? [] : [[nth, said, step.ask.q]]; })"""
HELD_WRONG = """window.casino.shown().steps.flatMap((step, nth) => {
    if (!step.ask) return [];
    const [, , , mine, theirs, side] = step.ask.q, seat = step.ask.seat, {players} = step.state;
    const played = step.events.some((ev) => ev.ev === "play");
    const hand = (player) => player.cards.map(([card]) => card);
    const now = hand(players[seat]).slice(0, played ? -1 : undefined).join() || "-";
    const other = hand(players[1 - seat]).join() || "-", left = players[seat].side.join() || "-";
    return now === mine && other === theirs && (played || left === side) ? [] : [[nth, now, other, left, step.ask.q]]; })"""
LOOK_AS = """((seat) => {
    const eyes = document.getElementById("eyes");
    eyes.value = seat;
    return eyes.dispatchEvent(new Event("change")); })(...arguments)"""
TOO_TALL = """window.casino.shown().steps.flatMap((_, at, steps) => {
    if (at % 4 !== 3 && at !== steps.length - 1) return [];
    const slider = document.getElementById("slider");
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    const {scrollHeight, clientHeight} = document.getElementById("picture");
    return scrollHeight > clientHeight ? [[at, scrollHeight, clientHeight]] : []; })"""
CONTRAST = """((word) => {
    const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((each, nth) => a * each + (1 - a) * below[nth]);
    const light = (colour) => colour.map((each) => each / 255)
        .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((total, each, nth) => total + each * [0.2126, 0.7152, 0.0722][nth], 0);
    return [...document.querySelectorAll(".felt .seat *")].filter((each) => each.textContent === word).map((shown) => {
        const around = [];
        for (let each = shown; !each.matches(".felt"); each = each.parentElement) around.unshift(each);
        const felt = numbers(getComputedStyle(document.querySelector(".felt")).backgroundImage.match(/rgb.*?\\)/)[0]);
        const below = around.reduce((under, each) => over(numbers(getComputedStyle(each).backgroundColor), under), felt);
        const ink = numbers(getComputedStyle(shown).color);
        const opacity = around.reduce((so_far, each) => so_far * getComputedStyle(each).opacity, 1);
        const [one, two] = [light(over([...ink.slice(0, 3), opacity], below)), light(below)].sort((a, b) => b - a);
        return (one + 0.05) / (two + 0.05); }); })(...arguments)"""
PHONE, DESK = (390, 844), (1280, 900)


class Page:
    """A browser and its page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str) -> "Page":
        """Open an address; reload the page even if only the part behind # differs."""
        self.driver.get("about:blank")
        self.driver.get(url)
        return self

    def js(self, script: str, *values: Any) -> Any:
        """Return the result of a script."""
        return self.driver.execute_script(f"return {script}", *values)

    def text(self, selector: str) -> str:
        """Return an element's text."""
        return str(self.js("document.querySelector(arguments[0]).innerText", selector))

    def wait(self, script: str, patience: float = 60.0) -> Any:
        """Wait until a script returns a true value; fail if it does not."""
        until = time.monotonic() + patience
        while not (found := self.js(script)):
            assert time.monotonic() < until, f"waited in vain for {script}; complaints: {complaints(self.driver)}"
            time.sleep(0.05)
        return found

    def press(self, key: str, times: int = 1) -> None:
        """Press a key a number of times."""
        self.js(
            "Array.from({length: arguments[1]}, () => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true}))).length",
            key,
            times,
        )

    def drop(self, name: str, text: str) -> None:
        """Drop a file on the page."""
        self.js(DROP, name, text)

    @property
    def where(self) -> str:
        """Return the replay's position: "hand 2 · step 13 of 49"."""
        return self.text("#where")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """Start a browser for all tests of this module."""
    with browser(*DESK) as started:
        yield started


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    """Return the page; afterwards check that its console is empty and that no script of a bot has run."""
    driver.get_log("browser")
    found = Page(driver)
    yield found
    assert complaints(driver) == [] and found.js("window.evil") is None


class Reported:
    """The journal of a run and its report."""

    def __init__(self, folder: Path, game: str) -> None:
        self.game, rules = game, {"rounds": 8} if game == "holdem" else {}
        self.journal = games.played(folder, game, **rules)
        with reading(self.journal) as book:
            text, self.kept = report_of(book, Quota(20))
        self.path = folder / "report.html"
        self.path.write_text(text)
        self.url = self.path.as_uri()


@pytest.fixture(scope="module", params=tuple(games.KINDS))
def reported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Return a report of each game."""
    return Reported(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def holdem(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Return a report of hold'em."""
    return Reported(tmp_path_factory.mktemp("log"), "holdem")


def first_replay(page: Page, reported: Reported) -> None:
    """Open the first table in a report."""
    page.open(f"{reported.url}#casino")
    page.wait("document.querySelector('.shelf a').click() || true")
    page.wait("document.querySelector('#picture .felt')")


# The report.


def test_a_projector_reveals_the_third_place_first_and_the_sentence_last(page: Page, reported: Reported) -> None:
    from selenium.webdriver import ActionChains

    seen = """[document.querySelector('#result h1'), ...document.querySelectorAll('.podium li')]
        .map((each) => getComputedStyle(each).visibility === 'visible')"""
    page.open(f"{reported.url}#podium")
    places = page.js("document.querySelectorAll('.podium li').length")
    assert page.js(seen) == [False] * (places + 1)
    assert page.js("getComputedStyle(document.querySelector('#result .facts')).display") == "none"
    keys = [" ", "ArrowRight", "PageDown"]
    for revealed in range(1, places + 1):
        page.press(keys[revealed % 3])
        hidden = places - revealed
        assert page.js(seen) == [hidden == 0, *(nth >= hidden for nth in range(places))]
    page.press("ArrowRight")  # hides the places again
    assert page.js(seen) == [False] * (places + 1)
    page.driver.find_element("id", "full").click()  # full screen needs a real click or key
    page.wait("document.fullscreenElement?.id === 'result'")
    ActionChains(page.driver).send_keys(" ").perform()
    page.wait(f"document.querySelectorAll('.podium li.unseen').length === {places - 1}")
    assert page.js("document.fullscreenElement?.id") == "result"
    ActionChains(page.driver).send_keys("f").perform()
    page.wait("!document.fullscreenElement")
    page.js("(location.hash = '#result') && true")
    page.wait("getComputedStyle(document.querySelector('#result .facts')).display !== 'none'")
    assert page.js(seen) == [True] * (places + 1)
    page.js("document.querySelector('a[href=\"#podium\"]').click() || true")
    page.wait("document.querySelector('#result.revealing')")
    page.js("document.querySelector('.reveal .chip').click() || true")
    page.wait("window.casino.shown()?.timer")
    page.press(" ")


def test_every_page_opens_from_a_file_and_says_something(page: Page, reported: Reported) -> None:
    page.open(reported.url)
    for link in page.js("[...document.querySelectorAll('.top nav a')].map((link) => link.hash)"):
        page.js("(location.hash = arguments[0]) && true", link)
        page.wait(f"document.querySelector('section.here').id === {json.dumps(link[1:])}")
        assert len(page.text("section.here")) > 40


def test_a_page_of_a_bot_called_script_shows_its_name(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#bot-1")
    assert page.text("#bot-1 h1") == EVIL


def test_a_notebook_plays_a_table_in_a_frame(page: Page, reported: Reported, tmp_path: Path) -> None:
    with reading(reported.journal) as journal:
        (table,) = load(journal, known_seed(journal), journal.paths()[0], [0])
    (tmp_path / "cell.html").write_text(f"<!doctype html><title>cell</title>{PlayedTable(table)._repr_html_()}")
    page.open((tmp_path / "cell.html").as_uri())
    page.driver.switch_to.frame(0)
    try:
        page.wait("document.querySelector('#picture .felt')")
        assert page.where.endswith(f"of {len(page.js('window.casino.shown().steps'))}")
    finally:
        page.driver.switch_to.default_content()


def test_only_one_page_shows_at_a_time(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#standings")
    assert page.js("[...document.querySelectorAll('section.page')].filter((each) => each.offsetHeight).length") == 1


def test_without_script_everything_but_replays_can_be_read(driver: Any, holdem: Reported) -> None:
    page = Page(driver)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.open(holdem.url)
        text = page.text("body")
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert all(word in text for word in ("Standings", EVIL, "Faults", "About this run", "JavaScript"))


def test_standings_sort_by_what_is_clicked(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#standings")
    page.js("document.querySelector('.standings th:nth-child(2) button').click() || 1")
    names = page.js(
        "[...document.querySelectorAll('.standings tbody th a')].map((each) => each.innerText.toLowerCase())"
    )
    assert names == sorted(names, reverse=True)


def test_the_colours_change_and_stay(page: Page, holdem: Reported) -> None:
    page.open(holdem.url)
    was = page.js("getComputedStyle(document.body).backgroundColor")
    page.js("document.getElementById('theme').click() || 1")
    assert page.js("getComputedStyle(document.body).backgroundColor") != was


def test_a_figure_of_the_pairs_leads_to_how_their_score_ran(page: Page, tmp_path: Path) -> None:
    page.open(Reported(tmp_path, "pazaak").url + "#pairs")
    title = page.js("[...document.querySelectorAll('.heat tbody tr')][0].innerText.split('\\t')[0]")
    page.js("document.querySelector('.heat td a').click() || 1")
    page.wait("document.querySelector('section.here').id.startsWith('pair-')")
    assert title.strip() in page.text("section.here h1") and page.js(
        "document.querySelector('section.here polyline').getBoundingClientRect().width"
    )


def test_a_bots_page_shows_its_rank_over_time(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#bot-2")
    assert re.search(r"At first (\d), at best (\d), at worst (\d), now (\d) of \d", page.text("#bot-2"))
    assert page.js("document.querySelector('#bot-2 polyline').getBoundingClientRect().width") > 100


SIGNS = """[...document.querySelectorAll('section.here .scroll')].map((box) => [box.scrollWidth > box.clientWidth,
    getComputedStyle(box, '::before').content.includes('scroll sideways'), getComputedStyle(box).maskImage !== 'none'])"""
IN_VIEW = """[...document.querySelectorAll('.standings td:nth-child(3) b')].every((rate) => {
    rate.scrollIntoView({block: 'center', inline: 'nearest'});
    const {left, right, top, bottom} = rate.getBoundingClientRect();
    return left >= 0 && right <= innerWidth && document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === rate; })"""
SCROLLED = "[...document.querySelectorAll('.scroll')].map((box) => { box.scrollLeft = 9999; return box.scrollLeft; })"


@pytest.mark.parametrize(("width", "height"), [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("stages", [games.SWISS, games.BRACKET, games.DOUBLE], ids=["swiss", "single", "double"])
@pytest.mark.one_in(3)
def test_no_column_of_the_standings_is_cut_without_a_sign_and_the_rate_stays_in_view(
    stages: Any, width: int, height: int, tmp_path: Path
) -> None:
    cup = games.Cup(tmp_path, "pazaak", stages, games.TEN)
    cup.play(stages[0]["name"])
    with reading(cup.path) as book:
        (tmp_path / "report.html").write_text(report_of(book, Quota(1))[0])
    with browser(width, height) as driver:
        page = Page(driver).open(f"{(tmp_path / 'report.html').as_uri()}#standings")
        phone = width == PHONE[0]
        assert page.wait(f"{SIGNS}.length && {SIGNS}") == [[phone, phone, phone]] and page.js(IN_VIEW)
        page.js(SCROLLED)
        page.wait(f"!{SIGNS}[0][2]")  # at its end the table does not fade out
        assert page.js(IN_VIEW) and page.js("document.documentElement.scrollWidth") == width
        page.js("(location.hash = 'bracket') || true")
        assert all(cut == sign for cut, sign, _ in page.js(SIGNS)) and complaints(driver) == []


STRUCK = """[...document.querySelectorAll('#bracket svg.bracket')].flatMap((svg) => {
    const lines = [...svg.querySelectorAll('path.line')];
    return [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBBox(), own = text.getCTM().inverse();
        return lines.some((line) => Array.from({length: 200}, (_, nth) =>
            line.getPointAtLength(line.getTotalLength() * nth / 199).matrixTransform(line.getCTM()).matrixTransform(own))
            .some(({x, y}) => box.x < x && x < box.x + box.width && box.y < y && y < box.y + box.height)); })
        .map((text) => text.textContent); })"""


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_of_a_double_elimination_is_struck_through_and_its_final_is_in_view(
    screen: tuple[int, int], tmp_path: Path
) -> None:
    cup = games.Cup(tmp_path, "pazaak", games.DOUBLE, games.TEN)
    cup.play("cup")
    cup.finish()
    with reading(cup.path) as book:
        (tmp_path / "report.html").write_text(report_of(book, Quota(1))[0])
    with browser(*screen) as driver:
        page = Page(driver).open(f"{(tmp_path / 'report.html').as_uri()}#bracket")
        assert page.js(STRUCK) == [] and page.js("document.querySelectorAll('path.line').length") > 10
        titles = page.js("[...document.querySelectorAll('#bracket h2')].map((each) => each.innerText)")
        assert titles[:3] == ["Final", "The unbeaten", "The beaten"]
        final = page.js("document.querySelector('#bracket .tie').getBoundingClientRect().toJSON()")
        assert final["bottom"] < screen[1] and final["right"] < screen[0]
        cut = page.js(
            "[...document.querySelectorAll('#bracket .scroll')].some((each) => each.scrollWidth > each.clientWidth)"
        )
        assert cut == (screen == PHONE) and complaints(driver) == []


# The casino.


def test_a_replay_is_stepped_through_to_the_scores_of_the_record(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    steps = page.js("window.casino.shown().steps.length")
    page.press("ArrowRight", steps + 3)
    assert page.where.endswith(f"step {steps} of {steps}")
    assert "The game is over" in page.text("#saying")


def test_the_chips_on_the_table_are_those_the_bots_were_asked_with(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    assert page.js(SAT_WRONG) == []


def test_the_hands_on_the_table_are_those_the_bots_were_asked_with(page: Page, tmp_path: Path) -> None:
    first_replay(page, Reported(tmp_path, "pazaak"))
    assert page.js(HELD_WRONG) == []


def test_an_open_table_says_what_was_offered(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    offer = page.js("document.querySelector('#shelf a').textContent")
    assert re.search(r" · .* \d+", offer) and page.text("#what").startswith(f"{offer} · ")
    assert page.text("#what").endswith(page.js("window.casino.shown().table.table"))
    page.open(f"{reported.url}#result")
    assert page.text("#result .chips a").startswith(f"▶ {offer}")


def test_a_deep_link_opens_the_step(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    name = page.js("window.casino.shown().table.table")
    page.open(f"{holdem.url}#r={quote(name)}&s=12&as=1")
    page.wait("document.querySelector('#picture .felt')")
    assert "step 13 of" in page.where and page.js("document.getElementById('eyes').value") == "1"


def test_where_one_is_stands_in_the_address(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    page.press("ArrowRight", 5)
    assert page.js("location.hash").endswith("&s=5")


def test_it_plays_by_itself(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    page.js("(document.getElementById('speed').selectedIndex = 3) && 1")
    page.press(" ")
    page.wait("window.casino.shown().at > 2")
    page.press(" ")
    assert page.js("window.casino.shown().timer") is None


def test_an_address_plays_its_table_and_f_fills_the_screen(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    page.open(f"{holdem.url}{page.js('location.hash')}&play")
    page.wait("window.casino && window.casino.shown() && window.casino.shown().at > 0")
    assert page.js("Boolean(window.casino.shown().timer)")
    page.driver.find_element("tag name", "body").send_keys("f")
    page.wait("document.fullscreenElement && document.fullscreenElement.id === 'player'")
    page.driver.find_element("tag name", "body").send_keys("f")
    page.wait("!document.fullscreenElement")


def test_hand_by_hand_lands_on_a_deal(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    page.press("ArrowDown")
    assert page.js("(() => { const now = window.casino.shown(); return Boolean(now.steps[now.at].first); })()")


def test_a_mark_stands_for_every_fault(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    faults, marks = page.js(
        "(() => { const now = window.casino.shown(); return [now.table.events.filter((ev) => ev.ev === 'answer' && "
        "(ev.a.startsWith('(') || ev.illegal)).length, document.querySelectorAll('.marks .fault').length]; })()"
    )
    assert faults == marks


def marked(page: Page, mark: str) -> list[int]:
    """Return the rounds that are marked on the slider."""
    rounds: list[int] = page.js(
        "window.casino.shown().steps.filter((step) => step.marks.includes(arguments[0])).map((step) => step.state.hand)",
        mark,
    )
    return rounds


def played_again(reported: Reported, page: Page) -> list[Event]:
    """Return the events of the table on the page, replayed from the journal."""
    with reading(reported.journal) as book:
        place = find(book, page.js("window.casino.shown().table.table"))
        assert place
        (table,) = load(book, games.SEED, place.fixture, [place.nth])
    return table.events


def test_the_slider_marks_every_all_in(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    number, rounds = 0, []
    for ev, facts in played_again(holdem, page):
        number = facts["round"] if ev == "round.start" else number
        rounds += [number] if ev == "bet" and facts["chips"] == 0 else []
    assert marked(page, "all-in") == rounds != []


def test_the_slider_marks_every_change_of_the_lead(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    leader, rounds, seats = None, [], []
    for ev, facts in played_again(holdem, page):
        seats = facts["seats"] if ev == "round.start" else seats
        if ev == "round.end" and facts["chips"].count(max(facts["chips"])) == 1:
            now = seats[facts["chips"].index(max(facts["chips"]))]
            rounds += [facts["round"]] if leader not in (None, now) else []
            leader = now
    assert marked(page, "lead") == rounds != []


def test_the_chips_of_the_whole_game_are_drawn_and_lead_to_its_rounds(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    lines = page.js("[...document.querySelectorAll('#course polyline')].map((line) => line.points.length)")
    page.js("document.getElementById('course').scrollIntoView() || 1")
    page.driver.find_element("id", "course").click()
    at, steps = page.js("[window.casino.shown().at, window.casino.shown().steps.length]")
    assert lines == [lines[0]] * 5 and lines[0] > 2 and abs(at - steps / 2) < 3


def test_the_axes_of_the_chips_have_round_numbers_and_the_rounds(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    chips, *heights = page.js("[...document.querySelectorAll('.course .up text')].map((one) => one.textContent)")
    *rounds, unit = page.js("[...document.querySelectorAll('.course .along text')].map((one) => one.textContent)")
    amounts, numbers = [int(height.replace("\u202f", "")) for height in heights], [int(each) for each in rounds]
    assert (chips, unit) == ("chips", "round") and numbers[0] == 1 and numbers == sorted(set(numbers))
    assert 3 <= len(amounts) <= 6 and amounts == list(range(0, amounts[-1] + 1, amounts[1]))
    boxes = (
        "[...document.querySelectorAll('.course .along text')].slice(0, -1).map((one) => one.getBoundingClientRect())"
    )
    edges = page.js(f"{boxes}.map((box) => [box.left, box.right])")
    assert all(one[1] < other[0] for one, other in pairwise(edges))


def test_every_decision_says_how_long_it_took(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    untimed = "window.casino.shown().steps.filter((step) => step.answer && !step.state.said.us).length"
    page.wait(
        "window.casino.shown().steps[window.casino.shown().at].answer || void document.getElementById('next').click()"
    )
    assert page.js(untimed) == 0 and re.search(r"\d (µs|ms), CPU \d", page.text("#decision"))


def test_what_another_bot_wrote_is_not_for_these_eyes(page: Page, reported: Reported) -> None:
    page.open(f"{reported.url}#faults")
    page.wait("document.querySelector('#faults .sample a').click() || true")
    page.wait("document.querySelector('#decision dd')")
    seat = page.js("window.casino.shown().table.bots.indexOf(arguments[0])", EVIL)
    page.js(LOOK_AS, str(int(seat == 0)))
    assert "red" not in page.text("#decision") and page.text("#decision").count("hidden from this bot") == 3


def test_everything_can_be_reached_from_the_keyboard_alone(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    keys = page.driver.find_element("tag name", "body")
    for key in ("\ue014", "\ue014", "\ue012", "\ue015"):  # right, right, left, down
        keys.send_keys(key)
    first = page.js("window.casino.shown().steps.findIndex((step, nth) => nth > 1 && step.first)")
    assert page.js("window.casino.shown().at") == first
    page.js("document.getElementById('slider').focus() || 1")
    page.driver.switch_to.active_element.send_keys("\ue012")
    assert page.js("window.casino.shown().at") == first - 1


def test_the_question_can_be_asked_again_by_a_command(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    page.wait(
        "window.casino.shown().steps[window.casino.shown().at].answer || void document.getElementById('next').click()"
    )
    words = shlex.split(page.js("document.querySelector('#decision .copy').title"))
    n, name = page.js("(({table, steps, at}) => [steps[at].answer.n, table.table])(window.casino.shown())")
    assert words[:2] == ["croupier", "ask"] and words[3] == f"{name}:{n}"


def test_a_fault_comes_with_what_the_bot_wrote(page: Page, reported: Reported) -> None:
    page.open(f"{reported.url}#faults")
    page.wait("document.querySelector('#faults .sample a').click() || true")
    page.wait("document.querySelector('#decision dd')")
    assert "BET" not in page.text("#decision")  # hold'em's answers are numbers
    assert r"\x1b[31mred" in page.text("#decision") and "12.3 ms, CPU 4.5 ms" in page.text("#decision")


def test_the_board_fills_the_window_and_leaves_play_in_sight(page: Page, reported: Reported) -> None:
    for width, height in (PHONE, (1280, 800), DESK):
        window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
        first_replay(page, reported)
        board, play, lowest = page.js(
            "['.felt', '#play', '.controls'].map((each) => document.querySelector(each).getBoundingClientRect())"
            ".map(({height, bottom}, nth) => nth ? bottom : height)"
        )
        assert play < height - 4 and page.js("scrollY") == 0
        assert height - lowest < 50 and board > height * 0.6
        assert page.js(TOO_TALL) == []


def acts(happened: list[Event]) -> list[str]:
    """Return what the bots at a table of hold'em did, in words."""
    words, opened = [], False
    for ev, facts in happened:
        if ev in ("round.start", "board"):
            opened = False
        if ev == "die":
            words.append("folds")
        if ev == "bet":
            raised = f"raises to {facts['bet']}" if facts["raises"] else f"calls {facts['n']}"
            words.append((raised if opened else f"bets {facts['n']}") + ("" if facts["chips"] else ": all in"))
            opened = True
    return words


def told_acts(page: Page) -> list[str]:
    """Return what the casino says that the bots did; any fault is a fold."""
    words = page.js("window.casino.shown().steps.flatMap(({state}) => state.said ? [state.said.word] : [])")
    return ["folds" if "folds" in word else word for word in words]


def test_the_first_to_bet_bets_and_others_call_or_raise(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    words = told_acts(page)
    assert words == acts(played_again(holdem, page))
    assert {word.split(" ")[0] for word in words} == {"bets", "calls", "raises", "folds"}


def test_the_dealer_is_who_acts_last(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    seats, dealers = [], []
    for ev, facts in played_again(holdem, page):
        seats += [facts["seats"][-1]] if ev == "round.start" else []
    for _ in seats:
        page.press("ArrowDown")
        page.press("ArrowRight")
        dealers += page.js(
            "[...document.querySelectorAll('.seat')].flatMap((seat, nth) => seat.querySelector('.dealer-button') ? [nth] : [])"
        )
    assert dealers == seats[1:] + dealers[-1:] and len(dealers) == len(seats) > 2


def test_a_fold_can_be_read(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    page.wait("document.querySelector('.died .bad') || void document.getElementById('next').click()")
    name = page.text(".died .who")
    for _colours in ("light", "dark"):
        page.wait("document.getAnimations().length === 0")
        contrasts = page.js(CONTRAST, "folded") + page.js(CONTRAST, name)
        assert len(contrasts) > 1 and min(contrasts) > 4.5
        page.js("document.getElementById('theme').click() || 1")


def test_cards_of_blackjack_have_no_suits(page: Page, tmp_path: Path) -> None:
    first_replay(page, Reported(tmp_path, "cardshark"))
    page.press("ArrowRight", 3)
    assert page.js("document.querySelectorAll('.felt .card:not(.back)').length") > 2
    assert page.js("document.querySelectorAll('.felt .card:not(.back) path').length") == 0


def test_who_looks_through_one_bots_eyes_sees_no_other_cards(page: Page, holdem: Reported) -> None:
    first_replay(page, holdem)
    page.press("ArrowRight", 2)
    open_cards = "document.querySelectorAll('.oval .seat .card:not(.back)').length"
    everything = page.js(open_cards)
    page.js(LOOK_AS, "2")
    assert (everything, page.js(open_cards)) == (10, 2)


def test_a_screen_reader_is_told_every_step(page: Page, reported: Reported) -> None:
    first_replay(page, reported)
    silent = "window.casino.shown().steps.filter((step) => !step.text.trim()).length"
    assert page.js(silent) == 0 and page.js("document.getElementById('saying').ariaLive") == "polite"


@pytest.fixture(scope="module")
def log(holdem: Reported) -> str:
    """Return a play.log."""
    file = io.StringIO()
    with reading(holdem.journal) as book:
        write_playlog(book, "last", False, file)
    return file.getvalue()


def test_a_dropped_playlog_is_shown(page: Page, holdem: Reported, log: str) -> None:
    page.open(holdem.url)
    page.drop("mine.play.log", log)
    page.wait("document.querySelector('#picture .felt')")
    page.press("End")
    assert "game is over" in page.text("#saying") and page.text("#what") == "mine.play.log"


def test_a_playlog_tells_who_has_acted(page: Page, holdem: Reported, log: str) -> None:
    page.open(holdem.url)
    page.drop("mine.play.log", log)
    page.wait("document.querySelector('#picture .felt')")
    page.wait("document.querySelector('.acts .bubble') || void document.getElementById('next').click()")
    seat, name, bubble, said = page.js(
        "(({steps, at, table}) => [steps[at].state.actor, table.bots[steps[at].state.actor], "
        "document.querySelector('.acts .bubble').innerText, steps[at].text])(window.casino.shown())"
    )
    assert seat >= 0 and page.text(".acts .label") == name and said.startswith(f"{name} {bubble}, pot ")


def test_a_fold_of_a_playlog_is_told_as_a_fold(page: Page, holdem: Reported, log: str) -> None:
    first_replay(page, holdem)
    happened = acts(played_again(holdem, page))
    page.open(holdem.url)
    page.drop("mine.play.log", log)
    page.wait("document.querySelector('#picture .felt')")
    texts = page.js("window.casino.shown().steps.map((step) => step.text)")
    assert told_acts(page) == happened and not [text for text in texts if "tried to bet" in text]
    assert any(re.search(r"^\w+ folds, pot \d+\.", text) for text in texts)
    assert any("folds: something went wrong (Crash), pot" in text for text in texts)


def test_a_chosen_file_is_shown_too(page: Page, holdem: Reported, log: str, tmp_path: Path) -> None:
    (tmp_path / "chosen.play.log").write_text(log)
    page.open(f"{holdem.url}#casino")
    page.driver.find_element("id", "file").send_keys(str(tmp_path / "chosen.play.log"))
    assert page.wait("document.querySelector('#what')?.innerText") == "chosen.play.log"


def test_the_recording_of_2018_is_shown(page: Page, holdem: Reported) -> None:
    import gzip

    recording = gzip.decompress((ROOT / "tests/vectors/holdem_playlogs/g005.play.log.gz").read_bytes()).decode()
    page.open(holdem.url)
    page.drop("g005.play.log", recording)
    assert page.wait("window.casino.shown()?.steps.length") > 20


def test_dropped_events_are_shown(page: Page, reported: Reported) -> None:
    import io

    file = io.StringIO()
    with reading(reported.journal) as book:
        write_events(book, "last", False, file)
    page.open(reported.url)
    page.drop("events.jsonl", file.getvalue())
    page.wait("document.querySelector('#picture .felt')")
    page.press("End")
    assert "The game is over" in page.text("#saying")


def test_a_note_is_text_and_not_for_the_eyes_of_another_bot(page: Page, holdem: Reported) -> None:
    note, file = "<img src=x onerror=window.evil=7>\nsecond line", io.StringIO()
    with reading(holdem.journal) as book:
        write_events(book, "last", False, file)
    events = [json.loads(line) for line in file.getvalue().splitlines()]
    noted = next(event for event in events if event["ev"] == "answer")
    noted["note"] = note
    page.open(holdem.url)
    page.drop("events.jsonl", "\n".join(map(json.dumps, events)))
    page.wait("document.querySelector('#picture .felt')")
    page.wait(
        "window.casino.shown().steps[window.casino.shown().at].answer?.note || void document.getElementById('next').click()"
    )
    assert f"note\n{note}" in page.text("#decision")
    page.js(LOOK_AS, str(int(noted["seat"] == 0)))
    assert "second line" not in page.text("#decision")


TORN = {
    "torn": (lambda log: log[: len(log) // 2], "cut off"),
    "cut off": (lambda log: "\n".join(log.split("\n")[:20]) + "\n", "cut off"),
    "foreign": (lambda _: "Dear diary,\ntoday\n", "is this a play.log"),
    "empty": (lambda _: "", "empty"),
    "other JSON": (lambda _: '{"a": 1}\n', 'has no "ev"'),
    "another's look": (lambda _: 'INFO:root:{"round": "<img src=x onerror=window.evil=5>"}\n', "has another form"),
    "null": (lambda _: "INFO:root:null\n", "has another form"),
    "no game": (lambda _: '{"v":1,"ev":"table.start","game":"chess","bots":[]}\n', "there are no events"),
    "wrong events": (
        lambda _: '{"v":1,"ev":"table.start","game":"holdem","bots":["A"]}\n{"v":1,"ev":"deal","seat":7,"card":"2c"}\n',
        "do not fit the game",
    ),
}


@pytest.mark.parametrize("how", TORN)
def test_a_torn_or_foreign_file_brings_a_message_on_the_page(page: Page, holdem: Reported, log: str, how: str) -> None:
    spoil, words = TORN[how]
    page.open(f"{holdem.url}#casino")
    page.drop("bad.play.log", spoil(log))
    page.wait("!document.getElementById('trouble').hidden")
    assert words in page.text("#trouble") and page.js("document.getElementById('player').hidden")


def test_a_missing_replay_brings_a_message_on_the_page(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#r=nothing/1")
    page.wait("!document.getElementById('trouble').hidden")
    assert "does not contain the table nothing/1" in page.text("#trouble")


def test_a_damaged_replay_brings_a_message_on_the_page(page: Page, holdem: Reported, tmp_path: Path) -> None:
    text = holdem.path.read_text()
    at = text.index('class="table" data-name="') + 300
    (tmp_path / "damaged.html").write_text(text[:at] + "AAAAAAAA" + text[at + 8 :])
    page.open((tmp_path / "damaged.html").as_uri() + "#casino")
    page.wait("document.querySelector('.shelf a').click() || true")
    page.wait("!document.getElementById('trouble').hidden")
    assert "damaged" in page.text("#trouble")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of so many bots that most of its pages are compressed."""
    folder = tmp_path_factory.mktemp("crowded")
    path, bots = folder / "run" / "run.sqlite", (EVIL, *(f"bot {number}" for number in range(29)))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, 1))
    with reading(path) as book:
        (folder / "report.html").write_text(report_of(book, Quota(3))[0])
    return folder / "report.html"


def test_packed_pages_open_by_link_and_by_menu(page: Page, crowded: Path) -> None:
    page.open(f"{crowded.as_uri()}#bot-1")
    page.wait("document.querySelector('section.here').id === 'bot-1'")
    assert page.text("#bot-1 h1") == EVIL
    for link in page.js("[...document.querySelectorAll('.top nav a')].map((link) => link.hash)"):
        page.js("(location.hash = arguments[0]) && true", link)
        page.wait(f"document.querySelector('section.here').id === {json.dumps(link[1:])}")
    assert page.js("document.querySelectorAll('section.bot').length") == 1


def test_packed_pages_that_are_damaged_bring_a_message_on_the_page(page: Page, crowded: Path, tmp_path: Path) -> None:
    text = crowded.read_text()
    at = text.index('id="leaves">') + 300
    (tmp_path / "damaged.html").write_text(text[:at] + "AAAAAAAA" + text[at + 8 :])
    page.open((tmp_path / "damaged.html").as_uri() + "#bot-1")
    assert "cannot be unpacked" in page.wait("document.querySelector('.here .trouble')?.innerText")


# On any screen, for all users.


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


def pages(page: Page) -> list[str]:
    """Return the pages of a report, including one bot and one replay."""
    links: list[str] = page.js("[...document.querySelectorAll('.top nav a')].map((link) => link.hash)")
    pair = page.js("document.querySelector('[id^=pair-]')?.id")
    replay = page.js("document.querySelector('.shelf a').hash") + "&s=9"
    return [*links, "#bot-1", *([f"#{pair}"] if pair else []), replay]


def violations(page: Page, axe: str) -> list[Any]:
    """Return the violations that axe finds on the current page."""
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    told = page.driver.execute_async_script("axe.run(document).then((told) => arguments[0](told.violations))")
    return [(each["id"], each["nodes"][0]["html"][:200], len(each["nodes"])) for each in told]


@pytest.mark.parametrize(
    "reported",
    ["holdem", *(pytest.param(game, marks=pytest.mark.long) for game in ("cardshark", "pazaak"))],
    indirect=True,
)
@pytest.mark.one_in(3)
def test_axe_finds_nothing_that_keeps_anybody_out(axe: str, reported: Reported) -> None:
    found = []
    with browser(*DESK, dark=reported.game == "pazaak") as driver:
        page = Page(driver).open(reported.url)
        for link in pages(page):
            page.open(f"{reported.url}{link}")
            found += [(link, *each) for each in violations(page, axe)] if not link.startswith("#r=") else []
        for _colours in ("light", "dark"):
            page.wait("document.querySelector('#picture .felt')")
            page.wait("document.getAnimations().length === 0")  # moving cards are half transparent
            found += [(link, *each) for each in violations(page, axe)]
            page.js("document.getElementById('theme').click() || 1")
    assert found == []


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a tournament of groups."""
    folder = tmp_path_factory.mktemp("groups")
    with reading(games.grouped(folder, rounds=20)) as book:
        (folder / "report.html").write_text(report_of(book, Quota(20))[0])
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_groups_keep_nobody_out_and_fit_a_phone(axe: str, grouped: Path, dark: bool) -> None:
    with browser(*PHONE, dark=dark) as driver:
        page = Page(driver).open(f"{grouped.as_uri()}#groups")
        drawn = page.js(
            "[...document.querySelectorAll('#groups .box')].map((box) => box.querySelectorAll('polyline').length)"
        )
        wide = page.js("document.documentElement.scrollWidth") > PHONE[0]
        assert (violations(page, axe), wide, drawn) == ([], False, [4, 4, 5]) and complaints(driver) == []


BROKEN_LINES = """[...document.querySelectorAll('#bracket svg.bracket')].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll('.tie')].map((tie) => tie.getBoundingClientRect());
    const near = (one, two) => Math.abs(one - two) < 2;
    const within = (y, box) => box.top - 1 < y && y < box.bottom + 1;
    return [...svg.querySelectorAll('path.line')].map((line) => line.getBoundingClientRect()).filter((line) =>
        !boxes.some((box) => near(line.left, box.right) && (within(line.top, box) || within(line.bottom, box))) ||
        !boxes.some((box) => near(line.right, box.left) && (within(line.top, box) || within(line.bottom, box)))); }).length"""
LONG_NAMES = """[...document.querySelectorAll('svg.bracket a')].filter((link) => {
    const box = link.closest('g').querySelector('.tie').getBoundingClientRect();
    const at = link.getBoundingClientRect(), there = document.elementFromPoint(box.right + 3, at.top + at.height / 2);
    return there && there.closest('a') === link; }).length"""


@pytest.fixture(scope="module")
def bracketed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a knockout."""
    folder = tmp_path_factory.mktemp("bracket")
    with reading(games.bracketed(folder)) as book:
        (folder / "report.html").write_text(report_of(book, Quota(3))[0])
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_bracket_has_lines_from_tie_to_tie_and_keeps_nobody_out(axe: str, bracketed: Path, dark: bool) -> None:
    with browser(*PHONE, dark=dark) as driver:
        page = Page(driver).open(f"{bracketed.as_uri()}#result")
        found = violations(page, axe)
        page.open(f"{bracketed.as_uri()}#bracket")
        assert page.js("document.querySelectorAll('#bracket path.line').length") >= 4 and page.js(BROKEN_LINES) == 0
        names = page.js("[...document.querySelectorAll('.bracket .heading')].map((each) => each.textContent)")
        assert {"Quarter-finals", "Semi-finals", "Final"} <= set(names) and page.js(LONG_NAMES) == 0
        wide = page.js("document.documentElement.scrollWidth") > PHONE[0]
        assert (found + violations(page, axe), wide, complaints(driver)) == ([], False, [])
        assert page.js("window.evil") is None


def test_the_ends_of_a_whisker_are_seen_beside_its_point_even_if_it_is_short(page: Page, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", 200)
    with reading(path) as book:
        (tmp_path / "report.html").write_text(report_of(book, Quota(1))[0])
    page.open(f"{(tmp_path / 'report.html').as_uri()}#standings")
    heights = page.js(
        "[...document.querySelectorAll('#standings tbody .whisker')].map((svg) => ['.span', 'circle'].map((part) =>"
        " svg.querySelector(part).getBoundingClientRect().height))"
    )
    assert len(heights) == 4 and all(span >= 2.5 * point for span, point in heights)
    marks = page.js("[...document.querySelectorAll('#standings thead .whisker text')].map((each) => each.textContent)")
    assert len(marks) >= 3 and all(re.fullmatch(r"\d+(\.\d)? %", mark) for mark in marks)


def test_a_reader_in_another_time_zone_sees_the_clock_of_the_tournament(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"], "running")
    some = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 4)
    with serving(path) as url, browser(*DESK) as driver:
        driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
        page = Page(driver).open(f"{url}#result")
        page.wait("document.getElementById('live').innerText === 'live'")
        games.add(path, some[:1])
        page.wait("document.querySelector('#result .podium')")
        files = [file.stat() for file in (path, wal_files(path)[0]) if file.exists()]
        when = max(file.st_mtime for file in files if file.st_size)
        page.wait(f"document.getElementById('clock').innerText === 'last result {clock(when)}'")
        assert page.text("footer").endswith("live")
        page.open("about:blank")


def test_a_table_of_a_running_stage_is_played_in_the_casino_without_evidence(page: Page, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", state="running")
    with serving(path) as url:
        page.open(f"{url}#r={quote('league/glaucus+nestor/fixture 5/2')}")
        page.wait("document.querySelector('#picture .felt')")
        page.press("End")
        assert "The game is over" in page.text("#saying") and "stderr" not in page.text("#casino")
        page.open("about:blank")


def test_a_served_page_keeps_nobody_out_with_and_without_a_run(axe: str, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    with serving(path) as url:
        page.open(url)
        assert page.wait("document.querySelector('#result .trouble')?.innerText") == "nothing has been played here yet"
        found = violations(page, axe)
        games.played(tmp_path, "pazaak", state="running")
        page.wait("document.querySelector('#result .podium')")
        found += violations(page, axe)
        page.open("about:blank")
    assert found == []


@pytest.mark.one_in(3)
def test_no_page_is_wider_than_a_phone(reported: Reported) -> None:
    with browser(*PHONE) as driver:
        page = Page(driver).open(reported.url)
        wide = []
        for link in pages(page):
            page.open(f"{reported.url}{link}")
            if link.startswith("#r="):
                page.wait("document.querySelector('#picture .felt')")
            if page.js("document.documentElement.scrollWidth") > PHONE[0]:  # a phone widens a page that does not fit
                wide.append(link)
    assert wide == []


def test_pairs_of_many_bots_fit_a_phone(tmp_path: Path) -> None:
    bots = tuple(f"a bot of long name {number}" for number in range(9))
    games.begin(tmp_path / "run.sqlite", "pazaak", bots)
    games.add(tmp_path / "run.sqlite", games.fixtures("pazaak", "league", bots, 2))
    with reading(tmp_path / "run.sqlite") as book:
        (tmp_path / "report.html").write_text(report_of(book, Quota(1))[0])
    with browser(*PHONE) as driver:
        page = Page(driver).open(f"{(tmp_path / 'report.html').as_uri()}#pairs")
        assert page.text("#pairs").count("not known yet") == 72
        assert page.js("document.documentElement.scrollWidth") == PHONE[0]


def test_a_large_report_is_painted_while_one_looks(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    bots = tuple(f"bot {number}" for number in range(8))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, 20))
    with reading(path) as book:
        text, kept = report_of(book, Quota(20))
    (tmp_path / "large.html").write_text(text)
    page.open((tmp_path / "large.html").as_uri())
    painted = page.wait(
        "performance.getEntriesByType('paint').find((each) => each.name === 'first-contentful-paint')?.startTime"
    )
    assert kept == 20 and painted < 10_000  # milliseconds; 200 measured on an idle machine


# Live.


@contextlib.contextmanager
def serving(journal: Path) -> Iterator[str]:
    """Serve a journal; return the address."""
    pytest.importorskip("hypercorn")
    from test_web import SERVE

    with subprocess.Popen([sys.executable, "-c", SERVE, str(journal)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.terminate()


# Games without a picture of their own.

TOLD: list[dict[str, Any]] = [
    {"ev": "deal", "seat": 0, "cards": ["Td", "10h", "qs", 7, "Re d'oro", EVIL, "?"]},
    {"ev": "deal", "seat": 1, "cards": list(range(99))},
    {"ev": "pass", "seat": 0, "to": 1, "cards": ["qs"]},
    {"ev": "play", "seat": 0, "cards": ["Td", "Ac"]},
    {"ev": "board", "cards": ["Kh"]},
    {"ev": "score", "seat": 0, "points": -3},
    {"ev": "chips", "seat": 1, "chips": 40},
    {"ev": "bet", "seat": 1, "chips": 2.5},
    {"ev": "say", "seat": 1, "text": EVIL},
    {"ev": "turn", "seat": 1},
    {"ev": "state", "text": f"x.\n.o {EVIL}"},
    {"ev": "trump", "card": EVIL, "seat": 1},
    {"ev": "take", "seat": 0, "cards": ["Td", "Kh"]},
    {"ev": "discard", "seat": 1},
    {"ev": "discard"},
    {"ev": "deal", "seat": "0", "cards": {}},
    {"ev": "score", "seat": 9, "points": []},
    {"ev": "state", "text": None},
    {"ev": "table.end", "scores": [1, 2]},
]
FACES = """((label) => [...document.querySelectorAll(`#picture [aria-label="${label}"] > *`)]
    .map((each) => each.getAttribute("aria-label") || each.textContent))(...arguments)"""
LIES = """window.casino.shown().steps.map(({state}) =>
    state.players.map((each) => [each.held.length, each.played.length, each.taken]))"""


def step(page: Page, number: int) -> None:
    """Show one step of the replay, from 0."""
    page.js(
        f"((slider) => {{ slider.value = {number}; return slider.dispatchEvent(new Event('input')); }})($)".replace(
            "$", "document.getElementById('slider')"
        )
    )


def test_every_event_of_the_general_table_is_drawn_and_no_text_of_it_is_markup(
    axe: str, page: Page, holdem: Reported
) -> None:
    start = {"ev": "table.start", "table": "league/a+b/1", "game": "odd", "bots": ["a", EVIL], "rules": {}}
    page.open(f"{holdem.url}#casino")
    page.drop("odd.jsonl", "\n".join(map(json.dumps, [start, *TOLD])))
    page.wait("document.querySelector('#picture .general')")
    assert page.js("window.casino.shown().steps.map((one) => one.events.map((ev) => ev.ev).join(' '))") == [
        "deal deal pass play",
        "board score chips bet say turn state",
        "trump",
        "take discard discard",
        "deal",
        "score",
        "state",
        "table.end",
    ]
    step(page, 0)
    held = ["ten of hearts", "card 7", "card Re d'oro", f"card {EVIL}"]  # and the ace was the hidden card
    assert page.js(FACES, "hand of a") == held and page.js(FACES, "played by a") == ["ten of diamonds", "ace of clubs"]
    assert page.text("#saying").endswith(f"a passes qs to {EVIL}. a plays Td Ac.")
    others = page.js("[...document.querySelectorAll('#picture .overlapping')].at(-2).children.length")
    assert others == 61 and page.js("document.querySelector('#picture').scrollWidth <= innerWidth")
    page.js(LOOK_AS, 1)
    assert page.js(FACES, "hand of a") == ["a hidden card"] * 4 and "a gets 7 cards." in page.text("#saying")
    page.js(LOOK_AS, -1)
    step(page, 2)
    assert page.js(FACES, "on the table") == ["king of hearts"] and page.text(".drawing") == f"x.\n.o {EVIL}"
    figures = page.js("[...document.querySelectorAll('#picture .figures')].map((each) => each.innerText.trim())")
    assert figures[0] == "-3 points" and figures[1].split() == ["40", "bet", "2.5"]
    assert page.js("document.querySelector('#picture .acts').ariaLabel") == EVIL and EVIL in page.text(".told")
    found = violations(page, axe)
    page.js(LOOK_AS, 0)
    assert page.js("document.querySelector('.drawing, .told')") is None
    page.press("End")
    assert found == [] and page.js(f"{LIES}.at(-1)") == [[0, 0, 0], [0, 0, 0]]


def exported(game: Game, seed: int = 1) -> str:
    """Return the events of a table of random moves, as `export jsonl` writes them."""
    name, luck = game.name, Random(seed)
    rules = game.default_rules
    bots = [f"bot {number}" for number in range(rules.seats)]
    lines: list[dict[str, Any]] = [{"ev": "table.start", "table": f"league/{name}/1", "game": name, "bots": bots}]

    def tell(event: str, **facts: Any) -> None:
        safe = facts if name in ("hearts",) else event_validation.told(game, "league/1", event, facts, rules.seats)
        lines.append({"ev": event, **safe})

    table, asked = Table(game, rules, Luck(bytes([seed]), "browser"), tell=tell), 0
    while table.request is not None:
        for request in table.open:
            asked += 1
            question = argv.ask(request.view)
            answer = luck.choice((Move("LOW"), Move("HIGH")) if name == "hearts" else (Move("LOWEST"), Move("HIGHEST")))
            lines.append({"ev": "ask", "n": asked, "seat": request.seat, "q": b" ".join(question).decode()})
            lines.append({"ev": "answer", "n": asked, "seat": request.seat, "a": game.grammar.spell(answer)})
            table.answer(answer)
    return "\n".join(map(json.dumps, [*lines, {"ev": "table.end", "scores": table.scores}]))


def test_every_card_of_hearts_is_somewhere_on_the_table(page: Page, holdem: Reported) -> None:
    page.open(f"{holdem.url}#casino")
    page.drop("hearts.jsonl", exported(GAMES["hearts"]))
    page.wait("document.querySelector('#picture .general')")
    lies = page.js(LIES)
    assert len(lies) > 300 and all(sum(map(sum, seats)) == 52 for seats in lies)
    assert max(taken for seats in lies for _, played, taken in seats) >= 16 and page.where.startswith("deal 1 · step 1")
    page.press("ArrowDown")
    assert page.where.startswith("deal 2 ·")
    page.press("End")
    assert "The game is over" in page.text("#saying") and page.text("#picture").count("points") == 4


@pytest.mark.parametrize("name", ["connect_four", "leduc_poker", "hearts"])
def test_a_game_of_openspiel_is_drawn_and_fits_a_phone(name: str, page: Page, holdem: Reported) -> None:
    pytest.importorskip("pyspiel")
    ours = load_game(f"openspiel:{name}", ROOT)
    with browser(*PHONE) as phone:
        small = Page(phone).open(f"{holdem.url}#casino")
        small.drop("table.jsonl", exported(ours))
        small.wait("document.querySelector('#picture .general')")
        for number in (3, 5, 7):
            step(small, number)
            assert small.js("document.documentElement.scrollWidth") == PHONE[0] and small.text("#saying")
        small.press("End")
        assert "The game is over" in small.text("#saying") and complaints(phone) == []


def test_a_served_replay_is_fetched_and_shown(page: Page, holdem: Reported) -> None:
    with serving(holdem.journal) as url:
        page.open(f"{url}#casino")
        page.wait("document.querySelector('.shelf a').click() || true")
        page.wait("document.querySelector('#picture .felt')")
        page.press("End")
        assert "The game is over" in page.text("#saying")
        page.open("about:blank")


def test_the_scoreboard_moves_while_a_run_goes_on(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"], "running")
    some = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 4)
    with serving(path) as url:
        page.open(f"{url}#standings")
        page.wait("document.getElementById('live').innerText.startsWith('live')")
        seen = []
        for fixture in some[:3]:
            games.add(path, [fixture])
            count = f"document.querySelector('#standings h2')?.innerText.match(/· ({4 * len(seen) + 4}) tables/)?.[1]"
            seen.append(page.wait(count))
        games.finish(path)
        page.wait("document.querySelector('#shelf a')")
        page.open("about:blank")
    assert seen == ["4", "8", "12"]


@pytest.mark.parametrize("how", ["newer", "garbage"])
def test_a_journal_that_becomes_unreadable_is_said_on_the_open_page(page: Page, tmp_path: Path, how: str) -> None:
    path = games.played(tmp_path, "pazaak", 1)
    with serving(path) as url:
        page.open(url)
        page.wait("document.getElementById('live').innerText.startsWith('live')")
        games.spoilt(path, how)
        said = page.wait("document.querySelector('#result .trouble')?.innerText")
        page.open("about:blank")
    assert said.startswith("run.sqlite ") and ("newer croupier" in said or how == "garbage")


CALLS = """import sys
for line in sys.stdin:
    low, high = map(int, line.split()[5:7])
    print(min(high, low + {more}), flush=True)
"""
TABLES = """
game = "holdem"
name = "Six callers"
bots = ["bots/*"]
[rules]
rounds = 15
[[stage]]
name = "groups"
kind = "groups"
repeat = 2
[[stage]]
name = "final"
kind = "groups"
advance = 1
"""


def test_groups_are_watched_to_the_end_of_the_final(page: Page, tmp_path: Path) -> None:
    from host.sandbox.detect import detect

    if not detect().level.traits.isolates:
        pytest.skip("no sandbox here")
    (tmp_path / "bots").mkdir()
    for more in range(6):
        (tmp_path / "bots" / f"caller{more}.py").write_text(CALLS.format(more=more))
    (tmp_path / "croupier.toml").write_text(TABLES)
    with serving(tmp_path / "run" / "run.sqlite") as url:
        page.open(url)
        command = [sys.executable, "-m", "host", "-C", str(tmp_path), "run", "--progress", "none"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT) as run:
            page.wait("document.querySelectorAll('#groups .box').length", 120)
            assert run.wait(300) == 0, run.stdout and run.stdout.read()
        page.wait("document.querySelector('.state')?.innerText.toLowerCase() === 'finished'")
        went, sat = page.js("['.on', 'tbody tr'].map((each) => document.querySelectorAll(`#groups ${each}`).length)")
        page.open(f"{url}#groups")
        drawn = page.js("document.querySelectorAll('#groups polyline').length")
        page.open("about:blank")
    assert (went, sat, drawn) == (5, 11, 11)


@pytest.mark.long
def test_a_real_tournament_is_watched_to_its_end(page: Page, tmp_path: Path) -> None:
    from host.sandbox.detect import detect

    if not detect().level.traits.isolates:
        pytest.skip("no sandbox here")
    croupier = [sys.executable, "-m", "host", "-C", str(tmp_path)]
    subprocess.run(
        [*croupier, "new", str(tmp_path / "cup"), "--game", "cardshark"], check=True, capture_output=True, cwd=ROOT
    )
    config = tmp_path / "cup" / "croupier.toml"
    bots = 'bots = ["sample:davey", "sample:cautious"]\n'
    lines = [line for line in config.read_text().splitlines() if not line.startswith("bots")]
    text = "\n".join(lines).replace("tourneys = 25", "tourneys = 30")
    config.write_text(f"{bots}{text}\n")
    with serving(tmp_path / "cup" / "run" / "run.sqlite") as url:
        page.open(url)
        command = [sys.executable, "-m", "host", "-C", str(tmp_path / "cup"), "run", "--progress", "none"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT) as run:
            page.wait("document.querySelectorAll('.podium li').length === 2", 120)
            assert run.wait(300) == 0, run.stdout and run.stdout.read()
        page.wait("document.querySelector('.state')?.innerText.toLowerCase() === 'finished'")
        assert "30 " in page.text("#result .facts")
        page.open("about:blank")
