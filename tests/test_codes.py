"""Every error code is explained, and every one can be provoked."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import host
from host.bots.spec import find, find_all
from host.codes import CODES
from host.problems import Problem, Refused
from host.tournament.cup import Knockout, load, too_few

PROVOKED_ELSEWHERE = frozenset(
    # by a bot that is built or running: the rogues, the languages, check
    [f"B{number:03}" for number in (9, 10, 11, 12, 13, 17, 18, 19, *range(20, 27), 28, *range(30, 40))]
    # by the command line
    + ["C016", "C017", "C018", "C020", "H001", "U001"]
    # by a journal, and by what a machine lacks
    + [f"R{number:03}" for number in range(1, 15)]
    + [f"S{number:03}" for number in range(1, 14)]
)


def refused(play: Callable[[], object]) -> list[Problem]:
    """Return what is refused."""
    with pytest.raises(Refused) as refusal:
        play()
    return refusal.value.problems


def bot(content: str, name: str = "bot", mode: int = 0o755) -> list[Problem]:
    """Return what is wrong with a lone file."""
    Path(name).write_text(content)
    Path(name).chmod(mode)
    return refused(lambda: find(Path(name)))


def manifest(text: str) -> list[Problem]:
    """Return what is wrong with a folder of one Python file and this bot.toml."""
    Path("mine").mkdir()
    Path("mine/x.py").touch()
    Path("mine/bot.toml").write_text(text)
    return refused(lambda: find_all(["mine"], Path(), "cardshark"))


def config(text: str) -> list[Problem]:
    """Return what is wrong with a croupier.toml."""
    Path("croupier.toml").write_text(text)
    return refused(lambda: load(Path()))


def warned() -> list[Problem]:
    """Return what is said of a seed in the open."""
    Path("croupier.toml").write_text('game = "cardshark"\nseed = "2026"')
    return list(load(Path()).warnings)


def link() -> list[Problem]:
    """Return what is wrong with a bot that is a link."""
    Path("x.py").symlink_to("/etc/passwd")
    return refused(lambda: find(Path("x.py")))


def twins() -> list[Problem]:
    """Return what is wrong with two bots of one name."""
    Path("x.py").touch()
    Path("x.lisp").touch()
    return refused(lambda: find_all(["x.*"], Path()))


PROVOKED: dict[str, Callable[[], list[Problem]]] = {
    "B001": lambda: manifest('run = ["./none"]'),
    "B002": lambda: bot("#!/bin/sh\n", mode=0o644),
    "B003": lambda: bot("import sys\n"),
    "B004": lambda: bot("#!/opt/none/python\n"),
    "B005": lambda: bot("#!/bin/sh\r\n"),
    "B006": lambda: bot('print "H"\n', "x.py"),
    "B007": lambda: bot("#!/usr/bin/env nopython\n"),
    "B008": lambda: manifest('language = "python"\nentry = "y.py"'),
    "B014": lambda: manifest('language = "c"'),
    "B015": lambda: bot("def f(:\n", "x.py"),
    "B016": link,
    "C001": lambda: config('game = "cardshark"\n[limits]\nmemroy = 1'),
    "C002": lambda: config('game = "cardshark"\n[limits]\nmove = "1"'),
    "C003": twins,
    "C004": lambda: [problem for problem in [too_few(Knockout(), [], {})] if problem],
    "C005": lambda: config("game = cardshark"),
    "C006": lambda: config('game = "cardshark"\nbots = 3'),
    "C007": lambda: config(""),
    "C008": lambda: config('game = "chess"'),
    "C009": lambda: config('game = "cardshark"\n[run]\nworkers = 0'),
    "C010": warned,
    "C011": lambda: refused(lambda: load(Path())),
    "C012": lambda: refused(lambda: find(Path("none"))),
    "C013": lambda: config('game = "cardshark"\n[[stage]]\nkind = "cup"'),
    "C014": lambda: manifest('[limits]\nmove = "1 h"'),
    "C015": lambda: manifest('game = "pazaak"'),
}


def test_every_code_is_provoked_somewhere() -> None:
    assert set(PROVOKED) | PROVOKED_ELSEWHERE == set(CODES)
    assert not set(PROVOKED) & PROVOKED_ELSEWHERE


@pytest.mark.parametrize("code", PROVOKED)
def test_a_code_is_provoked(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [problem.code for problem in PROVOKED[code]()] == [code]


def test_every_code_that_croupier_says_is_explained() -> None:
    sources = Path(host.__file__).parent.rglob("*.py")
    said = {code for source in sources for code in re.findall(r'"([BCRS]\d{3})"', source.read_text())}
    assert said <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_a_few_sentences(code: str) -> None:
    title, text = CODES[code]
    assert not title.endswith(".")
    assert len(re.findall(r"\. |\.$|; |: ", text)) >= 2
    assert 100 <= len(text) <= 480
    assert text.endswith((".", ")."))


def test_codes_stand_in_order() -> None:
    assert list(CODES) == sorted(CODES)
