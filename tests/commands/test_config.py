"""croupier.toml: what it means, and the messages when it is wrong."""

# ruff: noqa: E501 - the rows of a table of messages are read as lines

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest
from helpers import SAMPLES, offenders

from host.base.config_file import load_model
from host.base.errors import UserError, closest_match
from host.base.safe_text import one_line
from host.base.toml_file import MAX_CONFIG_BYTES, MAX_FILE_BYTES, KeyPath, Toml, parse, read, read_untrusted
from host.bots.bot_spec import BotSpec, RequestedLimits
from host.config.difference import difference, result_settings
from host.config.template import template, templates_of
from host.config.tournament_config import AllowedLimits, ConfigFile, load, not_enough_bots
from host.games import GAMES
from host.rules.foreign import completed
from host.rules.game_toml import GameFile
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.sandbox.limits import MIB, Limits
from host.stages import KINDS
from host.stages.groups import Groups
from host.stages.knockout import Knockout
from host.stages.league import League
from host.stages.mixed_tables import MixedTables
from host.stages.round_robin import RoundRobin

EVERY_SYNTAX = '''\
# a comment with [brackets] and a = sign
game = "cardshark" # 2
"odd key" = 1
a.b."c.d" = 2
text = """
[not a table]
x = 1 \\""" still
"""
after = \'\'\'
]]\'\'\'\'\'
list = [ # 12
  1, "two ]", # 13
  [3, 4],
  { five = 5, six.seven = [6] },
]
when = 1979-05-27 07:32:00
[ table ] # 18
key = 'a#b' # 19
[table.inner]
key=true
[[stage]]
name = "one" # 23
[stage.deep]
x = 0.5
[[stage]] # 26
name = """two"""
[[stage.leaf]]
y = 1
[[stage.leaf]]
y = 2
'''


def every_key(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of every key and every list item in a TOML file."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from every_key(each, (*path, key))


def test_every_key_has_a_line() -> None:
    lines = parse(EVERY_SYNTAX.encode(), "x").lines
    assert set(lines) == set(every_key(tomllib.loads(EVERY_SYNTAX)))


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("game",), 2),
        (("odd key",), 3),
        (("a", "b", "c.d"), 4),
        (("text",), 5),
        (("after",), 9),
        (("list", 1), 12),
        (("list", 2, 1), 13),
        (("list", 3, "six", "seven", 0), 14),
        (("when",), 16),
        (("table",), 17),
        (("table", "key"), 18),
        (("table", "inner", "key"), 20),
        (("stage", 0, "name"), 22),
        (("stage", 0, "deep", "x"), 24),
        (("stage", 1), 25),
        (("stage", 1, "name"), 26),
        (("stage", 1, "leaf", 1, "y"), 30),
    ],
)
def test_a_key_stands_in_its_line(key: KeyPath, line: int) -> None:
    assert parse(EVERY_SYNTAX.encode(), "x").where(*key) == f"x:{line}"


def test_windows_line_ends_count_as_one() -> None:
    assert parse(b"a = 1\r\n\r\nb = 2\r\n", "x").where("b") == "x:3"


def test_a_missing_key_is_placed_at_its_table() -> None:
    assert parse(b"\n[limits]\n", "x").where("limits", "move") == "x:2"


NO_TOML = [
    (b"game = cardshark\n", 'error[C005] f:1: is not TOML: Invalid value\n  game = cardshark\n  hint: write strings in quotes: game = "cardshark"'),
    (b'a = 1\nmove = 1 s # x\n', 'error[C005] f:2: is not TOML: Expected newline or end of document after a statement\n  move = 1 s # x\n  hint: write strings in quotes: move = "1 s"'),
    (b'a = "1\n', 'error[C005] f:1: is not TOML: Illegal character \'\\n\'\n  a = "1'),
    (b"a = 1\na = 2\n", "error[C005] f:2: is not TOML: Cannot overwrite a value\n  a = 2"),
    (b"a = [1,\n", "error[C005] f:1: is not TOML: Invalid value\n  a = [1,"),
    (b"a = 1\nb = '\xff'\n", "error[C005] f:2: is not UTF-8 text\n  hint: save the file as UTF-8"),
    (b"\xef\xbb\xbfa = 1\n", "error[C005] f:1: starts with a byte order mark\n  hint: sed -i '1s/^.//' f"),
    (b"a = " + b"9" * 5000, None),
    (b"a = " + b"[" * 20_000, "error[C005] f: is nested too deeply"),
    (b"a." * 30_000 + b"a = 1", "error[C005] f: is nested too deeply"),
    (b"a = {" + b"'a' . " * 10_000 + b"a = 1}", "error[C005] f: is nested too deeply"),
    (b"a = b" + b" " * 60_000 + b"'", None),
    (b"a.\x1b[2J = 1", None),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), NO_TOML)
def test_what_is_no_toml_is_refused_with_its_line(content: bytes, message: str | None) -> None:
    with pytest.raises(UserError) as refused:
        parse(content, "f")
    assert refused.value.exit_code == 3
    assert "\x1b" not in str(refused.value)
    if message is not None:
        assert str(refused.value) == message


def test_a_file_is_read_up_to_a_bound(tmp_path: Path) -> None:
    (tmp_path / "big.toml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert read(tmp_path / "big.toml").data == {}
    with pytest.raises(UserError, match="is larger than 64 KiB"):
        read_untrusted(tmp_path / "big.toml")
    (tmp_path / "big.toml").write_bytes(b"#" * (MAX_CONFIG_BYTES + 1))
    with pytest.raises(UserError, match="is larger than 1024 KiB"):
        read(tmp_path / "big.toml")


def test_a_config_may_be_a_link_but_no_device(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text('game = "pazaak"')
    (tmp_path / "link.toml").symlink_to("real.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    assert read(tmp_path / "link.toml").data == {"game": "pazaak"}
    with pytest.raises(UserError, match="is not a regular file"):
        read(tmp_path / "zero.toml")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one, so that messages contain only file names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaints(text: str) -> list[str]:
    """Return all messages about a croupier.toml."""
    Path("croupier.toml").write_text(text)
    with pytest.raises(UserError) as refused:
        load(Path())
    assert refused.value.exit_code == 3
    return [str(problem) for problem in refused.value.problems]


CARDS, PAIRS, CHIPS = 'game = "cardshark"\n', 'game = "pazaak"\n', 'game = "holdem"\n'
CUP = PAIRS + '[[stage]]\nkind = "knockout"\n'
HEARTS = 'game = "hearts"\n[[stage]]\nkind = "gauntlet"\n'
COURSE = PAIRS + '[[stage]]\nkind = "gauntlet"\nreferences = ["sample:neptr"]\n'

WRONG = [
    # top
    ("", "error[C007] croupier.toml: the file has no game\n  hint: game = …"),
    ('game = "blackjack"', 'error[C008] croupier.toml:1: game = "blackjack" is not a game\n  hint: one of cardshark, pazaak, holdem, hearts, briscola'),
    ('game = "Pazak"', 'error[C008] croupier.toml:1: game = "Pazak" is not a game\n  hint: pazaak'),
    (CARDS + "seed = 2026", 'error[C006] croupier.toml:2: seed = 2026 is not a string\n  hint: "random", or "2026" for practice'),
    (CARDS + 'seed = ""', 'error[C009] croupier.toml:2: seed = "" is empty'),
    (CARDS + 'name = "a\\u001b[2J"', 'error[C009] croupier.toml:2: name = "a\\u001b[2J" has a character that cannot be printed'),
    (CARDS + 'bots = "bots/*"', 'error[C006] croupier.toml:2: bots = "bots/*" is not a list\n  hint: bots = ["bots/*"]'),
    (CARDS + "bots = [\n  'bots/*',\n  3,\n]", 'error[C006] croupier.toml:4: bots: 3 is not a string\n  hint: "3"'),
    (CARDS + 'bots = ["bots/nestr"]', 'error[C012] croupier.toml:2: "bots/nestr" is not a bot\n  hint: bots/nestor'),
    (CARDS + 'bots = ["x", "bots/*"]', 'error[C012] croupier.toml:2: "x" is not a bot\n  hint: nothing in . has that name'),
    (CARDS + 'bots = [\n"sample:lim71"]', 'error[C012] croupier.toml:3: there is no sample bot of cardshark called "lim71"\n  hint: sample:lim17'),
    (CARDS + "limits = 3", "error[C006] croupier.toml:2: limits = 3 is not a table\n  hint: write [limits] on a line of its own, and its keys below it"),
    (CARDS + 'memory = "1 MiB"', 'error[C001] croupier.toml:2: unknown key "memory"\n  hint: memory belongs in [limits]'),
    (CARDS + "bost = []", 'error[C001] croupier.toml:2: unknown key "bost"\n  hint: bots'),
    # limits
    (CARDS + '[limits]\nmemroy = "1 MiB"', 'error[C001] croupier.toml:3: unknown key "memroy" in [limits]\n  hint: memory'),
    (CARDS + '[limits]\nbots = []', 'error[C001] croupier.toml:3: unknown key "bots" in [limits]\n  hint: bots belongs at the top of the file, above the first [table]'),
    (CARDS + '[limits]\nmove = "1"', 'error[C002] croupier.toml:3: move = "1" has no unit\n  hint: "1 s" or "1000 ms"'),
    (CARDS + '[limits]\nmove = 0.5', 'error[C002] croupier.toml:3: move = 0.5 has no unit\n  hint: "0.5 s" or "500 ms"'),
    (CARDS + '[limits]\nmove = "0 s"', 'error[C009] croupier.toml:3: move = "0 s" is out of range\n  hint: more than 0, for example "1 s"'),
    (CARDS + '[limits]\nmove = "-1 s"', 'error[C002] croupier.toml:3: move = "-1 s" has no unit that croupier knows\n  hint: a number and one of ms, s, min, h: "1 s"'),
    (CARDS + '[limits]\nmove = "1 sec"', 'error[C002] croupier.toml:3: move = "1 sec" has no unit that croupier knows\n  hint: "1 s"'),
    (CARDS + '[limits]\nmemory = "64 MB"', 'error[C002] croupier.toml:3: memory = "64 MB" has no unit that croupier knows\n  hint: "64 MiB"'),
    (CARDS + '[limits]\nmemory = true', 'error[C006] croupier.toml:3: memory = true is not a number with a unit\n  hint: "1 MiB"'),
    (CARDS + '[limits]\nmemory = 64', 'error[C002] croupier.toml:3: memory = 64 has no unit\n  hint: "64 MiB" or "65536 KiB"'),
    (CARDS + '[limits]\nmemory = "' + "9" * 50 + ' GiB"', None),
    (CARDS + "[limits]\ntasks = 0", "error[C009] croupier.toml:3: tasks = 0 is out of range\n  hint: 1 to 4096"),
    (CARDS + '[limits]\ntasks = "64"', 'error[C006] croupier.toml:3: tasks = "64" is not a whole number\n  hint: 64'),
    (CARDS + "[limits]\ntasks = 6.5", "error[C006] croupier.toml:3: tasks = 6.5 is not a whole number"),
    (CARDS + "[limits]\ntasks = true", "error[C006] croupier.toml:3: tasks = true is not a whole number"),
    # sandbox, run, report
    (CARDS + '[sandbox]\nlevel = "L5"', 'error[C008] croupier.toml:3: level = "L5" is not a level of isolation\n  hint: one of L4, L3, L2, none'),
    (CARDS + '[run]\nworkers = "all"', 'error[C008] croupier.toml:3: workers = "all" is not a number of workers\n  hint: "auto", or a number'),
    (CARDS + "[run]\nworkers = 0", "error[C009] croupier.toml:3: workers = 0 is out of range\n  hint: 1 to 1024"),
    (CARDS + '[run]\nstop_early = "yes"', 'error[C006] croupier.toml:3: stop_early = "yes" is neither true nor false'),
    (CARDS + "[report]\nhtml = 1", 'error[C006] croupier.toml:3: html = 1 is not a string\n  hint: "1"'),
    # rules
    (CARDS + '[rules]\npreset = "thred"', 'error[C008] croupier.toml:3: preset = "thred" is not a preset of cardshark\n  hint: thread'),
    (CARDS + "[rules]\npreset = 1", "error[C008] croupier.toml:3: preset = 1 is not a preset of cardshark\n  hint: one of thread, engine2011"),
    (CARDS + "[rules]\nchip = 100", 'error[C001] croupier.toml:3: unknown key "chip" in [rules]\n  hint: chips'),
    (CARDS + "[rules]\nstacks = [1]", None),
    (CARDS + "[rules]\nbots = []", None),
    (CARDS + '[rules]\nchips = "200"', 'error[C006] croupier.toml:3: chips = "200" is not a whole number\n  hint: 200'),
    (CARDS + "[rules]\nseats = 5", "error[C009] croupier.toml:3: seats = 5 is out of range\n  hint: 1 to 4"),
    (CHIPS + '[rules]\nranking = "standart"', 'error[C008] croupier.toml:3: ranking = "standart" is not a ranking\n  hint: standard'),
    (PAIRS + "[rules]\nstands_at_goal = 1", "error[C006] croupier.toml:3: stands_at_goal = 1 is neither true nor false"),
    # stages
    (CARDS + '[[stage]]\nkind = "mixed_tabels"', 'error[C008] croupier.toml:3: kind = "mixed_tabels" is not a kind of stage\n  hint: mixed-tables'),
    (CARDS + 'stage = ["x"]', 'error[C006] croupier.toml:2: stage: "x" is not a table\n  hint: write [[stage]] on a line of its own, and its keys below it'),
    (CARDS + '[[stage]]\nname = "x"', "error[C007] croupier.toml:2: [[stage]] has no kind\n  hint: one of mixed-tables, round-robin, knockout, groups, league, gauntlet, swiss, pairs, solo"),
    (CARDS + '[stage]\nkind = "mixed-tables"', 'error[C006] croupier.toml:2: stage = { kind = "mixed-tables" } is not a list\n  hint: [[stage]]'),
    (CARDS + '[[stage]]\nkind = "knockout"', 'error[C013] croupier.toml:3: kind = "knockout" needs a game for two bots with one winner, and cardshark is not one\n  hint: for cardshark: mixed-tables, league, gauntlet, pairs, solo'),
    (PAIRS + '[[stage]]\nkind = "mixed-tables"', 'error[C013] croupier.toml:3: kind = "mixed-tables" needs a game in which chips are carried from table to table, and pazaak is not one\n  hint: for pazaak: round-robin, knockout, league, gauntlet, swiss, pairs'),
    (CARDS + '[[stage]]\nkind = "mixed-tables"\ntorneys = 3', 'error[C001] croupier.toml:4: unknown key "torneys" in [[stage]]\n  hint: tourneys'),
    (CARDS + '[[stage]]\nkind = "mixed-tables"\ntourneys = 0', "error[C009] croupier.toml:4: tourneys = 0 is out of range\n  hint: 1 to 10000000"),
    (CARDS + '[[stage]]\nkind = "mixed-tables"\nname = "../x"', 'error[C009] croupier.toml:4: name = "../x" is not a name of a stage\n  hint: up to 40 letters, digits, _ and -'),
    (CARDS + '[[stage]]\nkind = "mixed-tables"\n[[stage]]\nkind = "mixed-tables"', 'error[C009] croupier.toml:4: two stages are called "tables"\n  hint: name = "tables-2"'),
    (PAIRS + '[[stage]]\nkind = "round-robin"\nrank_by = ["sets"]', 'error[C013] croupier.toml:4: rank_by = "sets" needs rounds in which every bot plays one set, and kind = "round-robin" has none\n  hint: one of win_rate, total_score, score, wins, elo, runoff'),
    (PAIRS + '[[stage]]\nkind = "round-robin"\nrank_by = ["luck"]', 'error[C008] croupier.toml:4: rank_by: "luck" is not a way to rank\n  hint: one of win_rate, total_score, score, advances, wins, sets, buchholz, elo, runoff'),
    *(
        (PAIRS + f'[[stage]]\nkind = "round-robin"\nrank_by = ["{old}"]', f'error[C008] croupier.toml:4: rank_by: "{old}" is not a way to rank\n  hint: {new}')
        for old, new in {"games": "win_rate", "hands": "total_score", "chips": "score", "points": "score"}.items()
    ),
    (PAIRS + '[[stage]]\nkind = "round-robin"\nrank_by = []', "error[C009] croupier.toml:4: rank_by = [] names no ranking\n  hint: leave it out"),
    (CUP + "best_of = 6", "error[C013] croupier.toml:4: best_of = 6 is even, so both bots could win 3 sets\n  hint: best_of = 7"),
    (CUP + "best_of = 3\nfirst_to = 3", "error[C013] croupier.toml:4: best_of = 3 is won with 2 sets, and first_to = 3\n  hint: leave out one of the two"),
    (CUP + 'elimination = "tripel"', 'error[C008] croupier.toml:4: elimination = "tripel" is not a kind of elimination\n  hint: one of single, double'),
    (CUP + 'seeding = "league"', 'error[C008] croupier.toml:4: seeding = "league" is neither a stage before this one nor a file\n  hint: one of "drawn", or a text file of names'),
    (CUP + 'name = "cup"\n[[stage]]\nkind = "league"\n[[stage]]\nkind = "knockout"\nseeding = "cpu"', 'error[C008] croupier.toml:9: seeding = "cpu" is neither a stage before this one nor a file\n  hint: one of "cup", "league", "drawn", or a text file of names'),
    (CUP + 'seeding = "bots"', 'error[C008] croupier.toml:4: seeding = "bots" is neither a stage before this one nor a file\n  hint: one of "drawn", or a text file of names'),
    (CUP + 'seeds = ["nestr"]', 'error[C012] croupier.toml:4: seeds names "nestr", and no bot has this name\n  hint: nestor'),
    (CUP + 'seeds = ["nestor", "nestor"]', 'error[C013] croupier.toml:4: seeds names "nestor" twice\n  hint: leave out one of the two'),
    (CUP + 'seeding = "drawn"\nseeds = ["nestor"]', 'error[C013] croupier.toml:5: seeding = "drawn" and seeds both order the bots\n  hint: leave out one of the two'),
    (PAIRS + '[[stage]]\nkind = "gauntlet"', 'error[C007] croupier.toml:2: no reference is named\n  hint: references = ["sample:NAME"]'),
    (PAIRS + '[[stage]]\nkind = "gauntlet"\nreferences = [\n"sample:neptr",\n"sample:nept"]', 'error[C012] croupier.toml:6: unknown reference: "sample:nept" is not a bot\n  hint: sample:neptr'),
    (PAIRS + '[[stage]]\nkind = "gauntlet"\nreferences = ["staff/*"]', 'error[C012] croupier.toml:4: unknown reference: "staff/*" matches no bot\n  hint: the name of an entered bot, a file, a folder, or sample:NAME'),
    (HEARTS + 'references = ["sample:duck"]', 'error[C013] croupier.toml:4: a table of hearts has 4 seats: it needs 3 references, and 1 are named\n  hint: name at least 3 references'),
    (HEARTS + 'seats = 5\nreferences = ["sample:duck"]', 'error[C013] croupier.toml:4: hearts has no grades at tables of 5\n  hint: seats = 4'),
    (HEARTS + 'references = ["sample:duck", "sample:dodger", "sample:cowardly"]\n[stage.grades]\nduck = { points = 4, sure = "95 %", at_least = "60 %" }', 'error[C013] croupier.toml:6: the scores of hearts can be below zero, so a bot has no share of them\n  hint: score = …, the mean score of a table'),
    (CARDS + '[[stage]]\nkind = "gauntlet"\nreferences = ["sample:davey"]\n[stage.grades]\ndavey = { points = 4, sure = "95 %", at_least = "60 %", score = 9 }', 'error[C013] croupier.toml:6: the grade for "davey" has both at_least and score\n  hint: leave out one of the two'),
    (CARDS + '[[stage]]\nkind = "gauntlet"\nseats = 1\nreferences = ["sample:davey"]', 'error[C013] croupier.toml:4: cardshark has no grades at tables of 1\n  hint: seats = 4'),
    (COURSE + '[stage.grades]\nneptr = { points = 4, sure = "95 %", score = 2 }', 'error[C013] croupier.toml:6: pazaak has a winner at each table, and its grades are for the share of tables won\n  hint: at_least = "60 %"'),
    (COURSE + '[stage.grades]\nneptr = { points = 4, sure = "95 %", score = "2" }', 'error[C006] croupier.toml:6: score = "2" is not a number\n  hint: score = 210'),
    (COURSE + '[stage.grades]\nneptr = { points = 4 }', 'error[C007] croupier.toml:6: the grade for "neptr" has no certainty: equal bots often beat each other by luck\n  hint: sure = "95 %"'),
    (COURSE + '[stage.grades]\nneptr = { sure = "95 %" }', 'error[C007] croupier.toml:6: [stage.grades.neptr] has no points\n  hint: points = …'),
    (COURSE + '[stage.grades]\nneptr = { points = 4, sure = 95 }', 'error[C006] croupier.toml:6: sure = 95 is not a percentage\n  hint: "95 %"'),
    (COURSE + '[stage.grades]\nneptr = { points = 4, sure = "100 %" }', 'error[C009] croupier.toml:6: sure = "100 %" is not a percentage below 100 %\n  hint: "95 %"'),
    (COURSE + '[stage.grades]\nneptr = { points = 4, sure = "50 %" }', 'error[C009] croupier.toml:6: sure = "50 %" is not a certainty: two equal bots reach 50 %\n  hint: "95 %"'),
    (COURSE + '[stage.grades]\nnestor = { points = 4, sure = "95 %" }', 'error[C013] croupier.toml:6: a grade names "nestor", which is not a reference of this stage\n  hint: neptr'),
    (COURSE + 'tables = 4\n[stage.grades]\nneptr = { points = 4, sure = "99.9 %" }', 'error[C013] croupier.toml:7: 4 tables cannot show that a bot beats "neptr" with 99.9 %\n  hint: more tables, or a lower sure'),
    (CHIPS + '[[stage]]\nkind = "groups"\nadvance = 3\nuntil = 2', "error[C013] croupier.toml:5: until = 2 cannot be reached: 3 of each group advance\n  hint: advance = 2"),
]  # fmt: skip


MODEL = CARDS + '[models.small]\naddress = "{}"\n'
NO_MODELS = [
    ("http://h:99999", 'has a host or a port that cannot exist\n  hint: "https://host:443/v1"'),
    ("https://h:0/v1", "has the port 0\n  hint: 1 to 65535"),
    ("http://[:::::]:80", 'has a host or a port that cannot exist\n  hint: "https://host:443/v1"'),
    ("http://a..b", 'has a host or a port that cannot exist\n  hint: "https://host:443/v1"'),
    (f"http://{'a' * 64}", 'has a host or a port that cannot exist\n  hint: "https://host:443/v1"'),
    (f"unix:/{'a' * 107}", "is a path of more than 107 bytes\n  hint: a link to it with a shorter path"),
    ("ftp://h", 'is not an address of a model\n  hint: "https://host/v1", or "unix:/run/model.sock"'),
]
MODELS = ["http://h:65535", "http://[::1]:80", "https://a.b./v1", "http://127.0.0.1", f"unix:/{'a' * 106}"]


@pytest.mark.parametrize(("address", "message"), NO_MODELS)
def test_an_address_at_which_no_model_can_be_is_refused(here: Path, address: str, message: str) -> None:
    (said,) = complaints(MODEL.format(address))
    assert said.startswith(f'error[C009] croupier.toml:3: address = "{address[:40]}') and said.endswith(f" {message}")


def test_every_other_address_of_a_model_is_taken(here: Path) -> None:
    for address in MODELS:
        Path("croupier.toml").write_text(MODEL.format(address))
        (model,) = load(here).limits.models
        assert model.address == address


def test_a_wrong_config_is_refused(here: Path) -> None:
    (here / "bots" / "nestor").mkdir(parents=True)
    assert not offenders(check_refusal, WRONG)


def check_refusal(text: str, message: str | None) -> None:
    """Check that a croupier.toml is refused with one message; None is any."""
    said = complaints(text)
    assert len(said) == 1
    assert message in (None, said[0])


def test_everything_wrong_is_said_at_once_in_the_order_of_the_lines(here: Path) -> None:
    text = (
        CARDS
        + '[rules]\nchip = 1\n[limits]\nmove = "1"\nmemroy = 2\n[[stage]]\nkind = "mixed_tabels"\n[run]\nworkers = -1\n'
    )
    said = [line.split(": ")[0] for line in complaints(text)]
    assert said == [
        "error[C001] croupier.toml:3",
        "error[C002] croupier.toml:5",
        "error[C001] croupier.toml:6",
        "error[C008] croupier.toml:8",
        "error[C009] croupier.toml:10",
    ]


def test_two_slips_in_one_line_are_both_told(here: Path) -> None:
    assert len(complaints(CARDS + "limits = { movv = 1, memroy = 2 }")) == 2


def test_a_folder_without_a_tournament_is_told_how_to_make_one(here: Path) -> None:
    with pytest.raises(UserError) as refused:
        load(here)
    assert "no such file" in str(refused.value)
    assert "croupier new DIR --game GAME" in str(refused.value)


def test_the_shortest_config_means_the_games_own_tournament(here: Path) -> None:
    stages = {}
    for game in GAMES:
        Path("croupier.toml").write_text(f'game = "{game}"')
        stages[game] = load(here).stages
    assert stages == {
        "cardshark": (MixedTables(name="tables", tourneys=25, rounds=5),),
        "pazaak": (RoundRobin(name="league", tables_per_pair=100_000),),
        "holdem": (Groups(name="groups", advance=2, until=5), Groups(name="final", advance=1, until=1)),
        "hearts": (League(name="league", min_bots=4),),
        "briscola": (RoundRobin(name="league", tables_per_pair=100_000),),
    }


def test_a_config_means_what_it_says(here: Path) -> None:
    Path("croupier.toml").write_text(
        PAIRS
        + 'name = "Cup"\nseed = "abc"\nbots = ["bots/*", "sample:*"]\n[rules]\npreset = "controller2015"\nside_cards = 4\n'
        + '[[stage]]\nkind = "round-robin"\nname = "league"\ntables_per_pair = 20\nmirror = true\n'
        + '[[stage]]\nkind = "knockout"\nset = 10\nmin_bots = 2\n'
        + '[limits]\nmove = "250 ms"\nmemory = "64 MiB"\nstate = 0\n[sandbox]\nlevel = "L4"\n'
        + '[run]\nworkers = 3\nparallel_tables = 16\nstop_early = true\n[report]\nhtml = "out.html"\n'
    )
    cup = load(here)
    assert cup.rules == GAMES["pazaak"].presets["controller2015"]._replace(side_cards=4)
    assert cup.stages == (
        RoundRobin(name="league", tables_per_pair=20, mirror=True),
        Knockout(name="knockout", set=10, min_bots=2),
    )
    assert cup.limits == Limits(move=0.25, memory=64 * MIB, state=0)
    assert (cup.name, cup.level, cup.run.workers, cup.run.parallel_tables, cup.run.stop_early) == (
        "Cup",
        Level.L4,
        3,
        16,
        True,
    )
    assert (cup.seed, cup.html, cup.preset, cup.path) == ("abc", "out.html", "controller2015", here / "croupier.toml")


ODD: list[Any] = [0, -1, 7, 2**40, 1.5, True, "", "x", "1 s", "league", [], ["x"], [1], {}, {"x": 1}]


def altered(data: Any, whole: Any) -> Iterator[Any]:
    """Yield `whole` again and again; each time one value of `data`, a part of it, is another one, is missing, or is new."""
    for key in [*data] if isinstance(data, dict) else range(len(data)):
        value = data[key]
        for data[key] in ODD:
            yield whole
        data[key] = value
        if isinstance(value, dict | list):
            yield from altered(value, whole)
    if isinstance(data, dict):
        for key in [*data]:
            value = data.pop(key)
            yield whole
            data[key] = value
        data["unheard"] = 1
        yield whole
        del data["unheard"]


@pytest.mark.long
def test_every_altered_file_is_read_or_refused_with_all_its_problems() -> None:
    written = (
        parse(template(GAMES[game], True, ["one"], kind).encode(), "f")
        for game in GAMES
        for kind in templates_of(GAMES[game])
    )
    bots, games = (map(read, sorted(SAMPLES.rglob(name))) for name in ("bot.toml", "game.toml"))
    files: dict[type, list[Toml]] = {ConfigFile: [*written], BotSpec: [*bots], GameFile: [*map(completed, games)]}
    valid = refused = 0
    for model, some in files.items():
        for toml in some[::4]:
            for data in altered(toml.data, toml.data):
                try:
                    valid += isinstance(load_model(toml._replace(data=data), model), model)
                except UserError as wrong:
                    refused += 1
                    assert wrong.problems and wrong.exit_code == 3
    assert valid > 500 and refused > 2000


def test_all_problems_of_a_file_are_reported_with_their_lines() -> None:
    text = 'game = "pazaak"\nbots = 5\nstage = [3, {}, { kind = "swis" }, { kind = "swiss", round = 3 }]\n[limits]\nmove = 1\nmemry = "1 MiB"\n'
    with pytest.raises(UserError) as refused:
        load_model(parse(text.encode(), "f.toml"), ConfigFile)
    assert [f"{problem.where} {problem.message}: {problem.hint}" for problem in refused.value.problems] == [
        "f.toml:2 bots = 5 is not a list: ",
        "f.toml:3 stage: 3 is not a table: write [[stage]] on a line of its own, and its keys below it",
        "f.toml:3 [[stage]] has no kind: one of mixed-tables, round-robin, knockout, groups, league, gauntlet, swiss, pairs, solo",
        'f.toml:3 kind = "swis" is not a kind of stage: swiss',
        'f.toml:3 unknown key "round" in [[stage]]: rounds',
        'f.toml:5 move = 1 has no unit: "1 s" or "1000 ms"',
        'f.toml:6 unknown key "memry" in [limits]: memory',
    ]


def test_an_organisers_kind_may_have_keys_of_plain_types(here: Path) -> None:
    @dataclass(frozen=True)
    class Ladder:
        rounds: int
        mode: Literal["up", "down"] = "up"
        open: bool = False
        note: str = ""

    toml = parse(b"rounds = 3\nmode = 'down'\nopen = true\n", "f")
    assert load_model(toml, Ladder) == Ladder(3, "down", True)
    with pytest.raises(UserError) as refused:
        load_model(parse(b"mode = 'uup'\nopen = 1\nnote = 2\n", "f"), Ladder)
    assert [str(problem).partition("\n")[0] for problem in refused.value.problems] == [
        "error[C007] f: the file has no rounds",
        'error[C008] f:1: mode = "uup" is not a mode',
        "error[C006] f:2: open = 1 is neither true nor false",
        "error[C006] f:3: note = 2 is not a string",
    ]


def test_the_clock_of_earlier_versions_is_refused_with_a_cure(here: Path) -> None:
    Path("croupier.toml").write_text(PAIRS + 'bots = ["bots/*"]\n[limits]\nclock = "fair"\n')

    with pytest.raises(UserError) as refused:
        load(here)

    (problem,) = refused.value.problems
    assert (problem.code, problem.message) == ("C001", 'unknown key "clock" in [limits]')
    assert problem.hint.startswith("leave it out: time counts without waits for a processor")


def test_a_limits_table_knows_every_limit() -> None:
    assert {each.name for each in fields(AllowedLimits)} == {*Limits._fields, "max_faults"} - {"models"}
    assert {each.name for each in fields(AllowedLimits)} - {each.name for each in fields(RequestedLimits)} == {
        "cores",
        "retries",
        "submission",
        "max_faults",
    }


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ('seed = "random"', False),
        ('seed = "2026"', True),
        ('seed = "2026"\n[[stage]]\nkind = "mixed-tables"\npractice = true', False),
        (
            'seed = "2026"\n[[stage]]\nkind = "mixed-tables"\npractice = true\n[[stage]]\nkind = "mixed-tables"\nname = "b"',
            True,
        ),
    ],
)
def test_a_seed_that_anybody_can_read_is_warned_of(here: Path, text: str, warned: bool) -> None:
    Path("croupier.toml").write_text(CARDS + text)
    said = [str(problem) for problem in load(here).warnings]
    expected = (
        'error[C010] croupier.toml:2: seed = "2026": anybody can compute the deals\n'
        '  hint: seed = "random", or practice = true in every stage'
    )
    assert said == [expected] * warned


def test_min_bots_is_a_cure_for_too_few_bots_only_if_they_fill_a_table() -> None:
    stage = Knockout(name="cup")
    listed = "  hint: croupier ls lists the bots that play"
    needs = 'error[C004] stage "cup" needs 8 bots, '
    assert str(not_enough_bots(stage, [*"abcdef"], 2)) == f"{needs}6 are ready\n{listed}; min_bots = 6"
    assert str(not_enough_bots(stage, ["a"], 1)) == f"{needs}1 is ready\n{listed}"
    assert str(not_enough_bots(stage, [*"abc"], 4)) == f"{needs}3 are ready\n{listed}"
    assert not_enough_bots(stage, [*"abcdefgh"], 2) is None


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("count", [0, 2, 8])
def test_what_new_writes_is_a_tournament(here: Path, game: str, count: int) -> None:
    names = [f"bot{number}" for number in range(count)]
    Path("croupier.toml").write_text(template(GAMES[game], count > 0, names).replace('"sample:', '"bots/[s]ample:'))
    cup = load(here)
    assert (cup.game.name, cup.limits, cup.level) == (game, Limits(), DEFAULT_LEVEL)
    assert len(cup.bots) == 1 + count


def test_the_sample_tournaments_are_short(here: Path) -> None:
    told = {}
    for game in GAMES:
        Path("croupier.toml").write_text(template(GAMES[game], True, ["x"] * 8).replace("sample:", "bots/*"))
        told[game] = load(here).stages
    assert told["cardshark"] == (MixedTables(name="tables", tourneys=100),)
    assert told["pazaak"] == (RoundRobin(name="league", tables_per_pair=2_000), Knockout(name="cup", set=2_000))
    assert told["holdem"] == (Groups(name="groups", until=5), Groups(name="final", advance=1, until=1))


@pytest.mark.parametrize("game", GAMES)
def test_every_line_of_a_template_fits_a_screen(game: str) -> None:
    assert max(map(len, template(GAMES[game], True, ["x"] * 8).splitlines())) <= 110


def test_every_kind_of_stage_suits_a_game() -> None:
    rules = {name: game.default_rules for name, game in GAMES.items()}
    assert all(any(kind.plays.is_met(game, rules[name]) for name, game in GAMES.items()) for kind in KINDS.values())


BEFORE = PAIRS + 'bots = []\n[[stage]]\nkind = "round-robin"\ntables_per_pair = 10\n[limits]\nmove = "1 s"\n'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('move = "1 s"', 'move = "2 s"', "[limits] move: 1 s → 2 s"),
        ('move = "1 s"', 'move = "1000 ms"', ""),
        ('move = "1 s"', 'move = "250 ms"\nmemory = "1 GiB"', "[limits] move: 1 s → 250 ms; [limits] memory: 512 MiB → 1 GiB"),
        ("= 10", "= 20", '[[stage]] "round-robin" tables_per_pair: 10 → 20'),
        ("[limits]", '[rules]\npreset = "controller2015"\n[limits]', None),
        ("[limits]", "[rules]\nside_cards = 3\n[limits]", "[rules] side_cards: 4 → 3"),
        ("bots = []", 'bots = ["bots/*"]\nname = "other"', ""),
        ("bots = []", 'seed = "x"', "seed: random → x"),
        ("[limits]", "[run]\nstop_early = true\nworkers = 2\n[limits]", "[run] stop_early: false → true"),
        ("[limits]", '[[stage]]\nkind = "knockout"\n[limits]', None),
    ],
)  # fmt: skip
def test_a_changed_config_names_the_key(here: Path, old: str, new: str, told: str | None) -> None:
    Path("croupier.toml").write_text(BEFORE)
    recorded = json.loads(json.dumps(result_settings(load(here))))
    Path("croupier.toml").write_text(BEFORE.replace(old, new))
    changed = difference(recorded, result_settings(load(here)))
    assert changed == told if told is not None else changed


def test_stages_in_another_order_are_a_change() -> None:
    one, two = {"name": "a", "set": 1}, {"name": "b", "set": 1}
    assert difference({"stage": [one, two]}, {"stage": [two, one]}) == "the order of the stages"


@pytest.mark.parametrize(
    ("text", "safe"),
    [("a\x1b[2J\n\u202e\udcff", "a\\x1b[2J\\n\\u202e\\udcff"), ("é – ✓ 1\u202f063", "é – ✓ 1\u202f063")],
)
def test_what_a_stranger_wrote_is_shown_in_one_harmless_line(text: str, safe: str) -> None:
    assert one_line(text) == safe


@pytest.mark.parametrize(("word", "meant"), [("memroy", "memory"), ("NESTOR", "nestor"), ("xyz", "")])
def test_the_nearest_word_is_offered(word: str, meant: str) -> None:
    assert closest_match(word, ["memory", "nestor"]) == meant
