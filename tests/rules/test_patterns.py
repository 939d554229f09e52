"""No text of a stranger slows the host down: every pattern needs linear time, and what is read is bounded in size."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio
from helpers import level, spec_of, written
from test_referee_game import GAME

from host.base.errors import UserError, closest_match
from host.base.toml_file import parse
from host.rules.game_toml import load_referee_game
from host.submissions.adapters import advice
from host.submissions.build import build, quota_check
from host.submissions.discovery import load_submission
from host.submissions.file_tree import BUILDING, exceeds
from host.submissions.languages import cargo_program, main_class
from protocols.wire import Fault, FaultKind, Move, read_move

PACKAGES = ("protocols", "host.base", "host.games", "host.sandbox", "host.bots", "host.submissions", "host.report")
FUZZ = r"""
import importlib, pkgutil, re, signal, sys
from itertools import product

LENGTH, SECONDS = 10_000, 0.2  # processor time of a search: quadratic time would be longer, linear time is 1 ms
BOUNDED = {"host.base.errors.ERROR_ENTRY", "host.base.toml_file.UNQUOTED"}  # read errors.md, and one short line

def patterns(name):
    package = importlib.import_module(name)
    for module in [package, *(importlib.import_module(each.name) for each in
                              pkgutil.walk_packages(getattr(package, "__path__", ()), name + "."))]:
        for word, value in list(vars(module).items()):
            yield from found(f"{module.__name__}.{word}", value)

def found(name, value):
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, tuple):
        for at, each in enumerate(value):
            yield from found(f"{name}.{at}", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from found(f"{name}[{key}]", each)

def texts(pattern):
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    words = [*dict.fromkeys(re.findall(r"[A-Za-z]{3,}|[^A-Za-z\\\\^$*+?|]", source))][:4]
    for one, two in product([*words, " ", "\n", "a", "1"], repeat=2):
        for text in (one * LENGTH + two, one + two * LENGTH, (one + two) * (LENGTH // 2)):
            yield text[:LENGTH] if isinstance(pattern.pattern, str) else text[:LENGTH].encode("latin-1")

class TooSlow(Exception):
    pass

def stop(*_):
    raise TooSlow

signal.signal(signal.SIGVTALRM, stop)
seen = {}
for name in sys.argv[1:]:
    for where, pattern in patterns(name):
        if where not in BOUNDED:
            seen.setdefault(pattern, where)
assert len(seen) > 30, seen
for pattern, where in seen.items():
    for text in texts(pattern):
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            pattern.search(text), pattern.fullmatch(text)
        except TooSlow:
            print(where, repr(text[:40]), repr(text[-10:]))
            break
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
"""


@pytest.mark.long
def test_every_pattern_is_linear() -> None:
    command = [sys.executable, "-c", FUZZ, *PACKAGES, "host.rules.catalogue", "host.config.resolver"]

    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])

    assert done.stdout == ""


DOUBLY_REPEATED = 'answer = { pattern = "(?P<text>([ab]+)+c)", expected = "x", examples = ["abc"] }'


def test_an_answer_is_compared_with_a_pattern_of_a_game_in_linear_time(tmp_path: Path) -> None:
    text = GAME.replace('answer = ["PASS", "PLAY <card from hand>"]', DOUBLY_REPEATED)
    opening = '[opening]\nfield = "points"\nlimit = 1\nbelow = "ac"\notherwise = "bc"\n[rules]'
    (tmp_path / "game.toml").write_text(text.replace("[rules]", opening))
    grammar = load_referee_game(tmp_path).game.grammar

    assert read_move(grammar, b"a" * 400) == Fault(FaultKind.UNREADABLE)
    assert read_move(grammar, b"ABBA" * 200 + b"c") == Move("ANSWER", 0, "ABBA" * 200 + "c")


def test_an_example_is_compared_with_a_pattern_of_a_game_in_linear_time(tmp_path: Path) -> None:
    wrong = DOUBLY_REPEATED.replace('"abc"', f'"{"a" * 400}"')
    (tmp_path / "game.toml").write_text(GAME.replace('answer = ["PASS", "PLAY <card from hand>"]', wrong))
    with pytest.raises(UserError, match="one that does not match its pattern"):
        load_referee_game(tmp_path)


LINE = "class Bot { static void main(String[] a) { } }"
JAVA = {
    "empty lines": "\n" * (15 << 20),
    "spaces": " " * (15 << 20),
    "package without end": "package a." * (1 << 20),
    "static": "static " * (2 << 20),
    "class": "class\t" * (2 << 20),
}


@pytest.mark.parametrize("text", JAVA.values(), ids=JAVA)
def test_a_java_source_of_any_content_is_searched_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "Bot.java").write_text(f"{LINE}\n{text}")

    assert main_class(spec_of(tmp_path / "Bot.java")) == "Bot"


def test_what_a_compiler_quotes_is_searched_at_once(tmp_path: Path) -> None:
    (tmp_path / "Bot.java").write_text(LINE)
    (tmp_path / "bot.toml").write_text('adapter = "simplepazaak"\n')

    assert advice(spec_of(tmp_path, "pazaak"), "getResponse(" * 4000) == ""


@pytest.mark.parametrize(
    "text",
    [
        "a = [" * 13_000,
        "a." * 32_000,
        "[a]\n" * 16_000,
        'a = "' + "\\" * 65_000,
        "a = [{ b = 0x" + "f" * 60_000 + " }]",
    ],
)
def test_a_bot_toml_of_any_content_is_refused_at_once(text: str) -> None:
    with pytest.raises(UserError):
        parse(text.encode(), "bot.toml")


@pytest.mark.parametrize(
    "text",
    [
        "a." * 32_000 + "b = 1",
        "a = " + "[" * 30_000,
        "x = 1\n" * 20_000,
        '[package]\nname = "a\\u0000b"\n',
        "[package]\nname = [1]\n",
        "bin = 5\n[package]\nname = 'a'\n",
    ],
)
def test_a_cargo_toml_of_any_content_is_read_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text("fn main() {}\n")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "seven"\n')
    spec = spec_of(tmp_path)
    assert cargo_program(spec) == "seven"
    (tmp_path / "Cargo.toml").write_text(text)
    began = time.thread_time()

    assert cargo_program(spec) == spec.name

    assert time.thread_time() - began < 1


def test_a_source_that_becomes_a_pipe_or_a_link_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "Bot.java"
    source.write_text(LINE)
    spec = spec_of(source)
    for replace in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        source.unlink()
        replace(source)
        with pytest.raises(UserError, match="is not a regular file"):
            main_class(spec)


def test_thousands_of_missing_files_are_reported_in_part(tmp_path: Path) -> None:
    for number in range(900):
        (tmp_path / f"{'long' * 40}{number}.c").touch()
    names = ", ".join(f'"{"l" * 10}{number}.c"' for number in range(3000))
    (tmp_path / "bot.toml").write_text(f'language = "c"\nsources = [{names}]\n')

    with pytest.raises(UserError) as refused:
        load_submission(tmp_path)

    assert len(refused.value.problems) == 20
    assert closest_match("a" * 1_000_000, ["a" * 100, "b"]) == "a" * 100


LONG = "a" * 300


@pytest.mark.parametrize("path", [f"/{LONG}", f"/usr/bin/{LONG}", f"/root/{LONG}/{LONG}"])
def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "bot").write_text(f"#!{path}\n")
    (tmp_path / "bot").chmod(0o755)
    for folder in (tmp_path / "bot", tmp_path):
        with pytest.raises(UserError, match="interpreter"):
            load_submission(folder)
    (tmp_path / "bot.toml").write_text(f'run = ["{path}"]\n')

    with pytest.raises(UserError, match="no such file"):
        load_submission(tmp_path)


def test_a_bot_that_starts_a_path_that_no_file_can_have_can_be_built(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "bot.toml").write_text(f'language = "any"\nbuild = ["true"]\nrun = ["./{LONG}/{LONG}/{LONG}"]\n')

    assert trio.run(build, spec_of(tmp_path), level()).argv == (f"./{LONG}/{LONG}/{LONG}",)


def test_a_build_has_a_hundred_commands_at_most(tmp_path: Path) -> None:
    commands = ", ".join(['"true"'] * 5000)
    (tmp_path / "bot.toml").write_text(f'build = [{commands}]\nrun = ["./bot"]\n')

    with pytest.raises(UserError, match="build has 5000 commands; at most 100") as refused:
        load_submission(tmp_path)

    assert refused.value.problems[0].code == "C009"


@pytest.mark.long
def test_a_build_of_any_language_can_call_a_compiler_of_java(tmp_path: Path) -> None:
    written(LINE, ".java", tmp_path, "Bot")
    (tmp_path / "bot.toml").write_text(
        'language = "any"\nbuild = ["javac Bot.java"]\nrun = ["java", "-cp", ".", "Bot"]\n'
    )

    assert (Path(trio.run(build, spec_of(tmp_path), level()).folder) / "Bot.class").exists()


@pytest.mark.long
def test_a_build_of_many_files_is_not_walked_through_at_every_look(tmp_path: Path) -> None:
    for number in range(5000):
        (tmp_path / str(number)).touch()
    began = time.thread_time()
    assert not exceeds(tmp_path, BUILDING)
    once, began = time.thread_time() - began, time.thread_time()
    check = quota_check([tmp_path])

    assert not any(check() for _ in range(100))

    assert time.thread_time() - began < 20 * once
