"""Checks whether a program can be executed, before a sandbox starts it."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from host.base.errors import Problem
from host.base.safe_text import one_line
from host.submissions.file_tree import FileTree
from host.submissions.languages import LANGUAGES, PATH, SHELLS, Language, line_end_problems, tool


def runnable(start: bytes) -> bool:
    """Return whether a file that starts with these bytes is a program: a binary, or a script with a '#!' line."""
    return start.startswith((b"#!", b"\x7fELF"))


class Processor(NamedTuple):
    """A kind of processor: its name for people, and the kernel's names of the machines that can run its programs."""

    name: str
    machines: tuple[str, ...]


PROCESSORS = {
    0x03: Processor("x86", ("i386", "i686", "x86_64")),
    0x28: Processor("ARM (32 bits)", ("armv6l", "armv7l", "armv8l", "aarch64")),
    0x3E: Processor("x86_64", ("x86_64",)),
    0xB7: Processor("ARM (aarch64)", ("aarch64",)),
    0xF3: Processor("RISC-V", ("riscv64",)),
}
"""The processors in the head of a Linux program, by number."""

MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce")
MAX_ARCHITECTURES = (
    20  # of a universal program of macOS; a class of Java, which begins in the same way, has a larger number
)


def foreign_system(start: bytes) -> str:
    """Return the system of a program that this machine cannot run, given its first bytes; "" for any other file."""
    if start.startswith(b"MZ"):
        return "Windows"
    universal = start.startswith(b"\xca\xfe\xba\xbe") and int.from_bytes(start[4:8], "big") <= MAX_ARCHITECTURES
    if start.startswith(MACH_O) or universal:
        return "macOS"
    if not start.startswith(b"\x7fELF") or len(start) < 20:
        return ""
    theirs = PROCESSORS.get(int.from_bytes(start[18:20], "big" if start[5] == 2 else "little"))
    return f"Linux on {theirs.name}" if theirs and os.uname().machine not in theirs.machines else ""


def exists(path: str) -> bool:
    """Return whether a path exists. An untrusted author may have chosen it: return False if it cannot be examined."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises if a name is too long, or a folder may not be searched


TYPESCRIPT = "compile TypeScript yourself, and hand in the JavaScript: docs/languages.md#typescript"
OTHER_SOURCES: Mapping[str, str] = {
    ".ts": TYPESCRIPT,
    ".tsx": TYPESCRIPT,
    ".cs": "C# is not possible, because .NET and Mono need /proc: docs/languages.md#rust-go-haskell",
}
"""Hints for the authors of sources that croupier cannot run, by suffix."""


def program_problems(contents: FileTree, name: str) -> list[Problem]:
    """Return the reasons why the kernel cannot run a file: its mode, its first line, or the interpreter in that line."""
    where, start = contents.where(name), contents.start_of(name)
    if system := foreign_system(start):
        message = f"is a program for {system}, and this is {os.uname().sysname} on {os.uname().machine}"
        hint = "hand in its sources with a `language`, or a program that was compiled for this system"
        return [Problem("B003", where, message, hint=hint)]
    if not runnable(start):
        line = start.partition(b"\n")
        first = repr((line[0] + line[1])[:40].decode(errors="backslashreplace"))
        row = next((row for row in LANGUAGES.values() if row.marks.start and row.marks.start.match(start)), None)
        message = "the kernel cannot run this file (Exec format error): no '#!' line, not a binary"
        hint = "put  #! and its interpreter  in line 1, or give it the suffix of its language"
        if (suffix := PurePosixPath(name).suffix.lower()) in OTHER_SOURCES:
            hint = OTHER_SOURCES[suffix]
        elif row:
            hint = f'put  #!/usr/bin/env {row.programs[0]}  in line 1, or set language = "{row.name}"'
        return [Problem("B003", where, message, f"first bytes: {first}" if start else "it is empty", hint)]
    problems = []
    if not contents.modes[name] & 0o111:
        mode = f"{stat.S_IMODE(contents.modes[name]):04o}"
        hint = f"chmod +x {where}"
        problems.append(Problem("B002", where, f"is not executable (mode {mode})", hint=hint))
    if start.startswith(b"#!"):
        problems += _shebang_problems(contents, name, start.partition(b"\n")[0][2:].decode(errors="replace"))
    return problems


VISIBLE_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib")
"""The folders of programs that a sandbox can see."""


def _interpreted_by(program: str) -> Language | None:
    """Return the language of an interpreter in a '#!' line; None if it is unknown."""
    return next(
        (row for row in LANGUAGES.values() if row.marks.interpreter and row.marks.interpreter.match(program)), None
    )


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
            Problem("B005", where, f'line 1 ends with CR LF: the system looks for "{one_line(sought)}\\r"', hint=hint)
        ]
    shown_line = f"line 1: #!{one_line(line)}"
    if by_env and interpreter.startswith("/") and exists(interpreter):
        if shutil.which(asked[0], path=PATH):
            return line_end_problems(contents, name) if asked[0] in SHELLS else []
        message = f"{one_line(interpreter)}: '{one_line(asked[0])}': No such file or directory  (exit 127)"
        hint = f"it is not on {PATH}; change line 1, or add it to `needs` and have it installed"
        if (row := _interpreted_by(asked[0])) and tool(row.programs[0]):
            hint = f'this system has {row.programs[0]} only; change line 1, or language = "{row.name}" in bot.toml'
        return [Problem("B007", f"{where}:1", message, shown_line, hint)]
    if interpreter.startswith(VISIBLE_FOLDERS) and exists(interpreter):
        return line_end_problems(contents, name) if PurePosixPath(interpreter).name in SHELLS else []
    if not interpreter.startswith("/") and str(PurePosixPath(interpreter)) in contents.modes:
        return []
    base = PurePosixPath(interpreter).name
    row = _interpreted_by(base)
    better = shutil.which(base, path=PATH) if base else None
    hint = f"#!/usr/bin/env {row.programs[0]}" if row else f"#!{better or '/bin/sh'}"
    message = f"exists, but its interpreter {one_line(interpreter)} does not"
    if interpreter.startswith("/") and exists(interpreter):
        message = (
            f"its interpreter {one_line(interpreter)} does not exist inside a sandbox, which has /usr and /bin only"
        )
    return [Problem("B004", where, message, shown_line, hint)]
