"""`croupier check`: what it says of healthy bots, and every way in which a bot is refused, each by a real bad bot."""

# ruff: noqa: E501 - the rows of a table of bad bots are read as lines

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import Done, croupier, cup_in
from house import ROGUES, SAMPLES, level
from test_every_language import needs
from test_manifest import lay

from host.games import GAMES
from host.samples import samples


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one, so that messages name files by short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(files: Mapping[str, str | bytes], game: str = "cardshark") -> Done:
    """Check the bot that these files are: a folder called mine."""
    lay({f"mine/{name}": content for name, content in files.items()})
    return croupier("check", "mine", "-g", game)


C = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int n, char **a) {{ {} }}\n"
READS = "char line[200]; while (fgets(line, 200, stdin)) {}"
LINES = 'protocol = "lines"\n'
PYTHON = 'language = "python"\nentry = "bot.py"\n'
BRIEF = '[limits]\nmove = "400 ms"\nstartup = "200 ms"\n'
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
    "B011": ({"bot.toml": 'language = "java"\nmain = "Bot"\n', "Mine.java": "package Players; class Mine { public static void main(String[] a) { } }\n"},
             "mine: Java does not find the main class:  Error: Could not find or load main class Bot"),
    "B012": ({"bot+": SHORT_OF_SPACE + 'env LD_LIBRARY_PATH="$(dirname "$(readlink -f /usr/bin/java)")/../lib" java -Xmx4g -version\n'}, "mine: the JVM cannot reserve its heap:  "),
    "B013": ({"bot+": SHORT_OF_SPACE + "sbcl --dynamic-space-size 1GB --non-interactive --eval 1\n"}, "mine: SBCL cannot reserve its heap:  "),
    "B018": ({"bot+": b"\x7fELF\x02\x01\x01 is not all of it"}, "mine: cannot be started: Exec format error"),
    # answering
    "B020": ({"bot.toml": LINES + BRIEF, "bot.c": C.format(READS.format('printf("S\\n");'))}, "mine: answered only after its input was closed: it does not flush (nothing came for 400 ms)"),
    "B021": ({"bot.c": C.format(READS.format('puts("S");'))}, "mine: waits for input, but cardshark sends its question as arguments: it answers when the question is typed"),
    "B022": ({"bot.py": 'print("thinking...")\nprint("H")\n'}, "mine: wrote more than its answer:  'thinking...\\nH\\n'"),
    "B023": ({"bot.py": 'print("Hit")\n'}, "mine: 'Hit' is no move; a move is H, S, D or B <chips>"),
    "B025": ({"bot.toml": LINES + PYTHON + BRIEF, "bot.py": 'import sys\nfor line in sys.stdin:\n    print("S", end="", flush=True)\n'}, "mine: wrote 'S' and no line end: "),
    "B031": ({"bot.toml": PYTHON + BRIEF, "bot.py": "import sys, time\nprint('rehash!', file=sys.stderr, flush=True)\ntime.sleep(60)\n"}, "mine: no answer after 400 ms (CPU used "),
    "B032": ({"bot.toml": 'language = "c"\n[limits]\ncpu = "200 ms"\n', "bot.c": C.format("for (volatile int i = 0;; i++);")}, "mine: "),
    "B033": ({"bot.toml": 'language = "c"\n[limits]\nmemory = "32 MiB"\n', "bot.c": C.format("for (;;) memset(malloc(1 << 20), 1, 1 << 20);")}, "mine: more than 32 MiB of memory: it was killed for that, it did not crash by itself"),
    "B034": ({"bot.c": C.format("abort();")}, "mine: crashed: killed by signal 6 (aborted)"),
    "B035": ({"bot.py": 'raise ValueError("min() arg is an empty sequence")\n'}, "mine: exited with 1 without an answer:  ValueError: min() arg is an empty sequence"),
    "B036": ({"bot+": "#!/bin/sh\nexec sbcl --noinform --eval '(car 1)'\n"}, "mine: fell into the Lisp debugger, and exited with 1"),
    "B037": ({"bot.py": "import socket\nsocket.create_connection(('1.2.3.4', 443))\n"}, "mine: the sandbox refused it something, and it exited with 1:  PermissionError: "),
    "B038": ({"bot.c": C.format('for (int i = 0; i < 100000; i++) puts("S");')}, "mine: more than 4 KiB for one move: cut, and killed"),
}  # fmt: skip
"""By code: a bot that is refused for it, and how the message begins."""

NEEDS = {"B011": ("java", "javac", "jar"), "B012": ("java",), "B013": ("sbcl",), "B036": ("sbcl",)}


@pytest.mark.parametrize("code", BAD)
def test_a_bad_bot_is_refused_with_its_code_and_a_cure(code: str, here: Path) -> None:
    needs(*NEEDS.get(code, ()))
    files, message = BAD[code]

    done = checked(files)

    assert (done.code, done.err) == (1, "")
    assert f"error[{code}] {message}" in done.out, done.out
    told = done.out.partition(f"error[{code}] ")[2]
    assert "\n  hint: " in told, done.out
    assert "not accepted" in done.out.splitlines()[-1]
    assert done.out.count("error[") == 1
