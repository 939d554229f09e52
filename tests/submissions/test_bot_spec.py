"""bot.toml and single files: what a bot is, and the messages for folders that are not bots."""

# ruff: noqa: E501 - the rows of a table of messages are read as lines

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from command import cup_in
from helpers import offenders

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec, RequestedLimits, Submission
from host.games import GAMES
from host.ops.bots import find_bots
from host.sandbox.limits import KIB, MIB, Limits
from host.submissions.discovery import disambiguate, expand_patterns, load_submission, load_submissions
from host.submissions.file_tree import SUBMITTED
from host.submissions.languages import LANGUAGES, can_convert, python_2_cure, tool
from host.submissions.sample_bots import folder, sample, samples


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one, so that messages contain short paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lay(files: Mapping[str, str | bytes]) -> None:
    """Write files; a name that ends with + is executable."""
    for name, content in files.items():
        path = Path(name.removesuffix("+"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o755 if name.endswith("+") else 0o644)


def refusal(path: str, granted: Limits | None = None) -> UserError:
    """Return the error message about a bot."""
    with pytest.raises(UserError) as refused:
        load_submission(Path(path), granted or Limits())
    return refused.value


C, PY, JAVA = "int main(void) { return 0; }\n", 'print("S")\n', "class Mine { }\n"

LONE = [
    ("lim17.py", PY, ("lim17", "python", (), "lim17.py")),
    ("lim17.py", "#!/usr/bin/env python3\n" + PY, ("lim17", "python", (), "lim17.py")),  # needs no execute bit
    ("davey.c", C, ("davey", "c", ("davey.c",), "")),
    ("basic.cc", C, ("basic", "cpp", ("basic.cc",), "")),
    ("Mine.java", JAVA, ("Mine", "java", ("Mine.java",), "")),
    ("lisper.lisp", "()", ("lisper", "lisp", (), "lisper.lisp")),
    ("foo+", "#!/bin/sh\necho S\n", ("foo", "any", (), "foo")),
    ("foo.sh+", "#!/bin/sh\necho S\n", ("foo", "any", (), "foo.sh")),
    ("foo+", b"\x7fELF\x02\x01\x01", ("foo", "any", (), "foo")),
    ("Mr. T's+", "#!/bin/sh\n", None),
    ("<script>.py", PY, ("<script>", "python", (), "<script>.py")),
]


@pytest.mark.parametrize(("name", "content", "meant"), LONE)
def test_a_lone_file_is_a_bot(here: Path, name: str, content: str | bytes, meant: tuple[object, ...] | None) -> None:
    lay({name: content})
    file = name.removesuffix("+")
    if meant is None:
        assert "has a name that a bot's file cannot have" in str(refusal(file))
        return
    bot = load_submission(Path(file))
    assert (bot.name, bot.spec.language, bot.spec.sources, bot.spec.entry) == meant
    assert (bot.folder, bot.files, bot.manifest) == (here, (file,), "")


FOLDERS = [
    ({"davey.c": C, "cards.c": C, "cards.h": ""}, ("c", ("cards.c", "davey.c"), "")),
    ({"Mine.java": JAVA, "players/Other.java": JAVA}, ("java", ("Mine.java", "players/Other.java"), "")),
    ({"x.py": PY, "data.txt": ""}, ("python", (), "x.py")),
    ({"main.py": PY, "cards.py": PY}, ("python", (), "main.py")),
    ({"mine.py": PY, "cards.py": PY}, ("python", (), "mine.py")),
    ({"go+": "#!/bin/sh\n", "data.txt": ""}, ("any", (), "go")),
    ({"a.lisp": "()", "bot.toml": 'compiler = "clisp"'}, ("lisp", (), "a.lisp")),
    ({"a.py": PY, "b.c": C, "bot.toml": 'entry = "a.py"'}, ("python", (), "a.py")),
    ({"a.c": C, "b.c": C, "bot.toml": 'sources = ["a.c"]'}, ("c", ("a.c",), "")),
    ({"turn.py": PY, "x.java": JAVA, "bot.toml": 'adapter = "banksalad"'}, ("python", (), "turn.py")),
    ({"NEPTR.java": JAVA, "bot.toml": 'adapter = "simplepazaak"'}, ("java", ("NEPTR.java",), "")),
    ({"x.zig": "", "bot.toml": 'run = ["./x"]\nbuild = ["zig build-exe x.zig"]'}, ("any", (), "")),
    ({"x.py": PY, "bot.toml": 'run = ["python3", "x.py"]'}, ("any", (), "")),
]


@pytest.mark.parametrize(("files", "meant"), FOLDERS)
def test_a_folder_is_a_bot(here: Path, files: dict[str, str], meant: tuple[object, ...]) -> None:
    lay({f"mine/{name}": content for name, content in files.items()})
    bot = load_submission(Path("mine"))
    assert (bot.name, bot.spec.language, bot.spec.sources, bot.spec.entry) == ("mine", *meant)


def test_a_manifest_means_what_it_says(here: Path) -> None:
    text = """
        name = "Mr. O'Hara <script>"
        author = "dmckee"
        game = "pazaak"
        language = "java"
        protocol = "lines"
        sources = ["Mine.java"]
        main = "Players.Mine"
        heap = "64 MiB"
        parallel_tables = 64
        table_ids = true
        lifetime = "table"
        needs = ["zig"]
        env = { LANG = "C.UTF-8" }
        state = "memory.bin"
        state_lifetime = "stage"
        cores = 2
        [limits]
        move = "250 ms"
        state = "4 KiB"
    """
    lay({"mine/bot.toml": text, "mine/Mine.java": JAVA, "mine/Other.java": JAVA})
    assert load_submission(Path("mine"), Limits(move=2.0, memory=256 * MIB, cores=4)) == Submission(
        spec=BotSpec(
            name="Mr. O'Hara <script>",
            language="java",
            author="dmckee",
            game="pazaak",
            protocol="lines",
            sources=("Mine.java",),
            main="Players.Mine",
            heap=64 * MIB,
            env={"LANG": "C.UTF-8"},
            needs=("zig",),
            parallel_tables=64,
            table_ids=True,
            lifetime="table",
            state="memory.bin",
            state_lifetime="stage",
            cores=2,
            limits=RequestedLimits(move=0.25, state=4 * KIB),
        ),
        folder=here / "mine",
        files=("Mine.java", "Other.java", "bot.toml"),
        limits=Limits(move=0.25, memory=256 * MIB, state=4 * KIB, cores=4),
        manifest="mine/bot.toml",
    )


def test_a_bot_that_asks_for_nothing_gets_what_is_granted(here: Path) -> None:
    lay({"x.py": PY})
    assert load_submission(Path("x.py"), Limits(move=2.0)).limits == Limits(move=2.0)


def test_what_tools_leave_in_a_folder_is_no_part_of_a_bot(here: Path) -> None:
    lay({"mine/x.py": PY, "mine/.git/config": "", "mine/__pycache__/x.pyc": ""})
    assert load_submission(Path("mine")).files == ("x.py",)


MANIFESTS = [
    ('nam = "x"', 'error[C001] mine/bot.toml:1: unknown key "nam"\n  hint: name'),
    ('name = ""', 'error[C009] mine/bot.toml:1: name = "" is empty'),
    ('name = "a/b"', 'error[C009] mine/bot.toml:1: name = "a/b" contains "/" or "#", which separate a bot from its tables'),
    ('name = "a#2"', 'error[C009] mine/bot.toml:1: name = "a#2" contains "/" or "#", which separate a bot from its tables'),
    ('name = "-x"', 'error[C009] mine/bot.toml:1: name = "-x" begins with "-", "." or "sample:"'),
    ('name = "sample:x"', 'error[C009] mine/bot.toml:1: name = "sample:x" begins with "-", "." or "sample:"'),
    ('name = " x"', 'error[C009] mine/bot.toml:1: name = " x" begins or ends with a blank'),
    (f'name = "{"x" * 41}"', f'error[C009] mine/bot.toml:1: name = "{"x" * 41}" is longer than 40 characters'),
    ('name = "a\\nb"', 'error[C009] mine/bot.toml:1: name = "a\\nb" has a character that cannot be printed'),
    ('name = "\\u202Ex"', 'error[C009] mine/bot.toml:1: name = "\\u202ex" has a character that cannot be printed'),
    ('game = "holdm"', 'error[C008] mine/bot.toml:1: game = "holdm" is not a game\n  hint: holdem'),
    ('language = "c++"', 'error[C008] mine/bot.toml:1: language = "c++" is not a language\n  hint: cpp'),
    ('language = "pyton"', 'error[C008] mine/bot.toml:1: language = "pyton" is not a language\n  hint: python'),
    ('protocol = "http"', 'error[C008] mine/bot.toml:1: protocol = "http" is not a protocol\n  hint: one of argv, lines, json, block, botzone, botzone-simple'),
    ('adapter = "banksald"', 'error[C008] mine/bot.toml:1: adapter = "banksald" is not an adapter\n  hint: banksalad'),
    ('lifetime = "game"', 'error[C008] mine/bot.toml:1: lifetime = "game" is not a lifetime\n  hint: one of fixture, table, question'),
    ("parallel_tables = 2000", "error[C009] mine/bot.toml:1: parallel_tables = 2000 is out of range\n  hint: 1 to 1024"),
    ("abreast = 64", 'error[C001] mine/bot.toml:1: unknown key "abreast"\n  hint: parallel_tables'),
    ("tables = true", 'error[C001] mine/bot.toml:1: unknown key "tables"\n  hint: table_ids'),
    ('table_ids = "yes"', 'error[C006] mine/bot.toml:1: table_ids = "yes" is neither true nor false'),
    ('requires = ["--index-url=http://x"]', 'error[C009] mine/bot.toml:1: requires: "--index-url=http://x" is not a requirement\n  hint: "numpy>=2": a name and its versions, no options, no addresses'),
    ('requires = ["x @ http://y"]', 'error[C009] mine/bot.toml:1: requires: "x @ http://y" is not a requirement\n  hint: "numpy>=2": a name and its versions, no options, no addresses'),
    ('python = "three"', 'error[C009] mine/bot.toml:1: python = "three" is not a version\n  hint: ">=3.11", or "3.12"'),
    ('entry = "/etc/passwd"', 'error[C009] mine/bot.toml:1: entry = "/etc/passwd" points outside the bot\'s folder'),
    ('entry = "../x.py"', 'error[C009] mine/bot.toml:1: entry = "../x.py" points outside the bot\'s folder'),
    ('sources = ["-fplugin=x.c"]', 'error[C009] mine/bot.toml:1: sources: "-fplugin=x.c" is not allowed as a file name of a bot'),
    ('state = "../x"', 'error[C009] mine/bot.toml:1: state = "../x" is not a name of one file or folder'),
    ('state = "bot.toml/"', 'error[C009] mine/bot.toml:1: state = "bot.toml/" is not a name of one file or folder'),
    ("env = { PATH = 1 }", 'error[C006] mine/bot.toml:1: env = { PATH = 1 } sets PATH to a value that is not a string\n  hint: PATH = "1"'),
    ('env = { LD_PRELOAD = "x" }', 'error[C009] mine/bot.toml:1: env = { LD_PRELOAD = "x" } sets LD_PRELOAD, which only croupier sets\n  hint: leave it out'),
    ('env = { GCONV_PATH = "/bot" }', 'error[C009] mine/bot.toml:1: env = { GCONV_PATH = "/bot" } sets GCONV_PATH, which only croupier sets\n  hint: leave it out'),
    ('[env]\nCROUPIER_SEED = "1"', 'error[C009] mine/bot.toml:1: env = { CROUPIER_SEED = "1" } sets CROUPIER_SEED, which only croupier sets\n  hint: leave it out'),
    ('env = { "a=b" = "x" }', 'error[C009] mine/bot.toml:1: env = { "a=b" = "x" } names a variable "a=b"\n  hint: capital letters, digits and _'),
    (f'heap = "{"1" * 5000}"', f'error[C006] mine/bot.toml:1: heap = "{"1" * 56}… is not a number with a unit\n  hint: "1 MiB"'),
    ('heap = "64"', 'error[C002] mine/bot.toml:1: heap = "64" has no unit\n  hint: "64 MiB" or "65536 KiB"'),
    ('language = "java"\n[limits]\nmemory = "1 GiB"', 'error[C014] mine/bot.toml:3: memory = "1 GiB" is more than the 512 MiB granted\n  hint: memory = "512 MiB" or less; only the organiser can raise it, for all bots'),
    ('language = "java"\n[limits]\ntasks = 65', "error[C014] mine/bot.toml:3: tasks = 65 is more than the 64 granted\n  hint: tasks = 64 or less; only the organiser can raise it, for all bots"),
    ('language = "java"\ncores = 2', "error[C014] mine/bot.toml:2: cores = 2 is more than the 1 granted\n  hint: cores = 1 or less; only the organiser can raise it: [limits] cores = 2"),
    ('language = "java"\nheap = "1 GiB"', 'error[C013] mine/bot.toml:2: heap = "1 GiB" is more than the memory limit of 512 MiB\n  hint: heap = "128 MiB"'),
    ('language = "python"\nheap = "1 MiB"', 'error[C013] mine/bot.toml:2: heap = "1 MiB" has no effect for a bot in python\n  hint: it is for java and lisp'),
    ('language = "lisp"\nentry = "x.py"\nwarm = true', "error[C013] mine/bot.toml:3: warm = true has no effect for a bot in lisp\n  hint: it is for python"),
    ('game = "cardshark"\nlanguage = "python"\nparallel_tables = 2', 'error[C013] mine/bot.toml:3: parallel_tables = 2 has no effect with argv, which starts a process per question\n  hint: protocol = "lines"'),
    ('protocol = "argv"\nlanguage = "python"\ntable_ids = true', 'error[C013] mine/bot.toml:3: table_ids = true has no effect with argv, which starts a process per question\n  hint: protocol = "lines"'),
    ('language = "python"\nstate = "a/"\nstate_lifetime = "stage"', 'error[C013] mine/bot.toml:3: state_lifetime = "stage" is not possible for a folder\n  hint: state = "memory.bin"'),
    ('language = "python"\nstate = "a"\nstate_lifetime = "stage"\nstate_absent = true', 'error[C013] mine/bot.toml:4: state_absent = true is not possible for a file that is kept for a stage\n  hint: state_lifetime = "fixture"'),
    ('language = "python"\nstate_lifetime = "stage"', 'error[C013] mine/bot.toml:2: state_lifetime = "stage" needs `state`, which bot.toml does not set\n  hint: state = "memory.bin"'),
    ('game = "pazaak"\nadapter = "banksalad"', 'error[C013] mine/bot.toml:1: game = "pazaak" contradicts adapter = "banksalad"\n  hint: game = "holdem", or no game'),
    ('language = "java"\nsources = ["Mime.java"]', 'error[B008] mine/bot.toml:2: sources: no file "Mime.java"\n  mine has: Mine.java, bot.toml, x.py\n  hint: did you mean "Mine.java"?'),
    ('entry = "turn.py"\nlanguage = "python"', 'error[B008] mine/bot.toml:1: entry: no file "turn.py"\n  mine has: Mine.java, bot.toml, x.py\n  hint: paths are relative to the folder of bot.toml'),
    ("", 'error[B014] mine: has sources of java and python: which is the bot?\n  mine has: Mine.java, bot.toml, x.py\n  hint: language = "java" in bot.toml'),
    ('language = "c"', 'error[B014] mine: has no source file of c\n  mine has: Mine.java, bot.toml, x.py\n  hint: sources = ["…"] in bot.toml'),
]  # fmt: skip


def test_a_wrong_manifest_is_refused(here: Path) -> None:
    assert not offenders(check_manifest, MANIFESTS)


def check_manifest(text: str, message: str) -> None:
    """Check the message about a bot.toml, and its exit code."""
    lay({"mine/bot.toml": text, "mine/x.py": PY, "mine/Mine.java": JAVA})
    refused = refusal("mine")
    assert list(map(str, refused.problems)) == [message]
    assert refused.exit_code == (3 if "error[C" in message else 4)


def test_everything_wrong_in_a_manifest_is_said_at_once(here: Path) -> None:
    lay({"mine/bot.toml": 'nam = "x"\nheap = "1"\nparallel_tables = 0\n', "mine/x.py": PY})
    Path("mine/link").symlink_to("x.py")
    assert [problem.code for problem in refusal("mine").problems] == ["C001", "C002", "C009", "B016"]


def test_a_stranger_does_not_make_a_thousand_lines_of_errors(here: Path) -> None:
    lay({"mine/bot.toml": "\n".join(f"a{n} = 1" for n in range(1000)), "mine/x.py": PY})
    assert len(refusal("mine").problems) == 20


SH = "#!/bin/sh\n"
PROGRAMS: list[tuple[dict[str, str | bytes], str, str]] = [
    (
        {"mine/Mine.java": JAVA, "mine/build.sh": SH, "mine/bot.toml": '\n\n\n\n\nrun = ["./mine"]'},
        "mine",
        'error[B001] mine/bot.toml:6: run = ["./mine"]: no such file\n  mine has: Mine.java, bot.toml, build.sh\n  hint: did you mean  build = ["sh build.sh"] ?',
    ),
    (
        {"mine/Mine.java": JAVA, "mine/bot.toml": 'run = ["./mine"]'},
        "mine",
        'error[B001] mine/bot.toml:1: run = ["./mine"]: no such file\n  mine has: Mine.java, bot.toml\n  hint: did you mean  language = "java"  in the place of run?',
    ),
    (
        {"mine/go.sh+": SH, "mine/bot.toml": 'run = ["./go", "fast"]'},
        "mine",
        'error[B001] mine/bot.toml:1: run = ["./go", "fast"]: no such file\n  mine has: bot.toml, go.sh\n  hint: did you mean  run = ["./go.sh"] ?',
    ),
    (
        {"mine/x+": SH, "mine/bot.toml": 'run = ["/opt/none/x"]'},
        "mine",
        'error[B001] mine/bot.toml:1: run = ["/opt/none/x"]: no such file\n  mine has: bot.toml, x\n  hint: did you mean  run = ["./x"] ?',
    ),
    (
        {"foo": SH},
        "foo",
        "error[B002] foo: is not executable (mode 0644)\n  hint: chmod +x foo",
    ),
    (
        {"mine/lim17.py": PY, "mine/bot.toml": 'run = ["./lim17.py"]'},
        "mine",
        "error[B003] mine/lim17.py: the kernel cannot run this file (Exec format error): no '#!' line, not a binary\n  first bytes: 'print(\"S\")\\n'\n  hint: put  #!/usr/bin/env python3  in line 1, or set language = \"python\"",
    ),
    (
        {"foo+": "import sys\nprint(1)\n"},
        "foo",
        "error[B003] foo: the kernel cannot run this file (Exec format error): no '#!' line, not a binary\n  first bytes: 'import sys\\n'\n  hint: put  #!/usr/bin/env python3  in line 1, or set language = \"python\"",
    ),
    (
        {"foo+": b"\x1b[2J\xff\n"},
        "foo",
        "error[B003] foo: the kernel cannot run this file (Exec format error): no '#!' line, not a binary\n  first bytes: '\\x1b[2J\\\\xff\\n'\n  hint: put  #! and its interpreter  in line 1, or give it the suffix of its language",
    ),
    (
        {"foo+": ""},
        "foo",
        "error[B003] foo: the kernel cannot run this file (Exec format error): no '#!' line, not a binary\n  it is empty\n  hint: put  #! and its interpreter  in line 1, or give it the suffix of its language",
    ),
    (
        {"foo+": "#!/opt/none/python\n"},
        "foo",
        "error[B004] foo: exists, but its interpreter /opt/none/python does not\n  line 1: #!/opt/none/python\n  hint: #!/usr/bin/env python3",
    ),
    (
        {"foo+": "#!/opt/none/sh -e\n"},
        "foo",
        "error[B004] foo: exists, but its interpreter /opt/none/sh does not\n  line 1: #!/opt/none/sh -e\n  hint: #!/usr/bin/sh",
    ),
    (
        {"foo+": "#!/proc/self/exe\n"},
        "foo",
        "error[B004] foo: its interpreter /proc/self/exe does not exist inside a sandbox, which has /usr and /bin only\n  line 1: #!/proc/self/exe\n  hint: #!/bin/sh",
    ),
    (
        {"foo+": "#!/usr/bin/env python3\r\nprint(1)\r\n"},
        "foo",
        "error[B005] foo: line 1 ends with CR LF: the system looks for \"python3\\r\"\n  hint: sed -i 's/\\r$//' foo",
    ),
    (
        {"lim17.py": "import sys\n\n\n\nprint \"H\"\n"},
        "lim17.py",
        "error[B006] lim17.py:5: is Python 2:  print \"H\"\n  SyntaxError: Missing parentheses in call to 'print'\n  hint: change to print(\"H\"); {CURE}",
    ),
    (
        {"x.py": "try: pass\nexcept ValueError, e: pass\n"},
        "x.py",
        "error[B006] x.py:2: is Python 2:  except ValueError, e: pass\n  SyntaxError: multiple exception types must be parenthesized\n  hint: rewrite it for Python 3; {CURE}",
    ),
    (
        {"foo+": "#!/usr/bin/env nopython\n"},
        "foo",
        "error[B007] foo:1: /usr/bin/env: 'nopython': No such file or directory  (exit 127)\n  line 1: #!/usr/bin/env nopython\n  hint: it is not on /usr/local/bin:/usr/bin:/bin; change line 1, or add it to `needs` and have it installed",
    ),
    ({"mine/a.py": PY, "mine/b.py": PY}, "mine", 'error[B014] mine: has several: which python file is the bot?\n  mine has: a.py, b.py\n  hint: entry = "a.py" in bot.toml'),
    ({"mine/a.txt": "", "mine/b.txt": ""}, "mine", 'error[B014] mine: has neither a source file of a known language nor a program\n  mine has: a.txt, b.txt\n  hint: run = ["./…"], or language = "…" in bot.toml'),
    ({"x.py": "def f(:\n"}, "x.py", "error[B015] x.py:1: SyntaxError: invalid syntax\n  def f(:\n  hint: python3 -m py_compile x.py"),
    ({"#1.py": PY}, "#1.py", 'error[C009] #1.py: the bot\'s name "#1" contains "/" or "#", which separate a bot from its tables\n  hint: rename it, or name = "…" in a bot.toml'),
    ({"nestor.py": PY}, "nestr.py", "error[C012] nestr.py: there is no bot here: No such file or directory\n  hint: nestor.py"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "bot", "message"), PROGRAMS)
def test_a_bot_that_cannot_run_is_refused_before_it_is_tried(
    here: Path, files: dict[str, str | bytes], bot: str, message: str
) -> None:
    lay(files)
    refused = refusal(bot)
    assert list(map(str, refused.problems)) == [message.replace("{CURE}", python_2_cure(bot))]
    assert refused.exit_code == {"B": 4, "C": 3}[message[6]] if "C012" not in message else 2


@pytest.mark.parametrize(
    "source", [b"x = 1\0", b"(" * 5000, b"-" * 200_000 + b"1", b"x = " + b"[" * 100_000, b"x = '\xff'", b"\xff" * 100]
)
def test_source_made_to_break_a_compiler_breaks_nothing(here: Path, source: bytes) -> None:
    lay({"x.py": source})
    try:
        assert load_submission(Path("x.py")).spec.language == "python"
    except UserError as refused:
        assert [problem.code for problem in refused.problems] == ["B015"]


def test_python_2_may_be_asked_for(here: Path) -> None:
    lay({"mine/x.py": 'print "H"\n', "mine/bot.toml": 'python = "2.7"'})
    assert load_submission(Path("mine")).spec.python == "2.7"


SPECIAL = {
    "link": (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
    "folder": (lambda path: path.symlink_to("/etc"), "is a link"),
    "fifo": (os.mkfifo, "is a FIFO"),
    "socket": (lambda path: socket.socket(socket.AF_UNIX).bind(str(path)), "is a socket"),
    "big": (lambda path: (path.touch(), os.truncate(path, 16 * MIB + 1)), "is larger than 16 MiB"),
    "a\nb": (Path.touch, "has a name that a bot's file cannot have"),
    "-x": (Path.touch, "has a name that a bot's file cannot have"),
    "\x1b[2J": (Path.touch, "has a name that a bot's file cannot have"),
    "\udcff": (Path.touch, "has a name that a bot's file cannot have"),
}


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_no_regular_file_is_refused_by_name(here: Path, name: str) -> None:
    make, why = SPECIAL[name]
    lay({"mine/x.py": PY})
    make(Path("mine") / name)  # type: ignore[operator]
    shown = name.encode("unicode_escape", "surrogatepass").decode()
    hint = "a bot contains only regular files: no links, no devices, no unusual names"
    if name == "big":
        hint = "an organiser can accept larger files: submission in [limits] of croupier.toml"
    assert str(refusal("mine")) == f"error[B016] mine/{shown}: {why}\n  hint: {hint}"


def test_a_bot_that_is_itself_a_link_is_refused(here: Path) -> None:
    Path("x.py").symlink_to("/etc/passwd")
    assert str(refusal("x.py")).startswith("error[B016] x.py: is a link")


@pytest.mark.parametrize("target", ["/etc/passwd", "/etc"])
def test_a_manifest_that_is_a_link_is_not_read(here: Path, target: str) -> None:
    lay({"mine/x.py": PY})
    Path("mine/bot.toml").symlink_to(target)
    assert str(refusal("mine")).startswith("error[B016] mine/bot.toml: is a link")


def test_a_folder_is_looked_at_up_to_a_bound(here: Path) -> None:
    lay({f"mine/{number}.txt": "" for number in range(SUBMITTED.entries + 1)})
    assert str(refusal("mine")).startswith("error[B016] mine: has more than 1000 files")


def test_a_folder_has_a_largest_size(here: Path) -> None:
    lay({f"mine/{number}": "" for number in range(5)})
    for number in range(5):
        os.truncate(f"mine/{number}", 16 * MIB)
    assert "makes the folder larger than 64 MiB" in str(refusal("mine"))


def test_a_folder_has_a_largest_depth(here: Path) -> None:
    lay({"mine/" + "d/" * 30 + "x.py": PY})
    assert "is more than 20 folders deep" in str(refusal("mine"))


def test_two_bots_of_one_name_are_refused(here: Path) -> None:
    lay({"bots/nestor/x.py": PY, "bots/nestor/bot.toml": 'name = "Nestor"', "bots/nestor2/x.py": PY})
    lay({"bots/nestor2/bot.toml": 'name = "Nestor"'})
    with pytest.raises(UserError) as refused:
        load_submissions(["bots/*"], here)
    assert str(refused.value) == (
        'error[C003] two bots are called "Nestor": bots/nestor, bots/nestor2\n  hint: name = … in bot.toml'
    )
    assert refused.value.exit_code == 3


def test_a_bot_for_another_game_is_refused(here: Path) -> None:
    lay({"bots/mine/x.py": PY, "bots/mine/bot.toml": 'game = "pazaak"'})
    with pytest.raises(UserError) as refused:
        load_submissions(["bots/*"], here, GAMES["cardshark"])
    assert str(refused.value) == (
        "error[C015] bots/mine/bot.toml: mine plays pazaak, and this is cardshark\n"
        '  hint: game = "cardshark", or remove it from `bots`'
    )


def test_the_game_that_one_bot_declares_is_that_of_a_bot_that_declares_none(here: Path) -> None:
    cup_in(here / "cup")
    lay({"mine/x.py": PY, "mine/bot.toml": 'game = "holdem"', "other.py": PY})
    found = find_bots(here / "cup", ["mine/", "./other.py"])
    assert (found.game.name, [each.spec.game for each in found.submissions]) == ("holdem", ["holdem", ""])


def test_a_bot_of_the_tournament_is_found_by_its_name_and_by_that_of_its_folder(here: Path) -> None:
    (here / "croupier.toml").write_text('game = "pazaak"\n')
    lay({"bots/mine.1/x.py": PY, "bots/mine.1/bot.toml": 'name = "Nestor"', "bots/other.py": PY})
    found = find_bots(here, ["Nestor", "mine.1", "other"])
    assert [each.name for each in found.submissions] == ["Nestor", "Nestor#2", "other"]
    with pytest.raises(UserError, match=r"\(bots here: Nestor, other, mine\.1\)"):
        find_bots(here, ["none"])


def test_every_broken_bot_is_named_at_once(here: Path) -> None:
    lay({"bots/a+": "#!/opt/none/x\n", "bots/b": SH, "bots/c.py": PY})
    with pytest.raises(UserError) as refused:
        load_submissions(["bots/*"], here)
    assert [problem.code for problem in refused.value.problems] == ["B004", "B002"]
    assert refused.value.exit_code == 4


def test_patterns_find_each_bot_once_and_no_readme(here: Path) -> None:
    lay({"bots/a.py": PY, "bots/b.py": PY, "bots/README.md": "", "bots/.hidden.py": PY, "bots/__pycache__/x": ""})
    found = expand_patterns(["bots/b.py", "bots/*", "none/*"], here)
    assert [path.name for path in found] == ["b.py", "a.py"]


def test_a_limit_that_the_tournament_grants_reaches_every_bot(here: Path) -> None:
    lay({"bots/a.py": PY})
    (bot,) = load_submissions(["bots/*"], here, GAMES["cardshark"], Limits(move=3.0))
    assert bot.limits.move == 3.0


def test_the_same_bot_twice_gets_two_names(here: Path) -> None:
    lay({"a.py": PY})
    bot = load_submission(Path("a.py"))
    assert [submission.name for submission in disambiguate([bot, bot, bot])] == ["a", "a#2", "a#3"]


def test_a_sample_is_found_by_its_name() -> None:
    assert sample("sample:lim17", "cardshark") == sample("lim17") == folder() / "cardshark" / "lim17.py"


def test_an_unknown_sample_brings_the_nearest() -> None:
    with pytest.raises(UserError) as refused:
        sample("lim71", "cardshark")
    assert str(refused.value) == (
        'error[C012] there is no sample bot of cardshark called "lim71"\n  hint: sample:lim17'
    )
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("game", GAMES)
def test_every_sample_is_named_by_its_file(game: str) -> None:
    assert list(samples(game)) == sorted(samples(game))
    assert not any(name.startswith(("README", ".", "_")) for name in samples(game))


def test_every_key_that_a_language_understands_is_a_key_of_the_manifest() -> None:
    keys = set(BotSpec.__dataclass_fields__)
    assert {key for row in LANGUAGES.values() for key in row.keys} <= keys


@pytest.mark.skipif(not can_convert(), reason="NO lib2to3 HERE: python3 is 3.13 or newer, or lacks it")
def test_the_cure_for_python_2_works(here: Path) -> None:
    lay({"x.py": 'try:\n    print "H"\nexcept ValueError, e:\n    pass\n'})
    (problem,) = refusal("x.py").problems
    command = problem.hint.rpartition(":  ")[2]
    assert command == "python3 -m lib2to3 -w -n x.py"
    program = tool("python3")
    subprocess.run([str(program), *command.split()[1:]], check=True, capture_output=True)
    assert load_submission(here / "x.py").name == "x"
