"""Mistakes of the first hour: each is answered with its code, the thing, the rule and the cure, in two lines."""

# ruff: noqa: E501 - the rows of a table of messages are read as lines

from pathlib import Path

import pytest
from command import croupier, cup_in
from helpers import SAMPLES
from test_bot_spec import lay

NOTHING = "error[U001] there is no"
BOTS_HERE = "bots here: cautious, davey"
TABLES_HERE = "tables here are called, for example, tables/1/1, or last"
COMMANDS: list[tuple[str, int, str, str]] = [
    ("rnu", 2, f"{NOTHING} command 'rnu'; did you mean run ?", ""),
    ("run --frsh", 2, f"{NOTHING} option '--frsh'; did you mean --fresh ?", ""),
    ("run --workers 0", 2, "error[U001] Invalid value for '--workers': 0 is not in the range 1<=x<=1024", ""),
    ("run --stop-after 5", 2, 'error[U001] --stop-after: "5" needs a number and a unit (ms, s, min, h)', ""),
    ("play", 2, "error[U001] BOT... is missing", "croupier play --help; for example  croupier play bots/mine sample:davey -g cardshark -n 1000"),
    ("new x", 2, "error[U001] --game is missing", "croupier new --help; for example  croupier new spring --game pazaak"),
    ("new x -g cardshrk", 2, f"{NOTHING} game 'cardshrk'; did you mean cardshark ?  (games: cardshark, pazaak, holdem, hearts, briscola)", ""),
    ("new {cup} -g pazaak", 2, "error[C016] {cup}/croupier.toml: already exists", "choose another folder"),
    ("new /proc/none -g pazaak", 2, "error[R013] /proc/none: cannot be created: No such file or directory", "check the path:  namei -l /proc/none"),
    ("games poker", 2, f"{NOTHING} game 'poker'  (games: cardshark, pazaak, holdem, hearts, briscola)", ""),
    ("explain B0100", 2, f"{NOTHING} code 'B0100'; did you mean B010 ?", ""),
    ("-C nowhere run", 2, "error[U001] -C nowhere: no such folder", "check the path; croupier new nowhere --game GAME creates a tournament there"),
    ("run -C nowhere", 2, "error[U001] -C nowhere: no such folder", "check the path; croupier new nowhere --game GAME creates a tournament there"),
    ("run -C {empty}", 3, "error[C011] {empty}/croupier.toml: no such file: there is no tournament here", "croupier new DIR --game GAME makes a tournament, -C DIR names one"),
    ("add x -C {empty}", 3, "error[C011] {empty}/croupier.toml: no such file: there is no tournament here", "croupier new DIR --game GAME makes a tournament, -C DIR names one"),
    ("run {cup}/croupier.tmol", 3, "error[C011] {cup}/croupier.tmol: no such file: there is no tournament here", "croupier.toml"),
    ("status -C {empty}", 3, "error[R006] {empty}/run/run.sqlite: nothing has been played here yet", "croupier -C {empty} run"),
    ("standings -C {empty}", 3, "error[R006] {empty}: nothing has been played here yet", "croupier -C {empty} run, or croupier -C {empty} play BOT BOT"),
    ("ask davey last -C {empty}", 3, "error[R006] {empty}: nothing has been played here yet", "croupier -C {empty} run, or croupier -C {empty} play BOT BOT"),
    ("ask davey --worst --journal {cup}/none -C {cup}", 3, "error[C011] {cup}/none: there is no such journal", "a path starts in the folder in which you are, also with -C"),
    ("export bundle -C {empty}", 3, "error[R006] {empty}: nothing has been played here yet", "croupier -C {empty} run, or croupier -C {empty} play BOT BOT"),
    ("compare davey", 2, "error[U001] OLD is missing", "croupier compare --help; for example  croupier compare bots/new bots/old -g pazaak"),
    ("compare davey davye -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("compare davey cautious --elo 5 -C {cup}", 2, "error[U001] Invalid value for '--elo': '5' is not two numbers, for example 0,10", ""),
    ("compare davey cautious --elo 10,0 -C {cup}", 2, "error[U001] Invalid value for '--elo': '10,0': the first must be less than the second, both within 1000", ""),
    ("compare davey cautious --games 0 -C {cup}", 2, "error[U001] Invalid value for '-n' / '--games' / '--max': 0 is not in the range 1<=x<=10000000", ""),
    ("compare davey cautious --preset thraed -C {cup}", 2, f"{NOTHING} preset of cardshark 'thraed'; did you mean thread ?  (presets: thread, engine2011)", ""),
    ("compare sample:davey sample:neptr -C {empty} -g pazaak", 2, 'error[C012] there is no sample bot of pazaak called "davey"', "austin_powers, bastila, cincinnati_kid, dumb_bold, dumb_cautious, glaucus, hk_47, neptr, nestor, optimum"),
    ("ask", 2, "error[U001] which bot, and which question? BOT TABLE:N, fault:ID, BOT --worst, or a bundle's FILE", ""),
    ("ask davey -C {cup}", 2, "error[U001] which bot, and which question? BOT TABLE:N, fault:ID, BOT --worst, or a bundle's FILE", ""),
    ("ask davey last --worst -C {cup}", 2, "error[U001] --worst chooses the question, and last names one: leave out one of the two", ""),
    ("ask davey last --repeat 0 -C {cup}", 2, "error[U001] Invalid value for '--repeat': 0 is not in the range 1<=x<=10000", ""),
    ("ask davey last --as dvey -C {cup}", 2, f"{NOTHING} bot 'dvey'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("ask davye last -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("ask davey --diff davye -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("ask davey fault:999 -C {cup}", 2, "error[U001] there is no fault:999; `croupier -C {cup} errors` names them", ""),
    ("ask davey tables/1/99 -C {cup}", 2, f"{NOTHING} table 'tables/1/99'; {TABLES_HERE}", ""),
    ("ask davey tables/1/1:999 -C {cup}", 2, "error[U001] table tables/1/1 has 12 questions, there is no question 999", "croupier -C {cup} replay 'tables/1/1' shows its questions"),
    ("ask sample:kelly tables/1/1 -C {cup}", 2, "error[U001] kelly did not play: --as NAME chooses whose questions to ask (cautious, davey)", ""),
    ("ask sample:kelly --worst -C {cup}", 2, "error[U001] kelly was not asked anything in {cup}/run/run.sqlite: --as NAME asks it another bot's questions (cautious, davey)", ""),
    ("ask davey {cup}/none.bundle -C {cup}", 2, "error[R013] {cup}/none.bundle: cannot be read: No such file or directory", "check the path:  namei -l {cup}/none.bundle"),
    ("ask davey {cup}/croupier.toml -C {cup}", 3, "error[R014] {cup}/croupier.toml: is not a bundle: Not a gzipped file (b'ga')", "croupier -C {cup} export bundle TABLE -o FILE makes one"),
    ("export bundle fault:999 -C {cup}", 2, "error[U001] there is no fault:999; `croupier -C {cup} errors` names them", ""),
    ("replay last -C {empty}", 3, "error[R006] {empty}: nothing has been played here yet", "croupier -C {empty} run, or croupier -C {empty} play BOT BOT"),
    ("play davey cautious -g cardshark -C {empty}", 2, f"{NOTHING} bot 'davey'; a bot is a file, a folder, a name here, or sample:NAME", ""),
    ("play davye cautious -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("play sample:dayvey davey -C {cup}", 2, 'error[C012] there is no sample bot of cardshark called "dayvey"', "sample:davey"),
    ("check davye -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("errors davye -C {cup}", 2, f"{NOTHING} bot 'davye'; did you mean davey ?  ({BOTS_HERE})", ""),
    ("errors --kind crsh -C {cup}", 2, f"{NOTHING} kind of fault 'crsh'; did you mean crash ?", ""),
    ("standings tabels -C {cup}", 2, f"{NOTHING} stage 'tabels'; did you mean tables ?  (stages here: tables)", ""),
    ("run --stage tabels -C {cup}", 2, 'error[C017] {cup}: has no stage "tabels"', "stages: tables"),
    ("replay tables/1/99 -C {cup}", 2, f"{NOTHING} table 'tables/1/99'; {TABLES_HERE}", ""),
    ("replay none -C {cup}", 2, f"{NOTHING} table 'none'; {TABLES_HERE}", ""),
    ("play davey cautious --preset thraed -C {cup}", 2, f"{NOTHING} preset of cardshark 'thraed'; did you mean thread ?  (presets: thread, engine2011)", ""),
    ("play {davey} {davey} -C {empty}", 2, "error[U001] which game? The bots do not declare one: name it with -g GAME", ""),
    ("check {davey} -C {empty}", 2, "error[U001] which game? The bots do not declare one: name it with -g GAME", ""),
    ("play sample:davey sample:neptr -C {empty} -g cardshark", 2, 'error[C012] there is no sample bot of cardshark called "neptr"', "basic, cautious, counter, davey, kelly, lim17, linear_bet, lisper"),
    ("play sample:davey sample:neptr -C {empty}", 2, "error[U001] which game? The bots do not declare one: name it with -g GAME", ""),
    ("play sample:neptr -C {empty}", 2, "error[U001] a table of pazaak seats 2 bots; 1 is named", ""),
    ("play davey davey davey davey davey -C {cup}", 2, "error[U001] a table of cardshark seats 1 to 4 bots; 5 are named", ""),
]  # fmt: skip
"""What the user types, the exit code, the first line, and the hint; "" is the help of the command.

{cup} is a tournament that is over, {empty} an empty folder, {davey} a source file. An empty hint is only for a first line that
says what to change.
"""

GOOD = (SAMPLES / "cardshark" / "davey.c").read_text()
HEAD = 'game = "cardshark"\n'
FILES: dict[str, tuple[dict[str, str | bytes], str, int, str, str]] = {
    "another folder's file": ({}, "add mine.c", 4, "error[B016] mine.c: no such file", "check the path; a sample bot of croupier is called sample:NAME"),
    "an unknown archive": ({"mine.rar": "Rar!"}, "add mine.rar", 4, "error[B016] mine.rar: is an archive that croupier cannot unpack", "pack it as one of .zip, .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, or hand in the folder"),
    "a name that is taken": ({"t/bots/davey.c": GOOD, "davey.c": GOOD}, "add davey.c", 3, "error[C016] t/bots/davey.c: already exists", "use --as NAME, or remove the old one"),
    "a sample's name": ({"t/croupier.toml": HEAD + 'bots = ["bots/*", "sample:davey"]', "davey.c": GOOD}, "add davey.c", 3, 'error[C003] davey.c: a bot called "davey" already exists: ', "--as NAME adds it under another name"),
    "a path for a name": ({"mine.c": GOOD}, "add mine.c --as my/bot", 4, 'error[B016] mine.c: its name contains "/" or "#", which separate a bot from its tables', "--as NAME gives it another name, for example  --as Seventeen"),
    "an empty folder": ({"mine/.git/x": ""}, "add mine", 4, "error[B014] mine: has neither a source file of a known language nor a program", 'run = ["./…"], or language = "…" in bot.toml'),
    "a program that is not executable": ({"mine": "#!/bin/sh\necho S\n"}, "add mine", 4, "error[B002] mine: is not executable (mode 0644)", "chmod +x mine"),
    "a script of Windows": ({"mine+": "#!/bin/sh\r\necho S\r\n"}, "add mine", 4, 'error[B005] mine: line 1 ends with CR LF: the system looks for "/bin/sh\\r"', "sed -i 's/\\r$//' mine"),
    "a syntax error": ({"mine.py": "def f(:\n"}, "add mine.py", 4, "error[B015] mine.py:1: SyntaxError: invalid syntax", "python3 -m py_compile mine.py"),
    "what does not compile": ({"mine.c": "int main(void) { return nothing; }\n"}, "add mine.c", 4, "error[B010] mine: does not build  (cc -O2 ", "fix the first error first: it may cause the others"),
    "a bot for another game": ({"mine/bot.toml": 'game = "pazaak"\n', "mine/x.py": "print(1)\n"}, "add mine", 3, "error[C015] mine/bot.toml: mine plays pazaak, and this is cardshark", 'game = "cardshark", or remove it from `bots`'),
    "no quotes": ({"t/croupier.toml": "game = cardshark\n"}, "config check", 3, "error[C005] t/croupier.toml:1: is not TOML: Invalid value", 'write strings in quotes: game = "cardshark"'),
    "no unit": ({"t/croupier.toml": HEAD + "[limits]\nmove = 2\n"}, "config check", 3, "error[C002] t/croupier.toml:3: move = 2 has no unit", '"2 s" or "2000 ms"'),
    "a misspelt key": ({"t/croupier.toml": HEAD + 'bost = ["bots/*"]\n'}, "run", 3, 'error[C001] t/croupier.toml:2: unknown key "bost"', "bots"),
    "a kind of stage for other games": ({"t/croupier.toml": HEAD + '[[stage]]\nkind = "knockout"\n'}, "run --dry-run", 3, 'error[C013] t/croupier.toml:3: kind = "knockout" needs a game for two bots with one winner, and cardshark is not one', "for cardshark: tables"),
    "no bots": ({}, "run", 3, "error[C004] t/croupier.toml: has no bots: bots/* matches no bot", "croupier -C t add FILE, or the name of a sample bot"),
    "nothing to check": ({}, "check --all", 3, "error[C004] t/croupier.toml: has no bots: bots/* matches no bot", "croupier -C t add FILE, or the name of a sample bot"),
    "one bot": ({"t/croupier.toml": 'game = "pazaak"\nbots = ["sample:neptr"]\n'}, "config check", 3, 'error[C004] t/croupier.toml: stage "league" needs 2 bots, 1 is ready', "croupier -C t ls lists the bots that play"),
    "a journal that does not exist": ({}, "verify --journal run/play.sqlite", 3, "error[C011] run/play.sqlite: there is no such journal", "a path starts in the folder in which you are, also with -C"),
    "a program that is not installed": ({"mine/bot.toml": 'needs = ["nosuch"]\n', "mine/x.py": "print(1)\n"}, "add mine", 6, "error[S005] mine: needs nosuch, not found on ", "install it for the whole system, or remove it from `needs` in its bot.toml"),
    "a Python that is not installed": ({"mine/bot.toml": 'python = "3.1"\n', "mine/x.py": "print(1)\n"}, "add mine", 6, "error[S005] mine: needs python3.1, not found on ", "install it for the whole system, or remove `python` from its bot.toml: then python3 runs it"),
    "a class for another game": ({"Kid.java": "package Players;\nimport Mechanics.*;\n"}, "add Kid.java", 3, "error[C015] Kid plays pazaak, and this is cardshark", "the adapter simplepazaak plays pazaak only: -g pazaak, or remove it from `bots`"),
    "a damaged zip": ({"mine.zip": "PK"}, "add mine.zip", 4, "error[B016] mine.zip: cannot be unpacked: File is not a zip file", "pack it again, without a password, or hand in the folder"),
    "a file for a folder": ({"mine.c": GOOD}, "ls -C mine.c", 2, "error[U001] -C mine.c: is not a folder", "-C ."),
    "too early": ({}, "report", 3, "error[R006] t/run/run.sqlite: nothing has been played here yet", "croupier -C t run"),
    "a folder that is not empty": ({"mine/x": ""}, "init mine -g cardshark --lang c", 2, "error[C016] mine: already exists, and is not empty", "choose another folder, or an empty one"),
    "an address of another machine": ({}, "serve --bind 192.0.2.1:80", 2, "error[U001] --bind 192.0.2.1:80: cannot listen there: Cannot assign requested address", "--bind 127.0.0.1:0"),
}  # fmt: skip
"""What the user has beside the tournament `t`, the command, its exit code, the start of the first line, and the hint."""


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished small tournament, which tests must not change."""
    cup = cup_in(tmp_path_factory.mktemp("cup") / "cup", ["davey.c", "cautious.c"], tourneys=1, rounds=1)
    assert croupier("run", "-C", cup).code == 0
    return cup


def test_there_are_more_than_sixty() -> None:
    assert len(COMMANDS) + len(FILES) > 60


@pytest.mark.parametrize(("words", "code", "first", "hint"), COMMANDS)
def test_a_wrong_command_is_answered_with_its_cure(
    words: str, code: int, first: str, hint: str, cup: Path, tmp_path: Path
) -> None:
    named = {"cup": str(cup), "empty": str(tmp_path), "davey": str(SAMPLES / "cardshark" / "davey.c")}
    done = croupier(*(word.format_map(named) for word in words.split()))
    command = next((word for word in words.split() if word.isalpha() and word not in ("rnu", "nowhere")), "")
    cure = hint.format_map(named) or " ".join(["croupier", *([command] if command else []), "--help"])
    assert (done.code, done.out, done.err) == (code, "", f"{first.format_map(named)}\n  hint: {cure}\n")
    assert max(map(len, done.err.replace(str(tmp_path), "").replace(str(cup), "").splitlines())) <= 130


@pytest.mark.parametrize("mistake", FILES)
def test_a_wrong_file_is_answered_with_its_cure(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files, words, code, first, hint = FILES[mistake]
    lay({"t/croupier.toml": HEAD} | files)
    done = croupier(*(["-C", "t"] if "-C" not in words else []), *words.split())
    assert done.code == code and done.first.startswith(first), done
    assert done.err.splitlines()[-1].startswith(f"  hint: {hint}")  # other tests may have added kinds of stage


@pytest.mark.parametrize(("words", "code", "first"), [each[:3] for each in COMMANDS if "{" not in each[0]][:6])
def test_what_is_wrong_is_told_to_programs(words: str, code: int, first: str) -> None:
    done = croupier(*words.split(), "--json")
    told = done.json
    assert (done.code, told["exit"], done.err) == (code, code, "")
    assert told["schema"] == "croupier/error/1"
    assert f"error[{told['code']}] {told['message']}".startswith(first)
    assert [told[key] for key in ("code", "message", "hint")] == [
        told["problems"][0][key] for key in ("code", "message", "hint")
    ]
