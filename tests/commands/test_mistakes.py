"""Mistakes of the first hour: each is answered with its code, the thing, the rule and the cure, in two lines."""

# ruff: noqa: E501 - the rows of a table of messages are read as lines

import io
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import click
import pytest
from command import Done, croupier, cup_in
from helpers import SAMPLES
from test_bot_spec import lay

from host.cli import group

NOTHING = "error[U001] there is no"
TABLES_HERE = "tables here are called, for example, tables/1/1, or last"
WHOLE_MESSAGES: list[tuple[str, int, str, str]] = [
    ("rnu", 2, f"{NOTHING} command 'rnu'; did you mean run ?", ""),
    ("run --stop-after 5", 2, 'error[U001] --stop-after: "5" needs a number and a unit (ms, s, min, h)', ""),
    ("new {cup} -g pazaak", 2, "error[C016] {cup}/croupier.toml: already exists", "choose another folder"),
    ("games whist", 2, f"{NOTHING} game 'whist'  (games: cardshark, pazaak, holdem, hearts, briscola)", ""),
    ("run -C {empty}", 3, "error[C011] {empty}/croupier.toml: no such file: there is no tournament here", "croupier new DIR --game GAME makes a tournament, -C DIR names one"),
    ("compare davey cautious --elo 5 -C {cup}", 2, "error[U001] Invalid value for '--elo': '5' is not two numbers, for example 0,10", ""),
    ("ask davey last --worst -C {cup}", 2, "error[U001] --worst chooses the question, and last names one: leave out one of the two", ""),
    ("play sample:dayvey davey -C {cup}", 2, 'error[C012] there is no sample bot of cardshark called "dayvey"', "sample:davey"),
    ("replay tables/1/99 -C {cup}", 2, f"{NOTHING} table 'tables/1/99'; {TABLES_HERE}", ""),
    ("play {davey} {davey} -C {empty}", 2, "error[U001] which game? The bots do not declare one: name it with -g GAME", ""),
]  # fmt: skip
"""What the user types, the exit code, the first line, and the hint; "" is the help of the command.

{cup} is a tournament that is over, {empty} an empty folder, {davey} a source file.
"""

COMMANDS: list[tuple[str, int, str, str]] = [
    ("run --frsh", 2, "U001", "--frsh"),
    ("run --workers 0", 2, "U001", "--workers"),
    ("play", 2, "U001", "BOT..."),
    ("new x", 2, "U001", "--game"),
    ("new x -g cardshrk", 2, "U001", "cardshrk"),
    ("new /proc/none -g pazaak", 2, "R013", "/proc/none"),
    ("explain B0100", 2, "U001", "B0100"),
    ("-C nowhere run", 2, "U001", "-C nowhere"),
    ("run -C nowhere", 2, "U001", "-C nowhere"),
    ("add x -C {empty}", 3, "C011", "{empty}/croupier.toml"),
    ("run -C {cup}/croupier.tmol", 2, "U001", "-C {cup}/croupier.tmol"),
    ("status -C {empty}", 3, "R006", "{empty}/run/run.sqlite"),
    ("standings -C {empty}", 3, "R006", "{empty}"),
    ("ask davey last -C {empty}", 3, "R006", "{empty}"),
    ("ask davey --worst --journal {cup}/none -C {cup}", 3, "C011", "{cup}/none"),
    ("export bundle -C {empty}", 3, "R006", "{empty}"),
    ("compare davey", 2, "U001", "OLD"),
    ("compare davey davye -C {cup}", 2, "U001", "davye"),
    ("compare davey cautious --elo 10,0 -C {cup}", 2, "U001", "--elo"),
    ("compare davey cautious --games 0 -C {cup}", 2, "U001", "--games"),
    ("compare davey cautious --preset thraed -C {cup}", 2, "U001", "thraed"),
    ("compare sample:davey sample:neptr -C {empty} -g pazaak", 2, "C012", "davey"),
    ("ask", 2, "U001", "which bot"),
    ("ask davey -C {cup}", 2, "U001", "which bot"),
    ("ask davey last --as dvey -C {cup}", 2, "U001", "dvey"),
    ("ask davye last -C {cup}", 2, "U001", "davye"),
    ("ask davey last --diff davye -C {cup}", 2, "U001", "davye"),
    ("ask davey fault:999 -C {cup}", 2, "U001", "fault:999"),
    ("ask davey tables/1/99 -C {cup}", 2, "U001", "tables/1/99"),
    ("ask davey tables/1/1:999 -C {cup}", 2, "U001", "tables/1/1"),
    ("ask sample:kelly tables/1/1 -C {cup}", 2, "U001", "kelly"),
    ("ask sample:kelly --worst -C {cup}", 2, "U001", "kelly"),
    ("ask davey {cup}/none.bundle -C {cup}", 2, "R013", "{cup}/none.bundle"),
    ("ask davey {cup}/croupier.toml -C {cup}", 3, "R014", "{cup}/croupier.toml"),
    ("export bundle fault:999 -C {cup}", 2, "U001", "fault:999"),
    ("replay last -C {empty}", 3, "R006", "{empty}"),
    ("play davey cautious -g cardshark -C {empty}", 2, "U001", "davey"),
    ("play davye cautious -C {cup}", 2, "U001", "davye"),
    ("check davye -C {cup}", 2, "U001", "davye"),
    ("faults davye -C {cup}", 2, "U001", "davye"),
    ("faults --kind crsh -C {cup}", 2, "U001", "crsh"),
    ("standings tabels -C {cup}", 2, "U001", "tabels"),
    ("run --stage tabels -C {cup}", 2, "C017", "tabels"),
    ("replay none -C {cup}", 2, "U001", "none"),
    ("play davey cautious --preset thraed -C {cup}", 2, "U001", "thraed"),
    ("check {davey} -C {empty}", 2, "U001", "which game"),
    ("play sample:davey sample:neptr -C {empty} -g cardshark", 2, "C012", "neptr"),
    ("play sample:davey sample:neptr -C {empty}", 2, "U001", "which game"),
    ("play sample:neptr -C {empty}", 2, "U001", "pazaak"),
    ("play davey davey davey davey davey -C {cup}", 2, "U001", "cardshark"),
]  # fmt: skip
"""What the user types, the exit code, the error code, and what the first line names."""

GOOD = (SAMPLES / "cardshark" / "davey.c").read_text()
HEAD = 'game = "cardshark"\n'
WHOLE_FILE_MESSAGES: dict[str, tuple[dict[str, str | bytes], str, int, str, str]] = {
    "another folder's file": ({}, "add mine.c", 4, "error[B016] mine.c: no such file", "check the path; a sample bot of croupier is called sample:NAME"),
    "a script of Windows": ({"mine+": "#!/bin/sh\r\necho S\r\n"}, "add mine", 4, 'error[B005] mine: line 1 ends with CR LF: the system looks for "/bin/sh\\r"', "sed -i 's/\\r$//' mine"),
    "no unit": ({"t/croupier.toml": HEAD + "[limits]\nmove = 2\n"}, "config check", 3, "error[C002] t/croupier.toml:3: move = 2 has no unit", '"2 s" or "2000 ms"'),
    "a misspelt key": ({"t/croupier.toml": HEAD + 'bost = ["bots/*"]\n'}, "run", 3, 'error[C001] t/croupier.toml:2: unknown key "bost"', "bots"),
    "a program that is not installed": ({"mine/bot.toml": 'needs = ["nosuch"]\n', "mine/x.py": "print(1)\n"}, "add mine", 6, "error[S005] mine: needs nosuch, not found on ", "install it for the whole system, or remove it from `needs` in its bot.toml"),
}  # fmt: skip
"""What the user has beside the tournament `t`, the command, its exit code, the start of the first line, and the hint."""

FILES: dict[str, tuple[dict[str, str | bytes], str, int, str, str]] = {
    "an unknown archive": ({"mine.rar": "Rar!"}, "add mine.rar", 4, "B016", "mine.rar"),
    "a name that is taken": ({"t/bots/davey.c": GOOD, "davey.c": GOOD}, "add davey.c", 3, "C016", "t/bots/davey.c"),
    "a sample's name": ({"t/croupier.toml": HEAD + 'bots = ["bots/*", "sample:davey"]', "davey.c": GOOD}, "add davey.c", 3, "C003", "davey.c"),
    "a path for a name": ({"mine.c": GOOD}, "add mine.c --as my/bot", 4, "B016", "mine.c"),
    "an empty folder": ({"mine/.git/x": ""}, "add mine", 4, "B014", "mine"),
    "a program that is not executable": ({"mine": "#!/bin/sh\necho S\n"}, "add mine", 4, "B002", "mine"),
    "a syntax error": ({"mine.py": "def f(:\n"}, "add mine.py", 4, "B015", "mine.py:1"),
    "what does not compile": ({"mine.c": "int main(void) { return nothing; }\n"}, "add mine.c", 4, "B010", "mine"),
    "a bot for another game": ({"mine/bot.toml": 'game = "pazaak"\n', "mine/x.py": "print(1)\n"}, "add mine", 3, "C015", "mine/bot.toml"),
    "no quotes": ({"t/croupier.toml": "game = cardshark\n"}, "config check", 3, "C005", "t/croupier.toml:1"),
    "a kind of stage for other games": ({"t/croupier.toml": HEAD + '[[stage]]\nkind = "knockout"\n'}, "run --dry-run", 3, "C013", "t/croupier.toml:3"),
    "no bots": ({}, "run", 3, "C004", "t/croupier.toml"),
    "nothing to check": ({}, "check --all", 3, "C004", "t/croupier.toml"),
    "one bot": ({"t/croupier.toml": 'game = "pazaak"\nbots = ["sample:neptr"]\n'}, "config check", 3, "C004", "t/croupier.toml"),
    "a journal that does not exist": ({}, "verify --journal run/play.sqlite", 3, "C011", "run/play.sqlite"),
    "a Python that is not installed": ({"mine/bot.toml": 'python = "3.1"\n', "mine/x.py": "print(1)\n"}, "add mine", 6, "S005", "mine"),
    "a class for another game": ({"Kid.java": "package Players;\nimport Mechanics.*;\n"}, "add Kid.java", 3, "C015", "Kid"),
    "a damaged zip": ({"mine.zip": "PK"}, "add mine.zip", 4, "B016", "mine.zip"),
    "a file for a folder": ({"mine.c": GOOD}, "ls -C mine.c", 2, "U001", "-C mine.c"),
    "too early": ({}, "report", 3, "R006", "t/run/run.sqlite"),
    "a folder that is not empty": ({"mine/x": ""}, "init mine -g cardshark --lang c", 2, "C016", "mine"),
    "an address of another machine": ({}, "serve --bind 192.0.2.1:80", 2, "U001", "192.0.2.1:80"),
}  # fmt: skip
"""What the user has beside the tournament `t`, the command, its exit code, the error code, and what the first line names."""


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished small tournament, which tests must not change."""
    cup = cup_in(tmp_path_factory.mktemp("cup") / "cup", ["davey.c", "cautious.c"], tourneys=1, rounds=1)
    assert croupier("run", "-C", cup).code == 0
    return cup


def named_in(cup: Path, empty: Path) -> dict[str, str]:
    """Return the paths that stand in the tables above."""
    return {"cup": str(cup), "empty": str(empty), "davey": str(SAMPLES / "cardshark" / "davey.c")}


def test_the_whole_message_about_a_wrong_command(cup: Path, tmp_path: Path) -> None:
    named, wrong = named_in(cup, tmp_path), []
    for words, code, first, hint in WHOLE_MESSAGES:
        done = croupier(*(word.format_map(named) for word in words.split()))
        command = next((word for word in words.split() if word.isalpha() and word != "rnu"), "")
        cure = hint.format_map(named) or " ".join(["croupier", *([command] if command else []), "--help"])
        if (done.code, done.out, done.err) != (code, "", f"{first.format_map(named)}\n  hint: {cure}\n"):
            wrong.append((words, done))
    assert not wrong


def test_a_wrong_command_is_answered_with_its_code_its_place_and_a_hint(cup: Path, tmp_path: Path) -> None:
    named, wrong = named_in(cup, tmp_path), []
    for words, code, error, place in COMMANDS:
        done = croupier(*(word.format_map(named) for word in words.split()))
        lines = done.err.splitlines()
        told = (done.code, done.out, len(lines), done.first.startswith(f"error[{error}] "))
        width = max(map(len, done.err.replace(str(tmp_path), "").replace(str(cup), "").splitlines()))
        good = place.format_map(named) in done.first and len(lines[-1]) > len("  hint: ") and width <= 130
        if told != (code, "", 2, True) or not good or not lines[-1].startswith("  hint: "):
            wrong.append((words, done))
    assert not wrong


def commands_below(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words and the definition of each command below a group, and of each group below it."""
    if path:
        yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands_below(below, (*path, name))


def test_a_command_without_its_words_says_what_is_missing_or_shows_its_help() -> None:
    for path, command in commands_below(group):
        words = " ".join(path)
        if isinstance(command, click.Group):
            done = croupier(*path)
            assert done.code == 0 and done.out.startswith(f"Usage: croupier {words} "), words
            refused = croupier(*path, "opne")
            assert refused.code == 2 and refused.first.startswith(f"{NOTHING} command 'opne'"), words
        elif any(parameter.required for parameter in command.params):
            done = croupier(*path)
            assert done.code == 2 and done.first.endswith(" is missing"), words
            assert f"croupier {words} --help" in done.err, words


SAID = ["davey", "sample:davey", "bots/davey.c", "tables", "tables/1/1", "davey:1", "last", "1", "0", "-1", "9" * 20, "nan", "",
        "x", "é\u202e", "a" * 300, "..", "/", "croupier.toml", "run/run.sqlite", "1 s", "50 %", "*", "[", "--", "-", "csv",
        "html", "openspiel:chess", "botzone:x", "127.0.0.1:0", "http://127.0.0.1:9/a/" + "x" * 30]  # fmt: skip
"""What somebody may type, where it makes sense and where it does not."""

ENDLESS = {("run",), ("watch",), ("serve",), ("season", "open"), ("season", "site")}


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(8))
def test_no_command_fails_whatever_is_typed(
    seed: int, cup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    luck = Random(seed)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    commands = [(path, command) for path, command in commands_below(group) if path not in ENDLESS]
    for number in range(40):
        path, command = luck.choice(commands)
        words = [*path]
        for parameter in command.params:
            if not isinstance(parameter, click.Option):
                words += luck.choices(SAID, k=luck.randint(int(parameter.required), 1 if parameter.nargs == 1 else 3))
            elif luck.random() < 0.3 and parameter.name != "help":
                choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else SAID
                words += [luck.choice(parameter.opts), *([] if parameter.is_flag else [luck.choice([*choices])])]
        place = shutil.copytree(cup, tmp_path / str(number))
        done = croupier("-C", place, *words, cwd=place)
        assert done.code != 70, (words, done)


@pytest.mark.parametrize("mistake", WHOLE_FILE_MESSAGES)
def test_the_whole_message_about_a_wrong_file(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files, words, code, first, hint = WHOLE_FILE_MESSAGES[mistake]
    done = with_files(files, words)
    assert done.code == code and done.first.startswith(first), done
    assert done.err.splitlines()[-1].startswith(f"  hint: {hint}")


@pytest.mark.parametrize("mistake", FILES)
def test_a_wrong_file_is_answered_with_its_code_its_place_and_a_hint(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files, words, code, error, place = FILES[mistake]
    done = with_files(files, words)
    assert done.code == code and done.first.startswith(f"error[{error}] ") and place in done.first, done
    assert done.err.splitlines()[-1].startswith("  hint: ")


def with_files(files: Mapping[str, str | bytes], words: str) -> Done:
    """Run a command beside these files."""
    lay({"t/croupier.toml": HEAD} | dict(files))
    return croupier(*(["-C", "t"] if "-C" not in words else []), *words.split())


@pytest.mark.parametrize(("words", "code", "first"), [each[:3] for each in WHOLE_MESSAGES if "{" not in each[0]])
def test_what_is_wrong_is_told_to_programs(words: str, code: int, first: str) -> None:
    done = croupier(*words.split(), "--json")
    told = done.json
    assert (done.code, told["exit"], done.err) == (code, code, "")
    assert told["schema"] == "croupier/error/1"
    assert f"error[{told['code']}] {told['message']}".startswith(first)
    assert [told[key] for key in ("code", "message", "hint")] == [
        told["problems"][0][key] for key in ("code", "message", "hint")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *(
            (("run", "--dry-run", *more), f"--dry-run plays nothing, so {more[0]} does not apply")
            for more in (
                ("--fresh",),
                ("--stage", "x"),
                ("--stop-after", "1 s"),
                ("--reason", "x"),
                ("--progress", "json"),
            )
        ),
        (("standings", "--csv", "--json"), "--csv and --json are two forms of the same rows"),
        (("rating", ".", "--csv", "--json"), "--csv and --json are two forms of the same rows"),
        (("grades", "--csv", "--json"), "--csv and --json are two forms of the same rows"),
        (("games", "pazaak", "--openspiel"), "--openspiel lists all games: leave out GAME"),
        (("games", "--openspiel", "--rules"), "--openspiel lists all games: leave out GAME"),
        (("games", "pazaak", "--textarena"), "--textarena lists all games: leave out GAME"),
        (("replay", "last", "--logs", ".", "--open"), "--logs is for the printed table"),
        (("replay", "last", "--logs", "nowhere"), "Directory 'nowhere' does not exist"),
    ],
)
def test_an_option_that_does_not_apply_is_refused(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = croupier(*words, cwd=tmp_path)
    assert done.code == 2 and "U001" in done.out + done.err and message in done.out + done.err
