"""Reads TOML files with the line of every key, and writes values as TOML for messages."""

import json
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.paths import display_path
from host.base.safe_text import one_line
from host.base.system_errors import cure

MAX_FILE_BYTES = 64 * 1024  # of an untrusted author
MAX_CONFIG_BYTES = 1 << 20  # of the organiser; the croupier.toml of a round of a season names up to 10 000 bots

# The start of a key with more than 50 parts. The time to read a key grows with the square of the number of its parts.
DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""")

# Longer lines are not searched for a missing quote: the time grows with the square of the length.
MAX_HINT_LINE_CHARS = 200

KeyPath = tuple[str | int, ...]


# Reading a file, and the line of each key.


class Toml(NamedTuple):
    """A TOML file that has been read: its name for messages, its values, and the line of every key."""

    name: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def where(self, *key: str | int) -> str:
        """Return the line of a key, such as `croupier.toml:14`. If it has none, use its table or only the file name."""
        while key and key not in self.lines:
            key = key[:-1]
        return f"{self.name}:{self.lines[key]}" if key else self.name


def read(path: Path) -> Toml:
    """Read a file of the organiser; follow links. Raise UserError (exit code 3) if it is missing, too large or not TOML."""
    return _read(path, 0, MAX_CONFIG_BYTES)


def read_untrusted(path: Path) -> Toml:
    """Read a file from an untrusted author: like `read`, but do not follow a link."""
    return _read(path, os.O_NOFOLLOW, MAX_FILE_BYTES)


def read_text(path: Path, limit: int = MAX_FILE_BYTES) -> str:
    """Return a text file of at most `limit` bytes. Raise UserError (exit code 3) if it is missing, too large or not UTF-8."""
    try:
        return read_bytes(path, limit).decode()
    except UnicodeDecodeError:
        name = display_path(path)
        raise UserError([Problem("C005", name, "is not UTF-8 text", hint="save the file as UTF-8")], 3) from None


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the bytes of a file, at most `limit`. Raise UserError (exit code 3) if it is missing or larger."""
    return _content(path, display_path(path), 0, limit)


def _read(path: Path, flags: int, limit: int) -> Toml:
    name = display_path(path)
    return parse(_content(path, name, flags, limit), name)


def _content(path: Path, name: str, flags: int, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    except OSError as error:
        hint = cure(error, str(path))
        raise UserError([Problem("C011", name, f"cannot be read: {error.strerror}", hint=hint)], 3) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError([Problem("C011", name, "cannot be read: it is not a regular file")], 3)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise UserError([Problem("C005", name, f"is larger than {limit // 1024} KiB")], 3)
    return content


def parse(content: bytes, name: str) -> Toml:
    """Parse the bytes of a TOML file. Raise UserError (exit code 3) with the line of the first error."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        where = f"{name}:{1 + content[: error.start].count(10)}"
        raise UserError([Problem("C005", where, "is not UTF-8 text", hint="save the file as UTF-8")], 3) from None
    if text.startswith("\ufeff"):
        raise UserError(
            [Problem("C005", f"{name}:1", "starts with a byte order mark", hint=f"sed -i '1s/^.//' {name}")], 3
        )
    text = text.replace("\r\n", "\n")
    import tomllib

    if DEEP_KEY.search(text):
        raise UserError([Problem("C005", name, "is nested too deeply")], 3)
    try:
        data = tomllib.loads(text)
        if _has_large_integer(data):  # Python refuses to write one with thousands of digits in a message
            raise ValueError("an integer has more than 64 bits")
        return Toml(name, data, _Scanner(text).lines())
    except RecursionError:
        raise UserError([Problem("C005", name, "is nested too deeply")], 3) from None
    except ValueError as error:  # TOMLDecodeError, or a number with more digits than Python accepts
        raise UserError([_syntax_error(text, name, str(error))], 3) from None


def _has_large_integer(value: object) -> bool:
    """Return whether a value is or contains an integer that TOML does not allow. Raise RecursionError if it is too deep."""
    match value:
        case int():
            return not -(1 << 63) <= value < 1 << 63
        case list():
            return any(map(_has_large_integer, value))
        case dict():
            return any(map(_has_large_integer, value.values()))
        case _:
            return False


UNQUOTED = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=\s*([^\"'\[{\s][^\"'#]*?)\s*(?:#.*)?")


def _syntax_error(text: str, name: str, error: str) -> Problem:
    match = re.fullmatch(r"(.*?) \(at (?:line (\d+), column \d+|end of document)\)", error, re.DOTALL)
    if match is None:
        return Problem("C005", name, f"is not TOML: {one_line(error)}")
    lines = text.splitlines() or [""]
    number = int(match[2]) if match[2] else len(lines)
    line = lines[min(number, len(lines)) - 1]
    unquoted = UNQUOTED.fullmatch(line) if len(line) <= MAX_HINT_LINE_CHARS else None
    if unquoted and unquoted[2].replace(".", "").isdecimal():
        unquoted = None  # a number needs no quotes
    hint = f'write strings in quotes: {one_line(unquoted[1])} = "{one_line(unquoted[2])}"' if unquoted else ""
    evidence = one_line(line.strip())[:80]
    return Problem("C005", f"{name}:{number}", f"is not TOML: {one_line(match[1])}", evidence, hint)


class _Scanner:
    """Finds the lines of all keys in a valid TOML text. tomllib, which has parsed the text before, does not report them."""

    BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
    SPACE = re.compile(r"[ \t]*")
    WORD = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
    TEXT = re.compile(
        r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:[^"\\]|\\.)*"' r"|'[^']*'", re.DOTALL
    )
    OTHER = re.compile(r"[^,\]}#\n]+")  # numbers, dates (which may contain a space), true and false

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._found: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}  # the number of tables so far in each array of tables

    def lines(self) -> dict[KeyPath, int]:
        """Return the line of every key, table and element."""
        table: KeyPath = ()
        while True:
            self._skip(self.BLANK)
            if self._at >= len(self._text):
                return self._found
            if self._next("[["):
                table = self._in_arrays(self._key())
                number = self._tables.get(table, 0)
                self._tables[table] = number + 1
                table = self._note((*table, number))
                self._skip(self.SPACE)
                self._at += 2
            elif self._next("["):
                keys = self._key()
                table = self._note((*self._in_arrays(keys[:-1], last=True), keys[-1]))
                self._skip(self.SPACE)
                self._at += 1
            else:
                self._pair(table)

    def _in_arrays(self, keys: KeyPath, *, last: bool = False) -> KeyPath:
        """Return the path of a table header, with the index of the last table after the name of an array of tables.

        With `last`, add the index also after the last key of the header.
        """
        path: KeyPath = ()
        for at, key in enumerate(keys):
            path = (*path, key)
            if path in self._tables and (last or at < len(keys) - 1):
                path = (*path, self._tables[path] - 1)
        return path

    def _note(self, path: KeyPath) -> KeyPath:
        line = bisect_right(self._ends, self._at - 1) + 1
        for length in range(1, len(path) + 1):
            self._found.setdefault(path[:length], line)
        return path

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _next(self, token: str) -> bool:
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _key(self) -> KeyPath:
        import tomllib

        words: list[str] = []
        while True:
            self._skip(self.SPACE)
            word = self._skip(self.WORD)
            words.append(str(tomllib.loads(f"word = {word}")["word"]) if word[:1] in ("'", '"') else word)
            self._skip(self.SPACE)
            if not self._next("."):
                return tuple(words)

    def _pair(self, table: KeyPath) -> None:
        started = self._at
        path = (*table, *self._key())
        ended, self._at = self._at, started
        self._note(path)
        self._at = ended
        self._next("=")
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip(self.SPACE)
        if self._next("["):
            number = 0
            while self._inside("]"):
                self._value(self._note((*path, number)))
                number += 1
        elif self._next("{"):
            while self._inside("}"):
                self._pair(path)
        elif not self._skip(self.TEXT):
            self._skip(self.OTHER)

    def _inside(self, end: str) -> bool:
        """Skip to the next element of a list or a table. Return False if the token `end` follows instead."""
        self._skip(self.BLANK)
        if self._next(","):
            self._skip(self.BLANK)
        return not self._next(end)


# Values in messages.


def to_toml(value: object) -> str:
    """Return a value as TOML for a message, cut to 60 characters."""
    text = whole_toml(value)
    return one_line(text if len(text) <= 60 else text[:57] + "…")


def toml_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a TOML file: the keys outside of tables, then its tables."""
    tables = {key: value if isinstance(value, list) else [value] for key, value in data.items() if _is_table(value)}
    yield from (f"{key} = {whole_toml(value)}" for key, value in data.items() if key not in tables)
    for key, several in tables.items():
        for table in several:
            yield from ("", f"[[{key}]]" if isinstance(data[key], list) else f"[{key}]")
            yield from (f"{inner} = {whole_toml(value)}" for inner, value in table.items())


def _is_table(value: object) -> bool:
    """Return whether a value is a table or an array of tables."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value))


def whole_toml(value: object) -> str:
    """Return a value as TOML, without a limit on its length."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return "[" + ", ".join(map(whole_toml, value)) + "]"
        case dict():
            pairs = (f"{_toml_key(key)} = {whole_toml(inner)}" for key, inner in value.items())
            return "{ " + ", ".join(pairs) + " }"
        case _:
            return str(value)


def _toml_key(key: object) -> str:
    return str(key) if re.fullmatch("[A-Za-z0-9_-]+", str(key)) else whole_toml(str(key))
