"""The line that names an error is shown, wherever a program or a compiler has printed it: by `check`, `faults` and `ask`."""

# ruff: noqa: E501 - the rows of a table of bots are read as lines

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from command import croupier
from helpers import built, long, played
from test_bot_spec import lay
from test_every_language import marks, needs

from host.bots.values import RAW_BYTES
from host.submissions.headline import Output

DEEP_PYTHON = """\
import sys
sys.setrecursionlimit(5000)
print("thinking", file=sys.stderr)
def down(n):
    return up(n) if n else {}["card"]
def up(n):
    return down(n - 1)
down(200)
"""
DEEP_JAVA = """\
public class Mine {
    static int down(int n) { if (n == 0) throw new IllegalStateException("no card"); return down(n - 1) + 1; }
    public static void main(String[] words) { down(900); }
}
"""
DEEP_LISP = """\
(defun down (n) (if (= n 0) (car (read-from-string "12")) (+ 1 (down (- n 1)))))
(print (down 300))
"""
DEEP_NODE = """\
Error.stackTraceLimit = 200;
const down = n => n ? down(n - 1) : undefined.card;
down(150);
"""
SANITIZED = """\
#include <stdlib.h>
#include <string.h>
static int decide(char *line) { char *copy = malloc(4); memcpy(copy, line, 40); return copy[9]; }
int main(void) { char line[64] = "S"; return decide(line); }
"""
SANITIZING = 'language = "c"\nrun = ["./bot"]\nbuild = ["cc -g -fsanitize=address -o bot mine.c"]\n'
LISP = 'language = "lisp"\nentry = "mine.lisp"\n'
THROWS = "#include <vector>\nint main() { std::vector<int> cards; return cards.at(3); }\n"

CRASHES: dict[str, tuple[tuple[str, ...], Mapping[str, str | bytes], str]] = {
    "python": (("python3",), {"mine.py": DEEP_PYTHON}, "KeyError: 'card'"),
    "c": (("cc",), {"mine.c": '#include <assert.h>\nint main(void) { assert(!"card"); }\n'}, r".*mine\.c:2: main: Assertion .*"),
    "a sanitizer": (("cc",), {"mine.c": SANITIZED, "bot.toml": SANITIZING}, r"AddressSanitizer: heap-buffer-overflow (/proc/self/exe\+0x.*|in decide mine\.c:3)"),
    "cpp": (("c++",), {"mine.cpp": THROWS}, r"terminate called after throwing an instance of 'std::out_of_range' what\(\): .*"),
    "java": (("java", "javac", "jar"), {"Mine.java": DEEP_JAVA}, 'Exception in thread "main" java.lang.IllegalStateException: no card'),
    "sbcl": (("sbcl",), {"mine.lisp": DEEP_LISP}, "Unhandled TYPE-ERROR The value 12 is not of type LIST"),
    "ecl": (("ecl",), {"mine.lisp": DEEP_LISP, "bot.toml": LISP + 'compiler = "ecl"\n'}, "In function CAR, the value of the only argument is 12 which is not .*"),
    "clisp": (("clisp",), {"mine.lisp": DEEP_LISP, "bot.toml": LISP + 'compiler = "clisp"\n'}, r"\*\*\* - CAR: 12 is not a list"),
    "javascript": (("node",), {"mine.js": DEEP_NODE}, "TypeError: Cannot read properties of undefined .*"),
    "perl": (("perl",), {"mine.pl": 'die "no card";\n'}, r"no card at mine\.pl line 1\."),
    "bash": (("bash",), {"mine.bash": "set -e\nno-such-program\n"}, "mine.bash: line 2: no-such-program: command not found"),
    "shell": ((), {"mine+": "#!/bin/sh\nset -e\nno-such-program\n"}, ".*mine: 3: no-such-program: not found"),
    "ruby": (("ruby",), {"mine.rb": "def decide = nil.card\ndecide\n"}, r"mine\.rb:1:in .*NoMethodError.*"),
    "php": (("php",), {"mine.php": "<?php throw new Exception('no card');\n"}, "(?:PHP )?Fatal error: +Uncaught Exception: no card.*"),
    "lua": (("lua",), {"mine.lua": "local cards = nil\nprint(cards.first)\n"}, r"lua\S*: mine\.lua:2: .*"),
    "rust": (("rustc",), {"mine.rs": "fn main() { let v: Vec<i32> = vec![]; println!(\"{}\", v[std::env::args().count()]); }\n"}, "panicked at .*index out of bounds.*"),
    "go": (("go",), {"mine.go": 'package main\n\nfunc main() { panic("no card") }\n'}, "panic: no card"),
    "haskell": (("ghc",), {"mine.hs": 'main :: IO ()\nmain = error "no card"\n'}, "bot: no card.*"),
}  # fmt: skip
"""A bot that crashes in each language: the programs it needs, its files, and the headline."""

LANGUAGE_OF = {"a sanitizer": "c", "sbcl": "lisp", "ecl": "lisp", "clisp": "lisp", "shell": "any"}
LONG = ("c", "a sanitizer", "cpp", "java", "sbcl", "ecl", "clisp", "javascript", "perl", "ruby", "php", "lua", "bash")


@pytest.mark.long
@pytest.mark.parametrize(
    "what",
    [
        pytest.param(each, marks=[*marks(LANGUAGE_OF.get(each, each)), *([pytest.mark.long] if each in LONG else [])])
        for each in CRASHES
    ],
)
@pytest.mark.one_in(3)
def test_every_command_shows_the_line_with_the_error(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, files, expected = CRASHES[what]
    needs(*programs)
    monkeypatch.chdir(tmp_path)
    lay({f"mine/{name}": content for name, content in files.items()})

    checked, report = (
        croupier("check", "mine", "-g", "cardshark"),
        croupier("--json", "check", "mine", "-g", "cardshark"),
    )
    croupier("play", "mine", "sample:davey", "-g", "cardshark", "-n", "1", "-q")
    faults, group = croupier("faults", "mine"), croupier("--json", "faults", "mine").json["rows"][0]
    asked, row = (
        croupier("ask", f"fault:{group['fault']}"),
        croupier("--json", "ask", f"fault:{group['fault']}").json["rows"][0],
    )

    (problem,) = report.json["rows"][0]["problems"]
    assert re.search(f":  {expected}$", problem["message"]), problem["message"]
    assert problem["message"] in checked.out
    for text, facts in ((faults.out, group), (asked.out, row)):
        assert re.fullmatch(expected, facts["headline"]), facts
        assert f"  error    {facts['headline']}\n" in text, text
    shown = [
        line.removeprefix("  stderr: ") for line in problem["evidence"].splitlines() if line.startswith("  stderr: ")
    ]
    assert len(shown) <= 5


def test_the_first_and_the_last_bytes_of_standard_error_are_kept(tmp_path: Path) -> None:
    for protocol, loop in (("argv", ""), ("lines", "sys.stdin.readline()\n")):
        folder = tmp_path / protocol
        folder.mkdir(mode=0o755)
        text = f"import sys\n{loop}sys.stderr.write('first ' + 'x' * 100_000 + ' last')\nsys.exit(3)\n"
        (folder / "mine.py").write_text(text)

        (piece, *_) = played("cardshark", [built(folder / "mine.py", protocol=protocol)], 1).evidence

        head, mark, tail = piece.stderr.decode().partition("\n… 95915 bytes left out …\n")
        assert mark and head.startswith("first x") and tail.endswith("x last")
        assert len(head) == len(tail) == RAW_BYTES


CHATTERS = """\
import sys, time
for number, line in enumerate(sys.stdin):
    print(f"question {number}: " + "chatter" * 1000, file=sys.stderr)
    if number == 3:
        sys.exit("X" * 10_000 + "the end")
    time.sleep(0.05)
    print("S")
"""
"""Takes its time for an answer, so that croupier reads what it wrote before the next question."""


@pytest.mark.long
def test_the_first_bytes_are_those_since_the_question(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CHATTERS)
    tmp_path.chmod(0o755)

    pieces = played("cardshark", [built(tmp_path / "mine.py", protocol="lines")], 6).evidence

    piece = next(each for each in pieces if each.kind == "crash")
    assert piece.stderr.startswith(b"question 3: chatter") and piece.stderr.endswith(b"XXthe end\n")
    assert b" bytes left out " in piece.stderr


# Compilers.

UNDEFINED_C = "#include <stdio.h>\nint main(void) { return decide(3); }\n"
TWO_ERRORS = "int main(void) { return nothing; }\nint other(void) { return neither; }\n"
CARGO_TOML = '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n'
BUILDS: dict[str, tuple[tuple[str, ...], Mapping[str, str | bytes], str, str]] = {
    "one error": (("cc",), {"mine.c": "int main(void) { return nothing; }\n"}, "mine.c:1:25: error: .*nothing.*", "correct what it names, then check again"),
    "several errors": (("cc",), {"mine.c": TWO_ERRORS}, "mine.c:1:25: error: .*nothing.*", "fix the first error first: it may cause the others"),
    "the linker": (("cc",), {"mine.c": UNDEFINED_C}, ".* undefined reference to `decide'", "correct what it names, then check again"),
    "the linker of C++": (("c++",), {"mine.cpp": "int decide(int);\nint main() { return decide(3); }\n"}, r".* undefined reference to `decide\(int\)'", "correct what it names, then check again"),
    "java": (("javac",), {"Mine.java": "class Mine { int f() { return nothing; } }\n"}, "Mine.java:1: error: cannot find symbol", "correct what it names, then check again"),
    "an older cargo": (("cargo",), {"Cargo.toml": CARGO_TOML, "Cargo.lock": "version = 99\n", "src/main.rs": "fn main() {}\n"}, ".*", "leave Cargo.lock out, or write it with the cargo of this machine: a newer one wrote it"),
}  # fmt: skip
"""What does not build: the programs it needs, its files, the line that the message ends with, and the hint."""


@pytest.mark.parametrize("what", [long(each) if each == "java" else each for each in BUILDS])
def test_what_does_not_build_is_named_in_the_message(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, files, expected, hint = BUILDS[what]
    needs(*programs)
    monkeypatch.chdir(tmp_path)
    lay({f"mine/{name}": content for name, content in files.items()})

    (problem,) = croupier("--json", "check", "mine", "-g", "cardshark").json["rows"][0]["problems"]

    assert (problem["code"], problem["hint"]) == ("B010", hint)
    assert re.search(f"s\\):  {expected}$", problem["message"]), problem["message"]


def test_the_warning_of_an_undefined_function_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lay({"mine/mine.c": "int main(void) {\n    return decide(3);\n}\n"})

    (problem,) = croupier("--json", "check", "mine", "-g", "cardshark").json["rows"][0]["problems"]

    shown = problem["evidence"].splitlines()
    assert any("mine.c:2:12: warning: implicit declaration of function" in line for line in shown[:2]), shown
    assert any("undefined reference to `decide'" in line for line in shown)


@pytest.mark.long
def test_a_bot_that_calls_an_undefined_function_is_noted_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("sbcl")
    monkeypatch.chdir(tmp_path)
    lay({"mine/mine.lisp": '(defun decide () (pick-crad))\n(format t "S~%")\n'})

    done = croupier("check", "mine", "-g", "cardshark")

    assert "  ! compiler        undefined function: COMMON-LISP-USER::PICK-CRAD\n" in done.out
    assert done.code == 0


def test_ordinary_output_has_no_headline() -> None:
    for text in ("", "thinking\n", "I hold 21: stand\n", "error rate 3 %\n", "9.3: better\n"):
        assert Output(text.encode()).headline == ""
    assert Output(b"one\n\ntwo\n").headline_or_last_line == "two"
