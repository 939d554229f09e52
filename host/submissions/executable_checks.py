"""Whether a program can be run, told before anybody tries."""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path, PurePosixPath

from host.base import paths
from host.base.config_file import escaped
from host.base.errors import Problem
from host.submissions.file_tree import LARGEST_FILE, FileTree
from host.submissions.languages import PATH


def runnable(start: bytes) -> bool:
    """Return whether a file that starts so is a program: a binary, or a script that names its interpreter."""
    return start.startswith((b"#!", b"\x7fELF"))


def program_problems(contents: FileTree, name: str) -> list[Problem]:
    """Return what keeps the kernel from running a file: its mode, its first line, or the interpreter that this names."""
    where, start = contents.where(name), contents.start_of(name)
    if not runnable(start):
        line = start.partition(b"\n")
        first = repr((line[0] + line[1])[:40].decode(errors="backslashreplace"))
        python = re.match(rb"(import|from|def|class|print|if|#.*python)\b", start)
        message = "the kernel cannot run this file (Exec format error): no '#!' line, not a binary"
        hint = 'put  #!/usr/bin/env python3  in line 1, or set language = "python"'
        if not python:
            hint = "put  #! and its interpreter  in line 1, or give it the suffix of its language"
        return [Problem("B003", where, message, f"first bytes: {first}" if start else "it is empty", hint)]
    problems = []
    if not contents.modes[name] & 0o111:
        mode = f"{stat.S_IMODE(contents.modes[name]):04o}"
        hint = f"chmod +x {where}"
        problems.append(Problem("B002", where, f"is not executable (mode {mode})", hint=hint))
    if start.startswith(b"#!"):
        problems += _shebang_problems(contents, name, start.partition(b"\n")[0][2:].decode(errors="replace"))
    return problems


VISIBLE = ("/usr/", "/bin/", "/sbin/", "/lib")
"""Where programs lie that a sandbox can see."""


def _shebang_problems(contents: FileTree, name: str, line: str) -> list[Problem]:
    where = contents.where(name)
    words = line.rstrip("\r").split()
    interpreter = words[0] if words else ""
    asked = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    by_env = PurePosixPath(interpreter).name == "env" and bool(asked)
    if line.endswith("\r"):
        sought = asked[0] if by_env else interpreter
        hint = rf"sed -i 's/\r$//' {where}"
        return [
            Problem("B005", where, f'line 1 ends with CR LF: the system looks for "{escaped(sought)}\\r"', hint=hint)
        ]
    shown_line = f"line 1: #!{escaped(line)}"
    if by_env and interpreter.startswith("/") and Path(interpreter).exists():
        if shutil.which(asked[0], path=PATH):
            return []
        message = f"{escaped(interpreter)}: '{escaped(asked[0])}': No such file or directory  (exit 127)"
        hint = f"it is not on {PATH}; change line 1, or say  needs  and have it installed"
        if asked[0] in ("python", "python2") and shutil.which("python3", path=PATH):
            hint = 'this system has python3 only; change line 1, or language = "python" in bot.toml'
        return [Problem("B007", f"{where}:1", message, shown_line, hint)]
    if interpreter.startswith(VISIBLE) and Path(interpreter).exists():
        return []
    if not interpreter.startswith("/") and str(PurePosixPath(interpreter)) in contents.modes:
        return []
    base = PurePosixPath(interpreter).name
    better = shutil.which(base, path=PATH) if base else None
    hint = "#!/usr/bin/env python3" if base.startswith("python") else f"#!{better or '/bin/sh'}"
    message = f"exists, but its interpreter {escaped(interpreter)} does not"
    if interpreter.startswith("/") and Path(interpreter).exists():
        message = (
            f"its interpreter {escaped(interpreter)} does not exist inside a sandbox, which has /usr and /bin only"
        )
    return [Problem("B004", where, message, shown_line, hint)]


COMPILED = """
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
warnings.simplefilter("ignore")
try:
    compile(sys.stdin.buffer.read(), "bot", "exec", dont_inherit=True)
except SyntaxError as error:
    print(json.dumps([type(error).__name__, str(error.msg), error.lineno or 1, error.text or ""]))
except ValueError as error:
    print(json.dumps(["SyntaxError", str(error), 1, ""]))
"""
"""Compiles a guest's source in a process of its own, since a compiler can be made to crash or to eat memory."""

PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized|leading zeros in decimal"
)
PYTHON_2_LINE = re.compile(r"<>|`|\b[0-9]+[lL]\b|^\s*raise\s+\w+\s*,|^\s*(print|exec)\s+[\"'\w]|\bur[\"']")


def python_problems(contents: FileTree, name: str) -> list[Problem]:
    """Return what keeps Python from compiling a bot: that it is Python 2, or a slip."""
    python = shutil.which("python3", path=PATH)
    if python is None:
        return []  # that it is missing is said where it is needed
    root = os.geteuid() == 0
    uid, gid = paths.sandbox_user()
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-B", "-c", COMPILED],
            input=contents.start_of(name, LARGEST_FILE),
            capture_output=True,
            cwd="/",
            env={},
            timeout=10,
            user=uid if root else None,
            group=gid if root else None,
            extra_groups=[] if root else None,
        )
        kind, said, line, text = json.loads(done.stdout[:10_000])
    except (subprocess.SubprocessError, OSError, ValueError):
        return []  # it compiles, or cannot be looked at so: then its first question will tell
    where, text = f"{contents.where(name)}:{line}", escaped(text.strip())[:80]
    words = f"{kind}: {escaped(said.partition('. Did you mean')[0])}"
    if not (PYTHON_2.search(said) or PYTHON_2_LINE.search(text)):
        return [Problem("B015", where, words, text, f"python3 -m py_compile {contents.where(name)}")]
    printed = re.match(r"print\s+(.+)", text)
    change = f"change to print({printed[1]})" if printed else "rewrite it for Python 3"
    hint = f'python3 -m lib2to3 is gone from 3.13; {change}, or set python = "2.7" if you have it'
    return [Problem("B006", where, f"is Python 2:  {text}", words, hint)]
