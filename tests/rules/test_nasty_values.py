"""Every text and list of croupier.toml, game.toml and bot.toml, filled with nasty values: an error of the file, or none."""

import gzip
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import ROOT, croupier_process, environment
from helpers import breadth
from test_referee_game import GAME

from host.base.errors import UserError
from host.base.toml_file import whole_toml
from host.config.tournament_config import load
from host.games import GAMES
from host.games.engine import Request
from host.inspect.roster import Entrant, match, read_roster
from host.journal.check import reject_corrupt
from host.journal.descriptions import stored_value
from host.journal.kept_lines import kept_lines, kept_lines_file
from host.journal.tournament_dir import Folder
from host.play.sources.source import Step
from host.play.transcript import encode_step, plain_steps
from host.rules.game_toml import load_referee_game
from host.sandbox.limits import Limits
from host.season.commands.invite import names_in
from host.season.folder import SeasonFolder
from host.submissions.discovery import load_entry
from host.submissions.languages import LANGUAGES
from host.submissions.scaffold import starter_files

NASTY = [
    *(
        '"',
        "'",
        "\\",
        "a'b",
        'java "x',
        "a\x1b[2J",
        "\0",
        "a\nb",
        "",
        " ",
        "é",
        "\u202e",
        "{}",
        "{0}",
        "%s",
        "${x}",
        "-rf",
    ),
    *(
        "..",
        "../..",
        "/",
        "~",
        "[",
        "**",
        "a/",
        "x" * 300,
        "x" * 990,
        "x/" * 400,
        "x" * 5000,
        "9" * 5000,
        "1e999",
        "-1 s",
    ),
    *(":", "a:b", "os:path", "os:path.", 'brutaltester:java "x', "brutaltester:" + "x" * 300, "brutaltester: ''"),
    *(
        "codingame:a'b.jar",
        "codingame:{}.jar",
        "botzone:./a b",
        "openspiel:a(b",
        "openspiel:universal_poker(numPlayers=100000)",
        "sample:",
        "sample:../x",
        "sample:*",
    ),
]

CUP = """\
game = "pazaak"
name = "Cup"
seed = "abc"
bots = ["bots/*"]
rules = { preset = "controller2015" }
stage = [
    { kind = "round-robin", name = "league", rank_by = ["win_rate"], fixture_tables = "auto" },
    { kind = "gauntlet", references = ["sample:neptr"], grades = { neptr = { points = 4, sure = "95 %", at_least = "60 %" } } },
    { kind = "knockout", seeding = "league", elimination = "single" },
    { kind = "pairs", meetings = ["200 a / b"] },
    { kind = "pairs", name = "listed", list = "meetings.txt" },
]
limits = { move = "1 s", bank = "60 s / table", memory = "1 MiB", submission = "1 MiB" }
sandbox = { level = "L3" }
run = { workers = "auto", placement = "core", cluster = "tcp://host:1" }
report = { html = "report.html" }
"""
SEASON = """\
game = "pazaak"
[season]
submissions = "invited"
grace = "1 s"
references = ["sample:neptr"]
keep = "5 GiB"
address = "https://a.b"
proxy = ["127.0.0.1"]
login_header = "X-User"
per_author = { size = "1 MiB" }
"""
OPENING = 'title = "Scopa"\nadapter = "botzone"\nopening = { field = "points", limit = 1, below = "PASS", otherwise = "PASS" }\n'
PATTERN = """{ pattern = "(?P<verb>PASS)", expected = "PASS", examples = ["PASS"] }"""
BOT = """\
name = "b"
author = "a"
game = "pazaak"
language = "Python"
protocol = "lines"
sources = ["bot.py"]
entry = "bot.py"
main = "A"
run = ["./x"]
build = ["cc"]
compiler = "x"
adapter = "x"
heap = "1 MiB"
python = ">=3.11"
requires = ["numpy"]
env = { A = "b" }
needs = ["make"]
limits = { move = "1 s", bank = "1 s / table" }
"""


def read_bot(folder: Path) -> None:
    """Read the bot of a folder. Raise UserError if it has problems."""
    entry = load_entry(folder, GAMES["pazaak"], Limits())
    if entry.problems:
        raise UserError([*entry.problems], 3)


def filled(value: Any) -> Iterator[Any]:
    """Yield a value again and again; each time one text or list in it is a nasty one."""
    if isinstance(value, str | list):
        yield from NASTY
        yield [[]]
        yield {'"': {}}
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        for other in filled(each):
            if isinstance(value, dict):
                yield {**value, key: other}
            else:
                yield [*value[:key], other, *value[key + 1 :]]


@pytest.mark.parametrize("step", breadth([19, 1], 2))
@pytest.mark.parametrize(
    ("text", "file", "read"),
    [
        pytest.param(CUP, "croupier.toml", load, id="croupier.toml"),
        pytest.param(SEASON, "croupier.toml", load, id="season"),
        pytest.param(OPENING + GAME, "game.toml", load_referee_game, id="game.toml"),
        pytest.param(
            GAME.replace('["PASS", "PLAY <card from hand>"]', PATTERN), "game.toml", load_referee_game, id="pattern"
        ),
        pytest.param(BOT, "bot.toml", read_bot, id="bot.toml"),
    ],
)
def test_a_nasty_value_is_at_most_an_error_of_its_file(
    text: str, file: str, read: Callable[[Path], Any], step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CROUPIER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bot.py").write_text("")
    for data in islice(filled(tomllib.loads(text)), 0, None, step):
        (tmp_path / file).write_text("\n".join(f"{key} = {whole_toml(value)}" for key, value in data.items()))
        try:
            read(tmp_path)
        except UserError as refused:
            assert refused.exit_code == 3
            assert all(problem.where for problem in refused.problems), (data, refused)


ONE_SEAT = """\
from host.games import GAMES

GAME = GAMES["pazaak"]._replace(name="one", seats=(1, 1))
"""


def test_a_game_for_one_bot_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "oneseat.py").write_text(ONE_SEAT)
    (tmp_path / "croupier.toml").write_text('game = "oneseat:GAME"\n')
    with pytest.raises(UserError, match=r"C013. \S*croupier.toml:1: no usual stage can play one"):
        load(tmp_path)


STRANGE = (
    ('"hand", "points"]', '"hand", "points"]\ntitle = "*/ x \\" \\\\ ?> -}"'),
    ("[rules]", '[opening]\nfield = "points"\nlimit = 1\nbelow = \'LOW" if f() else "\'\notherwise = "PASS"\n[rules]'),
)


def test_a_title_cannot_end_a_comment_of_a_starter_bot(tmp_path: Path) -> None:
    (tmp_path / "game.toml").write_text(GAME.replace(*STRANGE[0]))
    game = load_referee_game(tmp_path).game
    for language, row in LANGUAGES.items():
        source = starter_files("mine", game, language, "argv")[row.starter.file]
        assert "mine plays * / x ' / ? > - }" in source, language


def test_an_opening_that_is_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "game.toml").write_text(GAME.replace(*STRANGE[1]))
    with pytest.raises(UserError, match="is not a plain answer"):
        load_referee_game(tmp_path)


# Tables and lists of text, which organisers write and platforms export.

TEXTS = [
    *(each.encode() for each in NASTY),
    *(
        b"",
        b"\xff\xfe",
        b"\xff\xfea",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\x81",
        b"\0" * 50,
        b"\r",
        b"\n\r\n",
        b"\x0b\x0c\x85",
    ),
    *(
        b'"',
        b'"' * 5001,
        b"," * 200_000,
        b"\t;," * 1000,
        b"a," * 70_000,
        b"x" * 200_000,
        b"name\n" + b'"' + b"x" * 200_000,
    ),
    *(
        b"sep=" + each + b"\nname\nada\n"
        for each in (b'"', b"\r", b"\0", b" ", b"n", "é".encode(), "\u2028".encode(), b"\n")
    ),
]
HEADS = (b"", b"name\n", b"first name,last name\n", b"bot;file\n", b"\xff\xfen\0a\0m\0e\0\n\0", b"ada\n")
ENTRANTS = [Entrant("ada", "Ada Lovelace", "inbox/ada.zip"), Entrant("bob", "", "inbox/bob.py")]


def read_students(path: Path) -> None:
    """Read a roster, and find the bots of its students."""
    match(read_roster(path), ENTRANTS)


def read_pairs(path: Path) -> None:
    """Load a tournament whose pairs are in the file."""
    (path.parent / "croupier.toml").write_text('game = "pazaak"\n[[stage]]\nkind = "pairs"\nlist = "table"\n')
    load(path.parent)


@pytest.mark.parametrize("read", breadth([read_students, names_in, read_pairs], 3))
def test_a_nasty_table_is_at_most_an_error_of_its_file(
    read: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for head in HEADS:
        for text in TEXTS:
            (tmp_path / "table").write_bytes(head + text)
            began = time.thread_time()
            try:
                read(tmp_path / "table")
            except UserError as refused:
                assert refused.exit_code in (2, 3), (head, text)
                assert all(problem.where for problem in refused.problems), (head, text, refused)
            assert time.thread_time() - began < 10, (head, text)


DEEP = {
    "bot.toml": "a = " + "[" * 990 + "]" * 990,
    "game.toml": "a." * 900 + "b = 1",
    "croupier.toml": "a = " + "[" * 990,
}


@pytest.mark.parametrize("file", breadth(DEEP, 3))
def test_a_bare_croupier_and_the_shell_read_a_folder_of_any_content(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(DEEP[file])
    done = croupier_process("-C", tmp_path)
    assert done.code in (0, 3) and "H001" not in done.err
    completing = environment(
        _CROUPIER_COMPLETE="bash_complete", COMP_WORDS=f"croupier -C {tmp_path} check s", COMP_CWORD="4"
    )
    done = croupier_process(env=completing)
    assert "Traceback" not in done.err and "sample:" in done.out
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "commitment.json").write_text("[" * 990)
    with pytest.raises(UserError, match="is not a commitment"):
        Folder(tmp_path).committed()
    (tmp_path / "commitment.json").write_text("[" * 990)
    with pytest.raises(UserError, match="is not a commitment"):
        SeasonFolder(tmp_path).committed()


@pytest.mark.parametrize("damage", [b"[" * 5000, b"NaN", b'{"1": 1, "1": 2}', b""])
def test_damaged_lines_of_removed_answers_are_none(damage: bytes, tmp_path: Path) -> None:
    packed = gzip.compress(damage)
    for content in (packed, packed[:-9], packed[:10] + b"\xff" * 9, damage):
        kept_lines_file(tmp_path / "run.sqlite").write_bytes(content)
        assert kept_lines(tmp_path / "run.sqlite") == {}


def test_a_text_of_a_journal_is_refused_however_deep_its_reader_is_called() -> None:
    for depth in (50, 400, 800):
        with pytest.raises(ValueError, match="is nested too deeply"):
            called_at(depth, lambda: stored_value('{"a":' * 65 + "1" + "}" * 65, Any))


def test_a_packed_value_of_a_journal_that_is_nested_deep_is_damaged() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(UserError, match="is damaged"), reject_corrupt("run.sqlite"):
        msgspec.msgpack.decode(deep)
    step = encode_step(Step(requests=(Request(0, msgspec.Raw(deep)),)))
    with pytest.raises(ValueError, match="is nested too deeply"):
        plain_steps(b"\x91" + step)


def called_at(depth: int, call: Callable[[], Any]) -> Any:
    """Call a function at a depth of the stack."""
    return called_at(depth - 1, call) if depth else call()


@pytest.mark.long
@pytest.mark.parametrize(("answers", "files"), [(200, 10), pytest.param(200_000, 50_000, marks=pytest.mark.proof)])
def test_fuzzed_answers_and_files_are_read_or_refused(answers: int, files: int) -> None:
    command = [sys.executable, "benchmarks/fuzz.py", "--answers", str(answers), "--files", str(files)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SWALLOWS = """
import contextlib, signal, sys
sys.path.insert(0, "benchmarks")
import fuzz
def check():
    with contextlib.suppress(OSError, Exception):
        while True:
            pass
fuzz.SLOW_S, fuzz.cases = 0.2, lambda *_: [(7, check)]
signal.signal(signal.SIGPROF, fuzz.too_slow)
sys.exit(fuzz.failures("toml", 1, 1))
"""


def test_code_that_catches_every_error_cannot_hide_that_it_computes_too_long() -> None:
    command = [sys.executable, "-c", SWALLOWS]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    assert "number 7: TooSlow: it computes for more than 0.2 s" in done.stdout
