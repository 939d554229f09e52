"""Error codes: the messages of files and folders word by word, and the explanations of all."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import offenders

import host
from host.base.errors import Problem, UserError, explanations, lookup
from host.cli import MAX_COLUMNS, fit_width
from host.config.tournament_config import load, not_enough_bots
from host.games import GAMES
from host.stages.knockout import Knockout
from host.submissions.discovery import load_submission, load_submissions
from host.submissions.languages import python_2_cure


def refused(play: Callable[[], object]) -> list[Problem]:
    """Return the problems reported; check the exit code: 4 for a bot, 3 for a configuration, 2 for a name."""
    with pytest.raises(UserError) as refusal:
        play()
    first = refusal.value.problems[0].code
    assert refusal.value.exit_code == (2 if first == "C012" else 4 if first.startswith("B") else 3)
    return refusal.value.problems


def bot(content: str, name: str = "bot", mode: int = 0o755) -> list[Problem]:
    """Return the problems of a single file."""
    Path(name).write_text(content)
    Path(name).chmod(mode)
    return refused(lambda: load_submission(Path(name)))


def manifest(text: str) -> list[Problem]:
    """Return the problems of a folder with one Python file and this bot.toml."""
    Path("mine").mkdir()
    Path("mine/x.py").touch()
    Path("mine/bot.toml").write_text(text)
    return refused(lambda: load_submissions(["mine"], Path(), GAMES["cardshark"]))


def config(text: str) -> list[Problem]:
    """Return the problems of a croupier.toml."""
    Path("croupier.toml").write_text(text)
    return refused(lambda: load(Path()))


def warned() -> list[Problem]:
    """Return the warnings about a seed in croupier.toml."""
    Path("croupier.toml").write_text('game = "cardshark"\nseed = "2026"')
    return list(load(Path()).warnings)


def link() -> list[Problem]:
    """Return the problems of a bot that is a link."""
    Path("x.py").symlink_to("/etc/passwd")
    return refused(lambda: load_submission(Path("x.py")))


def twins() -> list[Problem]:
    """Return the problems of two bots with the same name."""
    Path("x.py").touch()
    Path("x.lisp").touch()
    return refused(lambda: load_submissions(["x.*"], Path()))


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
    "C004": lambda: [problem for problem in [not_enough_bots(Knockout(), [], 2)] if problem],
    "C005": lambda: config("game = cardshark"),
    "C006": lambda: config('game = "cardshark"\nbots = 3'),
    "C007": lambda: config(""),
    "C008": lambda: config('game = "chess"'),
    "C009": lambda: config('game = "cardshark"\n[run]\nworkers = 0'),
    "C010": warned,
    "C011": lambda: refused(lambda: load(Path())),
    "C012": lambda: refused(lambda: load_submission(Path("none"))),
    "C013": lambda: config('game = "cardshark"\n[[stage]]\nkind = "knockout"'),
    "C014": lambda: manifest('[limits]\nmove = "1 h"'),
    "C015": lambda: manifest('game = "pazaak"'),
}

TOLD: dict[str, str] = {
    "B001": """\
error[B001] mine/bot.toml:1: run = ["./none"]: no such file
  mine has: bot.toml, x.py
  hint: run names a file of this folder, ./NAME, or a program of the system""",
    "B002": """\
error[B002] bot: is not executable (mode 0644)
  hint: chmod +x bot""",
    "B003": '''\
error[B003] bot: the kernel cannot run this file (Exec format error): no '#!' line, not a binary
  first bytes: 'import sys\\n'
  hint: put  #!/usr/bin/env python3  in line 1, or set language = "python"''',
    "B004": """\
error[B004] bot: exists, but its interpreter /opt/none/python does not
  line 1: #!/opt/none/python
  hint: #!/usr/bin/env python3""",
    "B005": """\
error[B005] bot: line 1 ends with CR LF: the system looks for "/bin/sh\\r"
  hint: sed -i 's/\\r$//' bot""",
    "B006": """\
error[B006] x.py:1: is Python 2:  print "H"
  SyntaxError: Missing parentheses in call to 'print'
  hint: change to print("H"); {CURE}""",
    "B007": """\
error[B007] bot:1: /usr/bin/env: 'nopython': No such file or directory  (exit 127)
  line 1: #!/usr/bin/env nopython
  hint: it is not on /usr/local/bin:/usr/bin:/bin; change line 1, or add it to `needs` and have it installed""",
    "B008": """\
error[B008] mine/bot.toml:2: entry: no file "y.py"
  mine has: bot.toml, x.py
  hint: did you mean "x.py"?""",
    "B014": """\
error[B014] mine: has no source file of c
  mine has: bot.toml, x.py
  hint: sources = ["…"] in bot.toml""",
    "B015": """\
error[B015] x.py:1: SyntaxError: invalid syntax
  def f(:
  hint: python3 -m py_compile x.py""",
    "B016": """\
error[B016] x.py: is a link
  hint: a bot contains only regular files: no links, no devices, no unusual names""",
    "C001": """\
error[C001] croupier.toml:3: unknown key "memroy" in [limits]
  hint: memory""",
    "C002": '''\
error[C002] croupier.toml:3: move = "1" has no unit
  hint: "1 s" or "1000 ms"''',
    "C003": """\
error[C003] two bots are called "x": x.lisp, x.py
  hint: name = … in bot.toml""",
    "C004": """\
error[C004] stage "" needs 8 bots, 0 are ready
  hint: croupier ls lists the bots that play""",
    "C005": '''\
error[C005] croupier.toml:1: is not TOML: Invalid value
  game = cardshark
  hint: write strings in quotes: game = "cardshark"''',
    "C006": """\
error[C006] croupier.toml:2: bots = 3 is not a list""",
    "C007": """\
error[C007] croupier.toml: the file has no game
  hint: game = …""",
    "C008": """\
error[C008] croupier.toml:1: game = "chess" is not a game
  hint: one of cardshark, pazaak, holdem, hearts, briscola""",
    "C009": """\
error[C009] croupier.toml:3: workers = 0 is out of range
  hint: 1 to 1024""",
    "C010": """\
error[C010] croupier.toml:2: seed = "2026": anybody can compute the deals
  hint: seed = "random", or practice = true in every stage""",
    "C011": """\
error[C011] croupier.toml: no such file: there is no tournament here
  hint: croupier new DIR --game GAME makes a tournament, -C DIR names one""",
    "C012": """\
error[C012] none: there is no bot here: No such file or directory
  hint: a bot is named by a file, a folder, or sample:NAME""",
    "C013": """\
error[C013] croupier.toml:3: kind = "knockout" needs a game for two bots with one winner, and cardshark is not one
  hint: for cardshark: mixed-tables, league, gauntlet, pairs, solo""",
    "C014": """\
error[C014] mine/bot.toml:2: move = "1 h" is more than the 1 s granted
  hint: move = "1 s" or less; only the organiser can raise it, for all bots""",
    "C015": """\
error[C015] mine/bot.toml: mine plays pazaak, and this is cardshark
  hint: game = "cardshark", or remove it from `bots`""",
}
"""The full message for each code."""

PYTHONS = ("B006", "B015", "C005")
"""Codes whose messages include one of Python's, which depends on its version."""


@pytest.mark.parametrize("code", PROVOKED)
def test_a_code_is_provoked(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = PROVOKED[code]()
    assert problem.code == code
    if code in PYTHONS:
        told = TOLD[code].replace("{CURE}", python_2_cure("x.py"))
        words, expected = str(problem).split(": ")[0], told.split(": ")[0]
        assert (words, problem.hint in told) == (expected, True)
    else:
        assert str(problem) == TOLD[code]
    assert max(map(len, fit_width(str(problem)).splitlines())) <= MAX_COLUMNS


def test_every_explanation_is_a_few_sentences() -> None:
    assert not offenders(check_explanation, [(code,) for code in explanations()])


def check_explanation(code: str) -> None:
    """Check the form of an explanation."""
    title, text = lookup(code)
    assert not title.endswith(".")
    assert len(re.findall(r"\. |\.$|; |: ", text)) >= 2
    assert 100 <= len(text) <= 480
    assert text.endswith((".", ")."))


def test_every_heading_of_the_page_is_read() -> None:
    page = (Path(host.__file__).parents[1] / "docs" / "errors.md").read_text()
    assert re.findall(r"^### (\S+)", page, re.MULTILINE) == list(explanations())


def test_codes_stand_in_order() -> None:
    assert list(explanations()) == sorted(explanations())
