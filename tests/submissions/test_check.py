"""`croupier check`: its output for good bots, and every reason to refuse a bot, each with a real bad bot."""

# ruff: noqa: E501 - the rows of a table of bad bots are read as lines

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, Done, croupier, croupier_process, cup_in, environment
from helpers import CACHE, ROGUES, SAMPLES, breadth, level, nothing_left_behind, run
from test_bot_spec import lay
from test_every_fault import PLAYERS, Rogue, named
from test_every_language import needs

from host.base.errors import explanations
from host.config.tournament_config import load
from host.games import GAMES
from host.sandbox.limits import Limits
from host.submissions.build import builds, prune_builds
from host.submissions.check import check_bot as checked_alone
from host.submissions.discovery import load_submission


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one, so that messages contain short paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(files: Mapping[str, str | bytes], game: str = "cardshark") -> Done:
    """Check a bot made of these files in a folder called mine."""
    lay({f"mine/{name}": content for name, content in files.items()})
    return croupier("check", "mine", "-g", game)


C = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int n, char **a) {{ {} }}\n"
READS = "char line[200]; while (fgets(line, 200, stdin)) {}"
LINES = 'protocol = "lines"\n'
PYTHON = 'language = "python"\nentry = "bot.py"\n'
BRIEF = '[limits]\nmove = "1 s"\nstartup = "1 s"\n'
HASTY = BRIEF.replace('move = "1 s"', 'move = "500 ms"')  # late before it exceeds its processor time
SHORT_OF_SPACE = "#!/bin/sh\nulimit -v 524288\nexec "

BAD: dict[str, tuple[dict[str, str | bytes], str]] = {
    # before it is built
    "B001": ({"bot.toml": 'run = ["./mine"]', "mine.txt": ""}, 'mine/bot.toml:1: run = ["./mine"]: no such file'),
    "B002": ({"bot": "#!/bin/sh\necho S\n"}, "mine/bot: is not executable (mode 0644)"),
    "B003": ({"bot+": "import sys\n"}, "mine/bot: the kernel cannot run this file (Exec format error): no '#!' line, not a binary"),
    "B004": ({"bot+": "#!/opt/none/python\n"}, "mine/bot: exists, but its interpreter /opt/none/python does not"),
    "B005": ({"bot+": "#!/bin/sh\r\necho S\r\n"}, 'mine/bot: line 1 ends with CR LF: the system looks for "/bin/sh\\r"'),
    "B006": ({"bot.py": 'print "H"\n'}, 'mine/bot.py:1: is Python 2:  print "H"'),
    "B007": ({"bot+": "#!/usr/bin/env nopython\n"}, "mine/bot:1: /usr/bin/env: 'nopython': No such file or directory  (exit 127)"),
    "B008": ({"bot.toml": PYTHON, "x.py": ""}, 'mine/bot.toml:2: entry: no file "bot.py"'),
    "B014": ({"bot.toml": 'language = "c"\n'}, "mine: has no source file of c"),
    "B015": ({"bot.py": "def f(:\n"}, "mine/bot.py:1: SyntaxError: invalid syntax"),
    "C001": ({"bot.toml": "langauge = 1\n", "bot.py": ""}, 'mine/bot.toml:1: unknown key "langauge"'),
    # building and starting
    "B010": ({"bot.c": "int main(void) { return nothing; }\n"}, "mine: does not build  (cc -O2 "),
    "B012": ({"bot+": SHORT_OF_SPACE + 'env LD_LIBRARY_PATH="$(dirname "$(readlink -f /usr/bin/java)")/../lib" java -Xmx4g -version\n'}, "mine: the JVM cannot reserve its heap:  "),
    "B011": ({"bot.toml": 'language = "java"\nmain = "Bot"\n', "Mine.java": "package Players; class Mine { public static void main(String[] a) { } }\n"},
             "mine: Java does not find the main class:  Error: Could not find or load main class Bot"),
    "B013": ({"bot+": SHORT_OF_SPACE + "sbcl --dynamic-space-size 1GB --non-interactive --eval 1\n"}, "mine: SBCL cannot reserve its heap:  "),
    "B018": ({"bot+": b"\x7fELF\x02\x01\x01 is not all of it"}, "mine: cannot be started: Exec format error"),
    # answering
    "B020": ({"bot.toml": LINES + BRIEF, "bot.c": C.format(READS.format('printf("S\\n");'))}, "mine: answered only after its input was closed: it does not flush (nothing came for 1.0 s)"),
    "B021": ({"bot.c": C.format(READS.format('puts("S");'))}, "mine: waits for input, but cardshark sends its question as arguments: it answers when the question is typed"),
    "B022": ({"bot.py": 'print("thinking...")\nprint("H")\n'}, "mine: wrote more than its answer:  'thinking...\\nH\\n'"),
    "B023": ({"bot.py": 'print("Hit")\n'}, "mine: 'Hit' is not a move; a move is H, S, D or B <chips>"),
    "B025": ({"bot.toml": LINES + PYTHON + BRIEF, "bot.py": 'import sys\nfor line in sys.stdin:\n    print("S", end="", flush=True)\n'}, "mine: wrote 'S' without a newline within "),
    "B031": ({"bot.toml": PYTHON + BRIEF, "bot.py": "import sys, time\nprint('rehash!', file=sys.stderr, flush=True)\ntime.sleep(60)\n"}, "mine: no answer after "),
    "B032": ({"bot.toml": 'language = "c"\n[limits]\ncpu = "50 ms"\n', "bot.c": C.format("for (volatile int i = 0;; i++);")}, "mine: "),
    "B033": ({"bot.toml": 'language = "c"\n[limits]\nmemory = "32 MiB"\n', "bot.c": C.format("for (;;) memset(malloc(1 << 20), 1, 1 << 20);")}, "mine: used more than 32 MiB of memory and was killed; it did not crash by itself"),
    "B034": ({"bot.c": C.format("abort();")}, "mine: crashed: killed by signal 6 (aborted)"),
    "B035": ({"bot.py": 'raise ValueError("min() arg is an empty sequence")\n'}, "mine: exited with 1 without an answer:  ValueError: min() arg is an empty sequence"),
    "B036": ({"bot+": "#!/bin/sh\nexec sbcl --noinform --eval '(car 1)'\n"}, "mine: stopped in the Lisp debugger, and exited with 0"),
    "B040": ({"bot.toml": LINES + PYTHON + BRIEF, "bot.py": "import sys\nwhile sys.stdin.readline() and sys.stdin.readline():\n    print('S')\n"}, "mine: answered only after it was sent a second question: it reads more than its question (nothing came for 1.0 s)"),
    "B041": ({"bot.py": "import nosuch.part\n"}, "mine: needs a module that is not installed:  ModuleNotFoundError: No module named 'nosuch'"),
    "B037": ({"bot.py": "import socket\nsocket.create_connection(('1.2.3.4', 443))\n"}, "mine: the sandbox denied an operation, and the bot exited with 1:  PermissionError: "),
    "B038": ({"bot.c": C.format('for (int i = 0; i < 100000; i++) puts("S");')}, "mine: wrote more than 4 KiB for one move: output cut, bot killed"),
}  # fmt: skip
"""For each code: a bot that is refused with it, and the start of the message."""

STARTS = ("B012", "B013", "B020", "B022", "B023", "B025", "B031", "B032", "B033", "B036", "B038", "B040")
"""The codes of BAD with which a bot builds and starts, so that `add` adds it."""

NEEDS = {"B011": ("java", "javac", "jar"), "B012": ("java",), "B013": ("sbcl",), "B036": ("sbcl",)}


@pytest.mark.parametrize("code", breadth(BAD, 8))
def test_a_bad_bot_is_refused_with_its_code_and_a_cure(code: str, here: Path) -> None:
    needs(*NEEDS.get(code, ()))
    files, message = BAD[code]

    done = checked(files)

    assert (done.code, done.err) == (1, "")
    assert f"error[{code}] {message}" in done.out, done.out
    told = done.out.partition(f"error[{code}] ")[2]
    assert "\n  hint: " in told, done.out
    verdict = "fails the check, but builds and starts: croupier add adds it" if code in STARTS else "not accepted"
    assert done.out.splitlines()[-1].startswith(verdict)
    assert done.out.count("error[") == 1


BRIEF_LINES = LINES + PYTHON + BRIEF
CAUSES: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "waits for the end of its input": ({"bot.toml": LINES + PYTHON + BRIEF, "bot.py": "import sys\nfor line in sys.stdin.read().splitlines():\n    print('S')\n"},
        "error[B040] mine: answered only after its input was closed: it reads more than its question", "read one line, answer it, and only then read the next"),
    "waits for the end of its input, in C": ({"bot.toml": LINES + BRIEF, "bot.c": C.format("while (getchar() != EOF); puts(\"S\");")},
        "error[B040] mine: answered only after its input was closed: it reads more than its question", "read one line, answer it, and only then read the next"),
    "reads too much later": ({"bot.toml": BRIEF_LINES, "bot.py": "import sys\nfor number, line in enumerate(sys.stdin):\n    number == 4 and sys.stdin.readline()\n    print('S')\n"},
        ": it has read its question and waits for more input)", "read one line, answer it, and only then read the next"),
    "starts slowly": ({"bot.toml": BRIEF_LINES, "bot.py": "import sys, time\ntime.sleep(60)\nfor line in sys.stdin:\n    print('S')\n"},
        ", and has not read its question)", "load less before the first question, or ask for a longer `startup`: the first answer has startup = 1 s and move = 1 s"),
    "computes without end": ({"bot.toml": LINES + PYTHON + HASTY, "bot.py": "import sys\nfor line in sys.stdin:\n    while True: pass\n"},
        ": it computed all the time it could get)", "compute less per move, or look for a loop that does not end\n"),
    "starts slowly for each question": ({"bot.toml": PYTHON + HASTY, "bot.py": "while True: pass\n"},
        ": it computed all the time it could get)", 'a loop that does not end; if only its start is slow:  protocol = "lines"  starts it once, and `startup` allows more time for that'),
    "sleeps later": ({"bot.toml": BRIEF_LINES, "bot.py": "import sys, time\nfor number, line in enumerate(sys.stdin):\n    number == 4 and time.sleep(60)\n    print('S')\n"},
        ": it was waiting, not computing)", "croupier ask shows where the time goes"),
    "stops in a debugger": ({"bot.toml": LINES + PYTHON, "bot.py": "import sys\nfor line in sys.stdin:\n    breakpoint()\n    print('S')\n"},
        "error[B036] mine: stopped in Python's debugger, which reads the questions as its commands", "remove breakpoint() and pdb.set_trace()"),
    "prints debug text": ({"bot.toml": LINES + PYTHON, "bot.py": "import sys\nfor line in sys.stdin:\n    print('I hold', line)\n    print('S')\n"},
        "error[B023] mine: 'I hold ", "write debug text to stderr:  print(…, file=sys.stderr)"),
    "a package that is called otherwise": ({"bot.py": "import yaml_of_nobody\n"}, "error[B041] mine: needs a module that is not installed", 'requires = ["yaml_of_nobody"] in bot.toml'),
    "a shell script of Windows": ({"bot+": "#!/bin/sh\necho S\r\n"}, "error[B005] mine/bot: line 2 ends with CR LF: the shell takes the CR as a part of the last word", "sed -i 's/\\r$//' mine/bot"),
    "a bash script of Windows": ({"bot.bash": "echo S\r\n"}, "error[B005] mine/bot.bash: line 1 ends with CR LF: the shell takes", "sed -i 's/\\r$//' mine/bot.bash"),
}  # fmt: skip
"""What a bot does, and what its message and its hint say."""


@pytest.mark.long
@pytest.mark.parametrize("what", breadth(CAUSES, 3))
def test_the_cause_of_a_fault_is_called_by_its_name(what: str, here: Path) -> None:
    files, message, hint = CAUSES[what]

    done = checked(files)

    assert message in done.out, done.out
    assert hint in done.out.partition("\n  hint: ")[2], done.out
    assert "does not flush" not in done.out and "does it flush" not in done.out


BLOCK, BOTZONE = (f'protocol = "{name}"\n' + PYTHON for name in ("block", "botzone"))
KEPT = BOTZONE + 'lifetime = "table"\n' + BRIEF
SEVERAL_LINES: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "answers each line": ({"bot.toml": BLOCK, "bot.py": "import sys\nfor line in sys.stdin:\n    print('S', flush=True)\n"},
        "error[B022] mine: wrote more than its answer:  'S\\nS\\n", "print as many lines as the question asks for per answer"),
    "does not flush": ({"bot.toml": 'protocol = "block"\n' + BRIEF, "bot.c": C.format('int lines = 0; for (int c; (c = getchar()) != EOF;) if (c == 10 && ++lines % 5 == 0) puts("S");')},
        "error[B020] mine: answered only after its input was closed: it does not flush", "fflush(stdout)"),
    "reads a line too many": ({"bot.toml": BLOCK + BRIEF, "bot.py": "while True:\n    [input() for _ in range(6)]\n    print('S', flush=True)\n"},
        "error[B040] mine: answered only after it was sent a second question", "read all lines of one question, answer it, and only then"),
    "answers and stays": ({"bot.toml": KEPT, "bot.py": "while True:\n    input()\n    print('\"S\"', flush=True)\n"},
        "error[B025] mine: wrote '\"S\"\\n' and no more within ", "exit after the answer, or print >>>BOTZONE_REQUEST_KEEP_RUNNING<<< on"),
    "reads to the end": ({"bot.toml": KEPT, "bot.py": "import sys\nsys.stdin.read()\nprint('\"S\"')\n"},
        "error[B040] mine: answered only after its input was closed", 'lifetime = "question" in bot.toml'),
    "lives for too long": ({"bot.toml": BOTZONE + 'lifetime = "fixture"\n', "bot.py": ""},
        'error[C013] mine/bot.toml:4: lifetime = "fixture" is not possible over botzone', 'lifetime = "question" or lifetime = "table"'),
    "numbers its tables": ({"bot.toml": BOTZONE + "table_ids = true\n", "bot.py": ""},
        "error[C013] mine/bot.toml:4: table_ids = true is not possible over botzone: a process knows one table", "remove it"),
}  # fmt: skip
"""What a bot does in a protocol with several lines, and what its message and its hint say."""


@pytest.mark.long
@pytest.mark.parametrize("what", breadth(SEVERAL_LINES, 3))
def test_the_hints_are_those_of_the_protocol(what: str, here: Path) -> None:
    files, message, hint = SEVERAL_LINES[what]

    done = checked(files)

    assert message in done.out + done.err, done.out
    assert hint in (done.out + done.err).partition("\n  hint: ")[2], done.out


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({"bot.py": "raise ValueError('no card')\n"}, "(crash)"),
        ({"bot.toml": LINES + PYTHON, "bot.py": "import sys\nfor n, line in enumerate(sys.stdin):\n    print('SX'[n == 4])\n"}, "(unreadable)"),
        ({"bot.toml": LINES + PYTHON + BRIEF, "bot.py": "import sys\nwhile sys.stdin.readline() and sys.stdin.readline():\n    print('S')\n"}, "(timeout)"),
    ],
)  # fmt: skip
def test_ask_repeats_a_fault_that_check_has_found(files: dict[str, str | bytes], answer: str, here: Path) -> None:
    done = checked(files)
    words = re.search(r"^  again: croupier (ask mine \.croupier/check/mine-\w+\.bundle)$", done.out, re.MULTILINE)
    assert words is not None, done.out

    asked = croupier(*words[1].split(), "--json").json

    (row,) = asked["rows"]
    assert row["now"] == row["then"] == answer and row["same"], asked
    assert asked["asked_before"] == (4 if answer == "(unreadable)" else 0)


def test_a_bot_without_faults_leaves_no_bundle(here: Path) -> None:
    assert checked({"bot+": ANSWERS}).code == 0
    assert not (here / ".croupier").exists()


def test_memory_that_grows_with_every_question_is_a_note(here: Path) -> None:
    grows = "import sys\nkept = []\nfor line in sys.stdin:\n    kept.append(b'x' * (3 << 20))\n    print('S')\n"

    done = checked({"bot.toml": LINES + PYTHON, "bot.py": grows})

    assert done.code == 0
    assert "\n  ! memory          grows by 3.0 MiB a question: at its limit after about 12" in done.out, done.out


def test_memory_that_is_reused_is_no_note(here: Path) -> None:
    uses = "import sys\nfor line in sys.stdin:\n    b'x' * (3 << 20)\n    print('S')\n"

    assert "  ! memory " not in checked({"bot.toml": LINES + PYTHON, "bot.py": uses}).out


def test_who_speaks_before_it_is_asked_is_refused(here: Path) -> None:
    done = checked({"bot.toml": LINES, "bot.c": (ROGUES / "hasty.c").read_text()})
    assert done.code == 1
    assert "error[B024] mine: wrote " in done.out or "error[B022] mine: wrote more than its answer:  " in done.out


def test_files_that_an_adapter_supplies_are_refused(here: Path) -> None:
    needs("java", "javac", "jar")
    done = checked({"bot.toml": 'adapter = "simplepazaak"\n', "Mechanics/Card.java": "class Card { }\n"}, "pazaak")
    assert done.code == 1
    told = 'error[B019] mine: has files that adapter = "simplepazaak" supplies: Mechanics/Card.java\n  hint: submit the bot'
    assert told in done.out


def test_a_name_of_python_2_is_diagnosed_and_the_cure_is_what_the_machine_has(here: Path) -> None:
    done = checked({"bot.py": 'print("H" if int(raw_input()) else "S")\n'})
    assert "error[B006] mine: is Python 2:  NameError: name 'raw_input' is not defined" in done.out
    assert "\n  hint: rewrite it for Python 3; " in done.out


@pytest.mark.long
def test_a_program_that_never_flushes_is_told_how_to(here: Path) -> None:
    unflushed = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { char s[99]; while (fgets(s, 99, stdin)) puts("S"); _exit(0); }\n'
    done = checked({"bot.toml": LINES + BRIEF, "bot.c": unflushed})
    assert "error[B031]" in done.out and "; and flush the output after each answer: C: fflush(stdout)" in done.out


def test_a_limit_is_told_in_its_own_unit(here: Path) -> None:
    done = checked({"bot.toml": PYTHON + '[limits]\nmemory = "4 KiB"\n', "bot.py": STANDS})
    assert "error[B033] mine: used more than 4 KiB of memory and was killed" in done.out


# Notes that are not errors.

STANDS = 'print("S")\n'
ANSWERS = "#!/bin/sh\necho S\n"
NOTED: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "an illegal move": ({"bot+": "#!/bin/sh\necho B 5000\n"}, "cardshark", "note B026"),
    "an illegal card": ({"bot.toml": PYTHON, "bot.py": 'import sys\nfor line in sys.stdin:\n    print("PLAY 9")\n'}, "pazaak", "    note B028"),
    "chance of its own": ({"bot.c": "#include <time.h>\n" + C.format('struct timespec now; clock_gettime(CLOCK_REALTIME, &now); puts(now.tv_nsec / 1000 % 2 ? "S" : "H");')}, "cardshark", "take randomness only from CROUPIER_SEED"),
    "what it was refused": ({"bot.toml": LINES + PYTHON, "bot.py": 'import sys\ntry:\n    open("/root/.aws/credentials")\nexcept OSError as error:\n    print(error, file=sys.stderr)\nfor line in sys.stdin:\n    print("S")\n'}, "cardshark", "note B037"),
    "a slow answer": ({"bot.toml": LINES + PYTHON, "bot.py": 'import sys, time\nfor n, line in enumerate(sys.stdin):\n    time.sleep(0.55 * (n == 3))\n    print("S")\n'}, "cardshark", "it may time out on a slower or busier machine"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("what", breadth(NOTED, 2))
def test_what_is_only_a_note_is_accepted(what: str, here: Path) -> None:
    files, game, words = NOTED[what]
    done = checked(files, game)
    assert (done.code, done.err) == (0, ""), done.out
    assert words in done.out
    assert done.out.splitlines()[-1].startswith("ready to play · ")


WRITES = """\
import sys
try:
    open("log.txt", "w")
except OSError as error:
    print(error, file=sys.stderr)
for line in sys.stdin:
    print("S")
"""


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        ("", 'the file that  state = "memory.bin"  in its'),
        ('state = "own.bin"\n', "own.bin, its state file"),
        ('state = "own/"\n', "in one folder: own/"),
    ],
)
def test_who_writes_beside_itself_is_told_of_the_one_place(state: str, hint: str, here: Path) -> None:
    done = checked({"bot.toml": LINES + PYTHON + state, "bot.py": WRITES})
    assert done.code == 0, done.out
    assert "note B037" in done.out and "it may write " in done.out and hint in done.out


def test_a_name_of_two_lines_is_shown_on_one(here: Path) -> None:
    lay({"mine\nready to play": "puts"})

    done = croupier("check", "mine\nready to play", "-g", "cardshark")

    assert done.code == 1
    assert r"mine\nready to play · cannot play" in done.out
    assert not any(line.startswith("ready") for line in (done.out + done.err).splitlines())


@pytest.mark.timing
def test_a_report_prints_the_time_that_its_author_has_waited(here: Path) -> None:
    croupier("check", "sample:davey", "-g", "cardshark")  # so that it is built
    began = time.monotonic()
    done = croupier_process("check", "sample:davey", "-g", "cardshark", "--json")
    waited = time.monotonic() - began
    assert 0.5 * waited <= done.json["rows"][0]["seconds"] <= waited


def test_a_report_of_a_healthy_bot(here: Path) -> None:
    done = croupier("check", "sample:davey", "-g", "cardshark")
    head, *lines, last = done.out.splitlines()
    assert (done.code, head.split()[:5]) == (0, ["davey", "·", "c", "·", "argv"])
    assert [line[4:20].strip() for line in lines] == [
        *("builds", "starts", "40 questions", "edge cases", "repeatable", "limits", "sandbox"),
    ]
    assert {line[2] for line in lines} == {"✓"}
    assert "40 answers: " in lines[2] and " D " in lines[2] and " B " in lines[2]
    assert lines[3].split("  ")[-1].startswith(f"{len(GAMES['cardshark'].edges)} of {len(GAMES['cardshark'].edges)}: ")
    assert "20 of 20 answers equal in a second run" in lines[4]
    assert f"level {level()}" in lines[6]
    assert last.startswith("ready to play · ")
    assert max(map(len, lines)) <= 100


def test_check_tells_programs_everything(here: Path) -> None:
    lay({"bad+": "#!/bin/sh\necho Hit\n", "good+": ANSWERS})
    told = croupier("check", "good", "bad", "-g", "cardshark", "--json")
    good, bad = told.json["rows"]
    assert (told.code, good["accepted"], bad["accepted"]) == (1, True, False)
    assert [problem["code"] for problem in bad["problems"]] == ["B023"]
    assert [line["mark"] for line in good["lines"]] == ["✓"] * 7


def test_a_sample_is_a_bot_wherever_a_bot_is_named(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1, rounds=1)
    for words in ("ls sample:cautious", "check sample:cautious", "add sample:cautious"):
        done = croupier(*words.split(), "-C", cup)
        assert (done.code, "cautious" in done.out) == (0, True), (words, done)
    assert (cup / "bots" / "cautious.c").read_bytes() == (SAMPLES / "cardshark" / "cautious.c").read_bytes()
    assert croupier("play", "sample:cautious", "davey", "-n", 1, "-C", cup).code == 0
    assert "no faults" in croupier("faults", "sample:cautious", "-C", cup).out
    for command in ("ls", "check", "add"):
        told = croupier(command, "sample:cautios", "-C", cup).first
        assert told == 'error[C012] there is no sample bot of cardshark called "cautios"', command


def test_ls_shows_all_bots_when_one_is_broken(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    lay(
        {
            f"{cup}/bots/a/bot.toml": "langauge = 1\n",
            f"{cup}/bots/b/bot.toml": 'name = "davey"\n',
            f"{cup}/bots/b/x.py": STANDS,
        }
    )
    done = croupier("ls", "-C", cup)
    assert [line.split() for line in done.out.splitlines()] == [
        ["a", "✗", "C001"],
        ["davey", "python", "argv", "✗", "C003"],
        ["davey", "c", "argv", "✗", "C003"],
    ]
    assert (done.code, [line[:11] for line in done.err.splitlines() if "error" in line]) == (
        3,
        ["error[C001]", "error[C003]"],
    )
    told = croupier("ls", "-C", cup, "--json")
    assert (told.code, [row["problems"] for row in told.json["rows"]]) == (3, [["C001"], ["C003"], ["C003"]])


@pytest.mark.long
def test_a_broken_bot_keeps_nobody_from_playing_the_others(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"])
    lay({f"{cup}/bots/a/bot.toml": "langauge = 1\n"})
    assert croupier("play", "davey", "cautious", "-n", 1, "-C", cup).code == 0
    assert croupier("check", "davey", "-C", cup).code == 0


def test_a_bot_that_cannot_be_read_does_not_hide_the_others(here: Path) -> None:
    lay({"bad.py": "def f(:\n", "good.c": C.format('puts("S");')})
    done = croupier("check", "bad.py", "good.c", "-g", "cardshark")
    assert done.code == 1
    assert "error[B015] bad.py:1: " in done.out
    assert "good · c · argv · cardshark" in done.out and "ready to play" in done.out


def test_an_empty_folder_called_bot_toml_is_refused_by_path_and_by_name(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", [])
    lay({f"{cup}/bots/mine/x.py": STANDS})
    (cup / "bots" / "mine" / "bot.toml").mkdir()
    for bot in ("mine", cup / "bots" / "mine"):
        done = croupier("check", bot, "-C", cup)
        assert done.code == 1
        assert f"error[C011] {cup}/bots/mine/bot.toml: cannot be read: it is a folder" in done.out


def test_a_bot_for_arguments_is_told_its_protocol(here: Path) -> None:
    lay(
        {
            "mine/bot.toml": 'language = "python"\nprotocol = "lines"\n',
            "mine/bot.py": 'import sys\nprint("S" if sys.argv[5] else "H")\n',
        }
    )
    done = croupier("check", "mine", "-g", "cardshark")
    assert done.code == 1
    assert 'hint: protocol = "argv" in bot.toml: asked in that way, it answers with a move' in done.out


@pytest.mark.long
def test_who_answers_only_after_a_slow_start_is_accepted(here: Path) -> None:
    source = 'import sys, time\ntime.sleep(1.5)\nfor line in sys.stdin:\n    print("S")\n'
    lay({"mine/bot.toml": LINES + PYTHON, "mine/bot.py": source})
    done = croupier("check", "mine", "-g", "cardshark")
    assert done.code == 0, done.out


# All bots together.


def test_all_bots_of_a_tournament_are_checked_also_under_load(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"])
    (cup / "bots" / "broken").write_text("no program\n")
    done = croupier("check", "--all", "-C", cup)
    assert done.code == 1
    assert [line.split(" · ")[0] for line in done.out.splitlines() if " · cardshark" in line] == ["cautious", "davey"]
    assert "error[B003]" in done.out
    loaded = done.out.partition("all bots at the same time, on a busy machine\n")[2].splitlines()
    assert [line.split()[1] for line in loaded if line.startswith("  ") and not line.startswith("      ")] == [
        "cautious",
        "davey",
    ]


def test_two_bots_of_one_name_are_found(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    lay(
        {
            f"{cup}/bots/b/bot.toml": 'name = "davey"\n',
            f"{cup}/bots/b/x.py": STANDS,
        }
    )
    done = croupier("check", "--all", "-C", cup)
    assert done.code == 1
    assert done.out.count("error[C003] two bots are called") == 2


def test_all_or_some_but_not_both(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    assert croupier("check", "-C", cup).first == "error[U001] name a bot, or use --all"
    assert croupier("check", "davey", "--all", "-C", cup).first == "error[U001] --all checks all bots: do not name any"
    assert croupier("check", "--all", "-C", tmp_path).code == 3


# Builds.


def test_the_whole_log_of_a_build_can_be_read(here: Path) -> None:
    lay({"bad.c": "int main(void) { return nothing; }\n" + "int x = what;\n" * 40})
    told = croupier("check", "bad.c", "-g", "cardshark").out
    log = Path(told.partition("the whole log: ")[2].splitlines()[0])
    assert log.read_text().startswith("$ cc -O2 ")
    assert log.read_text().count("error:") >= 35 > told.count("error:")


def test_without_a_sandbox_that_is_said(here: Path) -> None:
    lay({"good+": ANSWERS})
    done = croupier("check", "good", "-g", "cardshark", "--unsafe")
    assert (done.code, "WARNING  no sandbox" in done.err) == (0, True)
    assert "  ! sandbox         none: the bot was not restricted" in done.out


@pytest.mark.long
def test_a_build_that_was_killed_is_swept_and_one_under_way_is_not(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_CACHE", str(CACHE / "swept"))  # other test processes build, too
    store = CACHE / "swept" / "bots"
    lay({"slow/bot.toml": 'run = ["./x"]\nbuild = ["sleep 60"]\n'})
    command = [*CROUPIER, "check", "slow", "-g", "cardshark"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as process:
        while not (started := list(store.glob("making-*/staged/bot.toml"))):
            assert process.poll() is None
            time.sleep(0.01)
        (working,) = {path.parents[1] for path in started}

        lay({"one+": ANSWERS, "other+": f"{ANSWERS}# another"})
        assert croupier("check", "one", "-g", "cardshark").code == 0
        assert working.is_dir()

        process.kill()
        process.wait()
        assert working.is_dir()
        assert croupier("check", "other", "-g", "cardshark").code == 0
        assert not working.exists()


def test_the_lock_of_the_builds_stays_when_old_builds_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROUPIER_CACHE", str(tmp_path))
    store = builds()
    (store / "old").mkdir()
    for path in (store / ".lock", store / "old.log", store / "old" / "program"):
        path.write_bytes(bytes(1000))
    for path in store.iterdir():
        os.utime(path, (0, 0))
    assert prune_builds(0, 1) == 1
    assert [path.name for path in store.iterdir()] == [".lock"]


def test_builds_that_another_process_removes_meanwhile_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROUPIER_CACHE", str(tmp_path))
    loop = "import os\nwhile True:\n for n in range(50): os.mkdir(str(n))\n for n in range(50): os.rmdir(str(n))"
    with subprocess.Popen([sys.executable, "-c", loop], cwd=builds()) as other:
        try:
            while not any(builds().iterdir()):
                assert other.poll() is None
            assert {prune_builds(1 << 30, 0) for _ in range(300)} == {0}
        finally:
            other.kill()


def test_a_bot_gets_only_the_models_that_its_bot_toml_asks_for(here: Path) -> None:
    if not level().traits.own_namespaces:
        pytest.skip("models need a sandbox with namespaces")
    row = "[models.{}]\naddress = 'http://127.0.0.1:1'\n"
    rows = "".join(map(row.format, ("big", "small", "tiny")))  # the first name is before the one that the bot asks for
    bot = {
        "bot.toml": 'protocol = "lines"\nmodels = ["small"]\n',
        "bot.py": "while input():\n    print('END', flush=True)\n",
    }
    lay({"croupier.toml": 'game = "pazaak"\n' + rows} | {f"bots/mine/{name}": text for name, text in bot.items()})
    cup = load(here)
    report, found = run(lambda: checked_alone(*cup.submissions(here), cup.game, level(), cup.limits))
    assert report.accepted, "\n".join(report.text())
    assert [model.name for model in found.playable().limits.models] == ["small"]


# All rogues.

NO_REFUSAL = {"harmless", "illegal", "exception"}


def all_rogues() -> Iterator[Any]:
    """Yield all rogues that play. CI checks those of the default suite; a proof checks the others, too."""
    for rogue in named(PLAYERS):
        mark = pytest.mark.proof if rogue.marks else pytest.mark.long
        yield pytest.param(*rogue.values, id=rogue.id, marks=mark)


@pytest.mark.parametrize("rogue", [*all_rogues()])
@pytest.mark.one_in(3)
def test_a_rogue_is_refused_for_what_it_does_and_leaves_nothing(rogue: Rogue) -> None:
    handed = load_submission(rogue.file, Limits(models=rogue.limits.models)).for_game(GAMES[rogue.game])
    spec = handed.with_keys(**rogue.spec_changes(), table_ids=rogue.numbers)
    with nothing_left_behind():
        report, _ = run(lambda: checked_alone(spec, GAMES[rogue.game], level(), rogue.limits))
    assert report.accepted or report.problems
    assert {problem.code for problem in report.problems} <= set(explanations())
    if not NO_REFUSAL & set(rogue.verdict):
        assert not report.accepted, "\n".join(report.text())
    if set(rogue.verdict) <= NO_REFUSAL - {"harmless"}:
        assert report.accepted, "\n".join(report.text())
    assert "\n".join(report.text()).replace("\n", " ").isprintable()
