"""Follow docs/adding-a-game.md: its files make a tournament of a fourth game, and every command works with it."""

import json
import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from command import ROOT, answers_in, croupier, environment
from helpers import breadth

from host.base.errors import UserError
from host.games import GAMES
from host.inspect import event_validation
from host.inspect.replay import Event, as_text, seen_by
from protocols.wire import Move
from tests.browser import browser, complaints, missing

PAGE = (ROOT / "docs" / "adding-a-game.md").read_text()
FILE = re.compile(r"^```\w+ (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def laid_out(place: Path) -> Path:
    """Write the page's files into a folder; join blocks of the same file."""
    files: dict[str, list[str]] = {}
    for block in FILE.finditer(PAGE):
        files.setdefault(block["name"], []).append(block["text"])
    own = {name for name in files if not name.startswith("partners/")}
    assert {"goofspiel.py", "croupier.toml", "bots/copycat.py", "bots/miser.c", "test_goofspiel.py"} == own
    for name, texts in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("\n\n".join(texts))
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the page's tournament before it is played."""
    return laid_out(tmp_path / "sunday")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page's tournament after the page's commands were run as it is written, and it was reported."""
    folder = laid_out(tmp_path_factory.mktemp("played") / "sunday")
    for words in PAGE.split("```console\n")[1].split("```")[0].splitlines():
        done = croupier(*words.removeprefix("$ croupier ").split(), cwd=folder)
        assert done.code == 0, done.err
    assert croupier("-C", folder, "report", "-o", folder / "report.html").code == 0
    return folder


@pytest.mark.long
def test_the_page_is_played_as_it_is_written(played: Path) -> None:
    rows = {row["bot"]: row for row in croupier("-C", played, "standings", "--json").json["rows"]}
    assert sum(row["tables"] for row in rows.values()) == 400
    assert rows["copycat"]["wins"] > 150  # it takes the valuable prizes


def test_everything_that_looks_at_tables_knows_the_game(played: Path) -> None:
    folder = played
    assert "prize" in croupier("-C", folder, "games", "goofspiel").out
    table = next(iter(answers_in(folder / "run" / "run.sqlite")))
    assert "BID" in croupier("-C", folder, "replay", f"{table.rpartition('/')[0]}/3").out
    assert croupier("-C", folder, "export", "csv", "-o", folder / "out.csv").code == 0
    assert (
        croupier("-C", folder, "play", folder / "bots" / "copycat.py", folder / "bots" / "miser.c", "-n", 20).code == 0
    )


def test_bids_that_are_made_at_once_are_asked_before_any_is_told(played: Path) -> None:
    croupier("-C", played, "export", "jsonl", "-o", played / "out.jsonl")
    events = [json.loads(line) for line in (played / "out.jsonl").read_text().splitlines()]
    about = [(event["ev"], event.get("seat")) for event in events if event["ev"] in ("ask", "answer")]
    assert about == [("ask", 0), ("ask", 1), ("answer", 0), ("answer", 1)] * (len(about) // 4)
    table = events[0]["table"]
    lines = croupier("-C", played, "replay", table).out.splitlines()
    assert sum("→  BID" in line for line in lines) == 14 and not any(" 0  →" in line for line in lines[1:])
    assert croupier("-C", played, "verify").code == 0


def test_a_bot_does_not_see_what_others_bid_at_the_same_time(played: Path) -> None:
    lines = croupier("-C", played, "replay", "last", "--as", "miser").out.splitlines()
    answers = [line for line in lines if "→" in line]
    assert sum("copycat" in line and "→  (hidden)" in line for line in answers) == 7
    assert sum("miser" in line and "→  BID" in line for line in answers) == 7 and len(answers) == 14
    assert sum("copycat plays" in line for line in lines) == 7 and "gets" not in "".join(lines)


def test_a_game_can_say_that_its_answers_are_secret() -> None:
    happened = [
        Event("ask", {"n": 1, "seat": 0, "q": "?"}),
        Event("answer", {"n": 1, "seat": 0, "a": "A5"}),
        Event("deal", {"seat": 0, "cards": ["Td"]}),
        Event("play", {"seat": 0, "cards": [4], "from": "A5"}),
        Event("play", {"seat": 0, "cards": [4]}),
        Event("state", {"text": "A5"}),
        Event("ask", {"n": 2, "seat": 1, "q": "?"}),
        Event("answer", {"n": 2, "seat": 1, "a": "B5"}),
    ]
    for secret, answer in ((True, "(hidden)"), (False, "A5")):
        seen = list(seen_by(happened, 1, secret))
        assert [event.ev for event in seen] == ["answer", "play", "ask", "answer"]
        assert seen[0].facts == {"n": 1, "seat": 0, "a": answer} and seen[-1].facts["a"] == "B5"


def test_the_events_of_the_table_are_printed_as_sentences() -> None:
    told = {
        "deal": {"seat": 0, "cards": ["Td", 7]},
        "pass": {"seat": 0, "to": 1, "cards": ["Td"]},
        "play": {"seat": 0, "cards": ["{seat}"]},
        "board": {"cards": []},
        "take": {"seat": 1, "cards": "Td"},
        "discard": {},
        "score": {"seat": 0, "points": 3},
        "chips": {"seat": 0, "chips": 0},
        "bet": {"seat": 0, "chips": 2.5},
        "say": {"seat": 1, "text": "no"},
        "turn": {"seat": 1},
        "state": {"text": "x.\n.o\n"},
        "trump": {"seat": 1, "card": "Td"},
    }
    lines = [line.strip() for line in as_text([Event(*each) for each in told.items()], ("ada", "bob"), [])]
    assert lines == [
        "ada gets Td 7",
        "ada passes Td to bob",
        "ada plays {seat}",
        "on the table: nothing",
        "bob takes Td",
        "the table is cleared",
        "ada has 3 points",
        "ada has 0 chips",
        "ada has bet 2.5",
        "bob: “no”",
        "it is the turn of bob",
        "x.",
        ".o",
        "trump: bob, card Td",
    ]
    discards = [Event("discard", facts) for facts in ({"seat": 0}, {"seat": 0, "cards": [1]}, {"cards": [1, 2]})]
    lines = [line.strip() for line in as_text(discards, ("ada", "bob"), [])]
    assert lines == ["ada discards everything", "ada discards 1", "discarded: 1 2"]


@pytest.fixture(scope="module")
def partners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page's tournament of partners after it was played and reported."""
    folder = laid_out(tmp_path_factory.mktemp("partners")) / "partners"
    assert croupier("-C", folder, "run").code == 0
    assert croupier("-C", folder, "report", "-o", folder / "report.html").code == 0
    return folder


@pytest.mark.long
def test_partners_play_as_one_bot_in_a_stage_for_two(partners: Path) -> None:
    rows = croupier("-C", partners, "standings", "--json").json["rows"]
    assert [(row["bot"], row["tables"]) for row in rows] == [("letters", 100), ("digits", 100)]
    assert rows[0]["faults"] == rows[1]["faults"] == 0
    assert croupier("-C", partners, "verify").code == 0
    assert croupier("-C", partners, "check", partners / "bots" / "letters.py").code == 0
    assert croupier("-C", partners, "init", partners / "first", "--lang", "c").code == 0
    assert croupier("-C", partners, "check", partners / "first").code == 0


@pytest.mark.proof
def test_partners_play_in_a_knockout_and_on_mirrored_deals(partners: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(partners, tmp_path / "cup", ignore=shutil.ignore_patterns("run", "*.html"))
    stages = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 20\nmirror = true\n\n[[stage]]\nkind = "knockout"\n'
    (folder / "croupier.toml").write_text(f'game = "hints:GAME"\nbots = ["bots/*"]\n\n{stages}')
    assert croupier("-C", folder, "run").code == 0
    assert croupier("-C", folder, "standings", "--json").json["rows"][0]["bot"] == "letters"
    assert croupier("-C", folder, "verify").code == 0


def test_a_table_of_partners_is_replayed_with_every_seat(partners: Path) -> None:
    said = croupier("-C", partners, "replay", "last").out
    first, *lines = said.splitlines()
    assert re.search(r"seat 1 (\w+) · seat 2 (\w+) · seat 3 \1 · seat 4 \2", first)
    assert sum("→  HINT" in line for line in lines) == sum("→  GUESS" in line for line in lines) == 16
    assert croupier("-C", partners, "export", "csv", "-o", partners / "out.csv").code == 0
    assert len((partners / "out.csv").read_text().splitlines()) == 1 + 2 * 100
    croupier("-C", partners, "export", "jsonl", "last", "-o", partners / "out.jsonl")
    events = [json.loads(line) for line in (partners / "out.jsonl").read_text().splitlines()]
    assert len(events[0]["bots"]) == 4 and events[-1]["scores"][0] == events[-1]["scores"][2]
    for seat in range(4):
        own = [event for event in events if event["ev"] == "ask" and event["seat"] == seat]
        assert own and all((event["q"].split()[0] == "HINT") is (event["q"].split()[1] != "-") for event in own)


def test_a_question_to_one_partner_is_asked_again_of_that_process(partners: Path) -> None:
    table = next(iter(answers_in(partners / "run" / "run.sqlite")))
    for number in (1, 2, 3, 4):
        done = croupier("-C", partners, "ask", "letters", f"{table}:{number}", "--as", "letters", "--same", "--json")
        other = croupier("-C", partners, "ask", "digits", f"{table}:{number}", "--as", "digits", "--same", "--json")
        asked = done if done.code == 0 else other
        assert asked.code == 0 and {done.code, other.code} == {0, 2}, done.err + other.err


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}")
def test_its_tables_are_drawn_without_any_javascript_of_its_own(played: Path) -> None:
    with browser() as driver:
        driver.get(f"{(played / 'report.html').as_uri()}#casino")
        driver.execute_script("document.querySelector('.shelf a').click()")
        until = time.monotonic() + 60
        while not driver.execute_script("return document.querySelector('#picture .felt')"):
            assert time.monotonic() < until, complaints(driver)
        driver.execute_script("document.getElementById('next').click(); document.getElementById('next').click()")
        piles = "[...document.querySelectorAll('#picture .hand')].map((each) => [each.ariaLabel, each.children.length])"
        names = driver.execute_script("return window.casino.shown().table.bots")
        expected = [["on the table", 1]]
        for name in names:
            expected += [[f"hand of {name}", 6], [f"played by {name}", 1]]
        assert driver.execute_script(f"return {piles}") == expected
        assert "plays" in driver.execute_script("return document.getElementById('saying').innerText")
        assert complaints(driver) == []


def test_a_first_bot_can_be_begun_for_it(folder: Path) -> None:
    assert croupier("-C", folder, "init", folder / "bots" / "first", "--game", "goofspiel", "--lang", "c").code == 0
    assert croupier("-C", folder, "check", folder / "bots" / "first").code == 0


@pytest.mark.long
def test_the_page_s_own_tests_pass(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", folder, folder]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout[-2000:]


def test_a_journal_away_from_its_game_says_where_to_look(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "run", tmp_path / "elsewhere" / "run")
    done = croupier("-C", tmp_path / "elsewhere", "verify")
    assert done.code == 3
    assert "C018" in done.err and "the game goofspiel is not known here" in done.err


# Only the game's own files name it.

OWN = (
    "host/games/",
    "host/report/pages/casino/",
    "host/report/playlog.py",
    "host/submissions/templates/",
    "host/submissions/sample_bots.py",
)
SUIT = '["♥", "hearts"'  # in the casino's cards
QUOTED = re.compile(rf"""["']({"|".join(GAMES)})["']""")


def test_no_file_but_its_own_names_a_game() -> None:
    files = [path for path in (ROOT / "host").rglob("*") if path.suffix in (".py", ".html", ".js", ".css")]
    others = [path for path in files if not str(path.relative_to(ROOT)).startswith(OWN)]
    assert len(others) > 100
    assert [str(path) for path in others if QUOTED.search(path.read_text().replace(SUIT, ""))] == []


# Events that a game reports.

TOLD = {
    "a long text": ("deal", {"card": "x" * 1001}, {"card": f"{'x' * 999}…"}),
    "a long drawing": ("state", {"text": "x" * 1001}, {"text": f"{'x' * 999}…"}),
    "a seat": ("deal", {"seat": 1, "seats": [0, 1], "winner": None}, {"seat": 1, "seats": [0, 1], "winner": None}),
    "plain values": (
        "deal",
        {"a": (1, 2.5, True), "b": {"c": None}, "d": 2**53},
        {"a": [1, 2.5, True], "b": {"c": None}, "d": 2**53},
    ),
    "an answer": ("bet", {"by": Move("BID", 3)}, {"by": Move("BID", 3)}),
    "a picture": (
        "deal",
        {"seat": 0, "cards": ("Td", 7, "x" * 20), "more": "\n"},
        {"seat": 0, "cards": ["Td", 7, "x" * 20], "more": r"\n"},
    ),
    "one card": ("board", {"cards": "10h"}, {"cards": ["10h"]}),
    "no board": ("board", {"cards": []}, {"cards": []}),
    "everything discarded": ("discard", {}, {}),
    "a drawing": ("state", {"text": "x.\n\x1b.o\u202e"}, {"text": "x.\n\\x1b.o\\u202e"}),
    "speech": ("say", {"seat": 1, "text": "a\nb"}, {"seat": 1, "text": r"a\nb"}),
    "a name of the table with other facts": ("score", {"points": [1, 2]}, {"points": [1, 2]}),
    "markup and colours": ("deal", {"card": "<b>\x1b[31m\n"}, {"card": r"<b>\x1b[31m\n"}),
}
ODD = {
    "no number": ("deal", {"card": math.nan}, "card = nan"),
    "endless": ("deal", {"card": [1, math.inf]}, "card = inf"),
    "huge": ("deal", {"card": 10**5000}, "card = a number of more than 15 digits"),
    "an object": ("deal", {"card": object()}, "card = a value of type object"),
    "bytes": ("deal", {"card": {"x": b"K"}}, "card = a value of type bytes"),
    "a set": ("deal", {"card": {1}}, "card = a value of type set"),
    "a long list": ("deal", {"card": [0] * 1001}, "card = a value of type list"),
    "lists without end": ("deal", {"card": [[[[[[0]]]]]]}, "card = [[0]]"),
    "a seat that is none": ("deal", {"seat": 2}, "seat = 2, which is not a seat (0 to 1)"),
    "a seat by name": ("deal", {"winners": ["copycat"]}, "winners = 'copycat', which is not a seat"),
    "a card that is a list": ("deal", {"seat": 0, "cards": [["Td"]]}, "cards = ['Td']: a card is a number, or a text"),
    "a card without a text": ("board", {"cards": [""]}, "a card is a number, or a text of 1 to 20 characters"),
    "a long card": ("board", {"cards": "x" * 21}, "a card is a number, or a text of 1 to 20 characters"),
    "cards by name": ("board", {"cards": {"Td": 1}}, "cards = a value of type dict: a card is a number"),
    "a card that is true": ("board", {"cards": [True]}, "cards = True: a card is a number"),
    "endless cards": ("board", {"cards": [math.inf]}, "cards = inf"),
    "many cards": ("board", {"cards": [1] * 101}, "with 101 cards: 100 can be drawn at once"),
    "a seat that is true": ("turn", {"seat": True}, "seat = True, which is not a seat"),
    "several seats": ("turn", {"seat": [0, 1]}, "seat = [0, 1], which is not a seat"),
    "cards for nobody": ("pass", {"seat": 0, "to": 2, "cards": []}, "to = 2, which is not a seat (0 to 1)"),
    "points in words": ("score", {"seat": 0, "points": "7"}, "points = '7', which is not a number"),
    "chips without end": ("chips", {"seat": 0, "chips": math.inf}, "chips = inf"),
    "a drawing of bytes": ("state", {"text": b"x"}, "which is not a text"),
    "no name": ("<script>", {}, "is called '<script>', which is not allowed"),
    "a name that is no text": (None, {}, "is called 'None', which is not allowed"),
    "croupier's own": ("answer", {"n": 1}, "is called 'answer', which is not allowed"),
    "hold'em's own": ("show", {"worth": [[0, 1, 2]]}, "hold'em reserves this name"),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_a_game_tells_is_plain_and_harmless(case: str) -> None:
    event, facts, plain = TOLD[case]
    assert event_validation.told(GAMES["pazaak"], "league/1", event, facts, 2) == plain


@pytest.mark.parametrize("case", ODD)
def test_what_no_page_can_show_is_refused_by_name(case: str) -> None:
    event, facts, why = ODD[case]
    with pytest.raises(UserError) as refused:
        event_validation.told(GAMES["pazaak"], "league/1", event, facts, 2)
    (problem,) = refused.value.problems
    assert problem.code == "C019" and why in problem.message and "league/1" in problem.message


@pytest.mark.parametrize("scores", [None, (1,), (1, math.nan), (1, "2"), 7, (10**400, 1)], ids=repr)
def test_scores_that_are_none_are_refused(scores: object) -> None:
    with pytest.raises(UserError):
        event_validation.scored(GAMES["pazaak"], "league/1", scores, 2)


TELLS = 'tell("discard", cards=bids)'
CHANGED = {
    "tells what is no value": (TELLS, 'tell("discard", cards=object())', "its event discard of"),
    "raises": (TELLS, 'raise LookupError("<script>window.evil=1</script>")', "its code raised LookupError"),
    "cannot judge a move": ("return move.verb !=", "return move.m !=", "its code raised AttributeError"),
    "asks nobody": ("Request(seat, view) for", "Request(seat + 2 * bool(tell), view) for", "it asks seat 2 of"),
    "ends with nothing": (
        "return points[0], points[1]",
        "return None if tell else tuple(points)",
        "with a value of type",
    ),
}


LONG = ("asks nobody", "ends with nothing")


@pytest.fixture(params=[pytest.param(case, marks=[pytest.mark.long] if case in LONG else []) for case in CHANGED])
def strange(request: pytest.FixtureRequest, played: Path, tmp_path: Path) -> tuple[Path, str, str]:
    """Return a played tournament whose game reports invalid events, one of its tables, and the expected error."""
    was, now, why = CHANGED[request.param]
    folder = shutil.copytree(played, tmp_path / "strange")
    rules = folder / "goofspiel.py"
    assert was in rules.read_text()
    rules.write_text(rules.read_text().replace(was, now))
    return folder, next(iter(answers_in(folder / "run" / "run.sqlite"))), why


def test_tables_that_cannot_be_shown_are_left_out_of_a_report_which_says_why(strange: tuple[Path, str, str]) -> None:
    folder, _, why = strange
    done = croupier("-C", folder, "report", "-o", folder / "new.html")
    page = (folder / "new.html").read_text()
    assert done.code == 0 and "copycat" in page and 'class="table"' not in page
    assert "Left out, 20 of 20 tables: the game goofspiel: " in page and why in page and "<script>window" not in page


@pytest.mark.long
@pytest.mark.one_in(3)
def test_a_table_that_cannot_be_shown_is_refused_wherever_it_is_asked_for(strange: tuple[Path, str, str]) -> None:
    from test_web import commanded

    folder, table, why = strange
    for words in (["replay", table], ["export", "jsonl", "-o", folder / "x"]):
        done = croupier("-C", folder, *words)
        assert done.code == 3 and "error[C019]" in done.err and why in done.err and "Traceback" not in done.err
    with commanded(folder) as server:
        assert server.get("/")[0] == 200
        status, _, told = server.get(f"/api/replay?table={quote(table, safe='')}")
        assert status == 404 and why in told.decode()


BROKEN = {
    "a module that is not there": ("nowhere:GAME", "cannot be imported: No module named 'nowhere'"),
    "a value that is not there": ("goofspiel:GAMES", "has no attribute 'GAMES'"),
    "what is no game": ("goofspiel:GRAMMAR", "is not a Game but a Grammar"),
    "a module and no value": ("goofspiel:", "is not a Game but a module"),
    "Python that is none": ("broken:GAME", "cannot be imported: invalid syntax"),
    "the name of another": ("twin:GAME", "has the name of another game, pazaak"),
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


def test_a_bot_can_not_bring_code_of_its_own(folder: Path) -> None:
    guest = folder / "bots" / "guest"
    guest.mkdir()
    (guest / "evil.py").write_text("import pathlib\npathlib.Path('/tmp/evil').touch()\nGAME = None\n")
    (guest / "bot.toml").write_text('name = "guest"\nlanguage = "python"\nentry = "evil.py"\ngame = "evil:GAME"\n')
    done = croupier("check", guest)
    assert done.code != 0 and "C008" in done.err + done.out and not Path("/tmp/evil").exists()


# A game that fails is named with the file and the line of its module, by every command.

FAILS = '    raise LookupError("no such card")\n'


def broken(folder: Path, function: str) -> str:
    """Let a function of the module fail; return the file and the line."""
    module = folder / "goofspiel.py"
    lines = module.read_text().splitlines(keepends=True)
    number = next(at for at, line in enumerate(lines, 1) if line.startswith(f"def {function}(")) + 2
    module.write_text("".join([*lines[: number - 1], FAILS, *lines[number - 1 :]]))
    return f"{module}:{number}"


@pytest.mark.parametrize("function", breadth(["bid", "allows"], 2))
@pytest.mark.parametrize("command", breadth(["play copycat miser -n 4", "check copycat", "check --all"], 2))
def test_a_game_that_fails_is_named_with_file_and_line(function: str, command: str, folder: Path) -> None:
    where = broken(folder, function)

    done = croupier("-C", folder, *command.split())

    assert done.code == 3, (done.out, done.err)
    assert f"error[C020] {where}: " in done.err and "LookupError: no such card" in done.err, done.err
    assert "no bot is charged" in done.err and "H001" not in done.err + done.out


@pytest.mark.long
def test_a_run_goes_on_if_the_game_fails_and_names_file_and_line(folder: Path) -> None:
    where = broken(folder, "bid")

    done = croupier("-C", folder, "run")

    assert done.code == 7, (done.out, done.err)
    assert f" is undecided: {where}: the game failed at table " in done.err and "no such card" in done.err, done.err
    assert "no bot is charged" in done.err and "H001" not in done.err + done.out


@pytest.mark.parametrize("command", ["replay last", "ask copycat last:1", "verify"])
def test_a_game_that_fails_when_it_is_replayed_is_named_with_file_and_line(
    command: str, played: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sunday"
    shutil.copytree(played, folder)
    where = broken(folder, "bid")

    done = croupier("-C", folder, *command.split())

    assert done.code == 3, (done.out, done.err)
    code = "C019" if command.startswith("replay") else "C020"
    assert f"error[{code}] {where}: " in done.err and "LookupError: no such card" in done.err, done.err


def test_a_module_that_fails_outside_of_a_table_is_named_with_file_and_line(folder: Path) -> None:
    where = broken(folder, "winners")

    done = croupier("-C", folder, "play", "copycat", "miser", "-n", "4")

    assert done.code == 3, done.err
    assert f"error[C020] {where}: raised LookupError: no such card\n" in done.err


TALK = """
import re
from typing import NamedTuple
from host.games.engine import Game, Opening, Request
from protocols.wire import Grammar, Move

class Rules(NamedTuple):
    seats: int = 2

class Bid(NamedTuple):
    turn: int
    said: str

class View(NamedTuple):
    turn: int
    said: str
    all: tuple[str, ...]
    points: int

def allows(rules, view, move):
    return True

def play(rules, luck, tell=None):
    said, points = [], [0, 0]
    for turn in range(6):
        seat, last = turn % 2, said[-1] if said else ""
        view = View(turn, last, tuple(said), 5) if turn % 3 else Bid(turn, last)  # views of two forms
        answer = yield Request(seat, view)
        text = answer.text if isinstance(answer, Move) else ""
        points[seat] += text != "FORGED"
        said.append(text)
        if tell:
            tell("say", seat=seat, text=text)
    return points[0], points[1]

GAME = Game(
    name="talk", title="Talk", seats=(2, 2), protocol="lines", presets={"talk": Rules()},
    grammar=Grammar(re.compile(r"(?P<verb>S) (?P<text>.*)"), "S <text>"), play=play, allows=allows,
    winners=lambda scores: (), view=View, edges={"the first": View(1, "x", ("x",), 5)},
    opening=Opening("points", 1, "S a", "S b"), card="Say a text.",
)
"""
LISTENS = """
import json, sys
for line in sys.stdin if PROTOCOL != "argv" else [" ".join(sys.argv[1:])]:
    if PROTOCOL == "json":
        fields = list(json.loads(line).values())
    else:
        fields = sys.argv[1:] if PROTOCOL == "argv" else line.rstrip("\\n").split(" ")
    whole = len(fields) == (4 if int(fields[0]) % 3 else 2) and (len(fields) == 2 or int(fields[3]) == 5)
    answer = "S ok" if whole else "S FORGED"
    print(json.dumps({"move": answer}) if PROTOCOL == "json" else answer, flush=True)
"""


@pytest.mark.long
def test_a_text_that_looks_like_fields_forges_nothing_and_every_page_shows_it(tmp_path: Path) -> None:
    from test_web import commanded

    (tmp_path / "talk.py").write_text(TALK)
    for protocol in ("argv", "lines", "json"):
        bot = tmp_path / "bots" / protocol
        bot.mkdir(parents=True)
        (bot / "bot.py").write_text(f"PROTOCOL = {protocol!r}\n{LISTENS}")
        (bot / "bot.toml").write_text(f'name = "{protocol}"\nlanguage = "python"\nprotocol = "{protocol}"\n')
    shutil.copy(ROOT / "sample_bots" / "rogues" / "forges_fields.py", tmp_path / "bots" / "rogue.py")
    (tmp_path / "croupier.toml").write_text(
        'game = "talk:GAME"\nbots = ["bots/*"]\n[[stage]]\nname = "talks"\nkind = "round-robin"\ntables_per_pair = 2\n'
    )
    assert croupier("-C", tmp_path, "run").code == 0
    rows = croupier("-C", tmp_path, "standings", "--json").json["rows"]
    assert {row["bot"]: row["points"] for row in rows} == dict.fromkeys(("argv", "lines", "json", "rogue"), 18)
    tables = list(answers_in(tmp_path / "run" / "run.sqlite"))
    for words in (
        ["verify"],
        ["report", "-o", tmp_path / "page.html"],
        ["replay", tables[-1]],
        ["export", "jsonl", "-o", tmp_path / "out.jsonl"],
    ):
        done = croupier("-C", tmp_path, *words)
        assert done.code == 0, done.err
    with commanded(tmp_path) as server:
        for table in tables:
            assert server.get(f"/api/replay?table={quote(table, safe='')}")[0] == 200
