"""Reads TOML files by the types of their keys, and reports all problems at once, each with its line."""

import dataclasses
import json
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from host.base.errors import Problem, UserError
from host.base.format import with_article
from host.base.safe_text import one_line
from host.base.system_errors import cure

MAX_FILE_BYTES = 64 * 1024  # of an untrusted author
MAX_CONFIG_BYTES = 1 << 20  # of the organiser; the croupier.toml of a round of a season names up to 10 000 bots

# The start of a key with more than 50 parts. The time to read a key grows with the square of the number of its parts.
DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""")

# Longer lines are not searched for a missing quote: the time grows with the square of the length.
MAX_HINT_LINE_CHARS = 200

KeyPath = tuple[str | int, ...]
T = TypeVar("T")


# Text for messages.


def display_path(path: Path) -> str:
    """Return a path for a message: relative to the current folder if it is inside it."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    current = Path.cwd()
    return one_line(str(absolute.relative_to(current) if absolute.is_relative_to(current) else path))


def to_toml(value: object) -> str:
    """Return a value as TOML for a message, cut to 60 characters."""
    text = whole_toml(value)
    return one_line(text if len(text) <= 60 else text[:57] + "…")


def whole_toml(value: object) -> str:
    """Return a value as TOML, with its whole text."""
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


MAX_WORD_CHARS = 200  # of a word that is compared with others; an untrusted author can write a long one


def closest_match(word: str, words: Iterable[str]) -> str:
    """Return the most similar of the words; ignore case. Return "" if none is similar."""
    import difflib  # importing it and tomllib takes 5 ms, and few commands that read a journal need them

    by_lower_case = {each.lower(): each for each in words}
    matches = difflib.get_close_matches(word[:MAX_WORD_CHARS].lower(), by_lower_case, 1, 0.6)
    return by_lower_case[matches[0]] if matches else ""


# Reading a file, and the line of each key.


class Toml(NamedTuple):
    """A TOML file that has been read: its name for messages, its values, and the line of every key."""

    name: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def where(self, *key: str | int) -> str:
        """Return `croupier.toml:14`: the line of a key. If the key is missing, use its table; else only the file name."""
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
    name = display_path(path)
    try:
        return _content(path, name, 0, limit).decode()
    except UnicodeDecodeError:
        raise UserError([Problem("C005", name, "is not UTF-8 text", hint="save the file as UTF-8")], 3) from None


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
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError([Problem("C011", name, "cannot be read: it is not a regular file")], 3)
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
        """Return the path of a header. The name of an array of tables means its last table."""
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
        """Go to the next element; return False after the last one."""
        self._skip(self.BLANK)
        if self._next(","):
            self._skip(self.BLANK)
        return not self._next(end)


# Types of values.


class InvalidValue(ValueError):
    """Raised by a check of a value. `message` follows `key = value` in the error, for example "has no unit"."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class ValueType(NamedTuple):
    """The type of a value in a file: `check` converts a raw value or raises InvalidValue; `schema` is its JSON schema.

    `choices` returns the known values if they are names from a table; `own` is the pattern of other valid names.
    It is used in `Annotated[int, integer(1, 9)]`.
    """

    check: Callable[[Any], Any]
    schema: Mapping[str, Any]
    choices: Callable[[], Iterable[str]] | None = None
    own: str = ""

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema, with the names of the choices."""
        if self.choices is None:
            return dict(self.schema)
        known = {"enum": list(self.choices())}
        return dict(self.schema) | ({"anyOf": [known, {"pattern": self.own}]} if self.own else known)


class TaggedBy(NamedTuple):
    """The type of a table that one of its keys, the tag, determines: `find` returns the dataclass of a tag, or None."""

    key: str
    find: Callable[[str], type | None]
    names: Callable[[], Iterable[str]]  # the known tags


def integer(minimum: int, maximum: int) -> ValueType:
    """Return the type of an integer within bounds."""

    def check(value: Any) -> int:
        if type(value) is not int:
            number = isinstance(value, str) and value.replace("_", "").isdecimal()
            raise InvalidValue("C006", "is not a whole number", value if number else "")
        if not minimum <= value <= maximum:
            raise InvalidValue("C009", "is out of range", f"{minimum} to {maximum}")
        return value

    return ValueType(check, {"type": "integer", "minimum": minimum, "maximum": maximum})


def integer_or_auto(maximum: int, noun: str, example: int, auto: int | str = "auto") -> ValueType:
    """Return the type of a number of something, from 1, or of the word "auto", which is read as the value `auto`."""

    def check(value: Any) -> Any:
        if value == "auto":
            return auto
        if isinstance(value, str):
            raise InvalidValue("C008", f"is not a number of {noun}", '"auto", or a number')
        return integer(1, maximum).check(value)

    title = f'integer, 1 to {maximum}; or "auto"'
    schema = {"type": ["integer", "string"], "title": title, "default": "auto", "examples": [example]}
    return ValueType(check, schema)


def flag(value: Any) -> bool:
    """Return a bool; raise InvalidValue for any other value."""
    if type(value) is not bool:
        word = str(value).lower()
        raise InvalidValue("C006", "is neither true nor false", word if word in ("true", "false") else "")
    return value


FLAG = ValueType(flag, {"type": "boolean"})
Flag = Annotated[bool, FLAG]


def plain_string(value: Any) -> str:
    """Return a string of one line without control characters; raise InvalidValue for any other value."""
    if not isinstance(value, str):
        raise InvalidValue("C006", "is not a string", f'"{value}"' if isinstance(value, int | float) else "")
    if not value.strip():
        raise InvalidValue("C009", "is empty")
    if not value.isprintable():
        raise InvalidValue("C009", "has a character that cannot be printed")
    if len(value) > 1000:
        raise InvalidValue("C009", "is longer than 1000 characters")
    return value


Text = Annotated[str, ValueType(plain_string, {"type": "string"})]
TEXT_OR_NOTHING = ValueType(lambda value: value and plain_string(value), {"type": "string"})
TextOrNothing = Annotated[str, TEXT_OR_NOTHING]

PLAIN: Mapping[Any, ValueType] = {bool: FLAG, int: integer(-(1 << 63), (1 << 63) - 1), str: TEXT_OR_NOTHING}
"""How values of Python's own types are read: an organiser's kind of stage may have such keys."""


def matches(pattern: str, noun: str, hint: str = "") -> ValueType:
    """Return the type of a string that matches a pattern. The error message calls the string by the noun."""

    def check(value: Any) -> str:
        if not re.fullmatch(pattern, plain_string(value)):
            raise InvalidValue("C009", f"is not {with_article(noun)}", hint)
        return str(value)

    return ValueType(check, {"type": "string", "pattern": f"^(?:{pattern})$"})


OWN_CODE = r"^[\w.]+:\w+(\(.*\))?$"
"""The pattern of `package.module:NAME`, which names a value in the organiser's code."""


class OwnName(str):
    """The name of a game, a kind of stage or a ranking of an organiser's own code. It carries what it names.

    It equals the plain name, as a journal stores it. No table of the process knows the organisers' names, because two
    tournaments in one process can use the same name for different code. A copy or a pickle of it is the plain name.
    """

    __slots__ = ("said", "value")

    said: str
    """What croupier.toml says: `package.module:NAME`."""
    value: Any

    @classmethod
    def carrying(cls, name: str, said: str, value: Any) -> "OwnName":
        """Return a name that carries a value."""
        own = cls(name)
        own.said, own.value = said, value
        return own

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def plain_name(value: object) -> str:
    """Return an OwnName as the plain name, for msgspec, which encodes no other type of str."""
    if isinstance(value, OwnName):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded")


def one_of(
    choices: Callable[[], Iterable[str]], noun: str, own: str = "", renamed: Mapping[str, str] = MappingProxyType({})
) -> ValueType:
    """Return the type of a string that is one of the choices; `choices` is called only when a file is read.

    `own` is the pattern of other names that a file may contain. They are replaced by an OwnName before this check.
    `renamed` has the present names of choices that had other names.
    """

    def check(value: Any) -> str:
        if own and isinstance(value, OwnName):
            return value
        words = list(choices())
        if plain_string(value) not in words:
            hint = renamed.get(value) or closest_match(value, words) or "one of " + ", ".join(words)
            raise InvalidValue("C008", f"is not {with_article(noun)}", hint)
        return str(value)

    return ValueType(check, {"type": "string"}, choices, own)


# Reading a whole file by the types of its keys.


def load_model(source: Path | Toml, model: type[T]) -> T:
    """Return a file as a value of the model, a dataclass. Raise UserError (exit code 3) with all problems of the file.

    The type of a field is another dataclass (a table), `Annotated[…, ValueType]`, `Annotated[…, TaggedBy]`,
    `tuple[type, ...]` (a list), `dict[str, type]` (a table with any keys), `type | None`, `Literal[…]`, Any, bool, int or str.
    """
    toml = read(source) if isinstance(source, Path) else source
    reader = _Reader(toml, model)
    value = reader.value(model, toml.data, ())
    if reader.problems:
        raise UserError(sorted_by_line(reader.problems), 3)
    return cast(T, value)


def sorted_by_line(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of one file in the order of its lines."""

    def line(problem: Problem) -> int:
        number = problem.where.rpartition(":")[2]
        return int(number) if number.isdecimal() else 0

    return sorted(problems, key=line)


class _Reader:
    """Reads each value of a file by its type, and collects the problems of all values.

    Each method returns the converted value of a key. It returns None if it has added a problem.
    """

    def __init__(self, toml: Toml, model: type) -> None:
        self.problems: list[Problem] = []
        self._toml, self._model = toml, model

    def value(self, kind: Any, value: Any, key: KeyPath) -> Any:
        """Return the value of a key that has the type `kind`."""
        origin, arguments = get_origin(kind), get_args(kind)
        how = arguments[1] if origin is Annotated else PLAIN.get(kind) if origin is None else None
        if origin is Literal:
            how = one_of(lambda: arguments, str(key[-1]))
        if isinstance(how, ValueType):
            return self._checked(how, value, key)
        if origin is tuple and arguments[1:] == (...,):
            return self._list(arguments[0], value, key)
        if origin is UnionType and arguments[1:] == (NoneType,):
            return self.value(arguments[0], value, key)
        if kind is Any:
            return value
        if not (origin is dict or isinstance(how, TaggedBy) or dataclasses.is_dataclass(kind)):
            raise TypeError(f"{key[-1]}: the keys of a file cannot have the type {kind}")
        if not isinstance(value, dict):
            header = f"[[{key[-2]}]]" if isinstance(key[-1], int) else f"[{key[-1]}]"
            hint = f"write {header} on a line of its own, and its keys below it"
            return self._add("C006", key, f"{_key_value(key, value)} is not a table", hint)
        if origin is dict:
            return {name: self.value(arguments[1], each, (*key, name)) for name, each in value.items()}
        return self._tagged(how, value, key) if isinstance(how, TaggedBy) else self._table(kind, value, key)

    def _checked(self, value_type: ValueType, value: Any, key: KeyPath) -> Any:
        try:
            return value_type.check(value)
        except InvalidValue as wrong:
            return self._add(wrong.code, key, f"{_key_value(key, value)} {wrong.message}", wrong.hint)

    def _list(self, kind: Any, value: Any, key: KeyPath) -> Any:
        if isinstance(value, list):
            return tuple(self.value(kind, each, (*key, number)) for number, each in enumerate(value))
        hint = f"{key[-1]} = [{to_toml(value)}]" if isinstance(value, str) else ""
        hint = f"[[{key[-1]}]]" if isinstance(value, dict) else hint
        return self._add("C006", key, f"{_key_value(key, value)} is not a list", hint)

    def _tagged(self, tagged: TaggedBy, table: Mapping[str, Any], key: KeyPath) -> Any:
        names = list(tagged.names())
        if tagged.key not in table:
            hint = f"one of {', '.join(names)}"
            return self._add("C007", key, f"{_table_header(key)} has no {tagged.key}", hint)
        tag = table[tagged.key]
        if isinstance(tag, str) and (model := tagged.find(tag)):
            return self._table(model, table, key)
        hint = closest_match(str(tag), names) or f"one of {', '.join(names)}"
        message = f"{tagged.key} = {to_toml(str(tag))} is not a {tagged.key} of {key[0]}"
        return self._add("C008", (*key, tagged.key), message, hint)

    def _table(self, model: Any, table: Mapping[str, Any], key: KeyPath) -> Any:
        before, types, values = len(self.problems), _types(model), dict[str, Any]()
        for each in dataclasses.fields(model):
            if each.name in table:
                values[each.name] = self.value(types[each.name], table[each.name], (*key, each.name))
            elif each.default is each.default_factory is dataclasses.MISSING:
                self._add("C007", key, f"{_table_header(key)} has no {each.name}", f"{each.name} = …")
        for name in table:
            if name not in values:
                where, tables = self._toml.where(*key, name), _tables_of_keys(self._model)
                self.problems.append(unknown_key(where, (*key, name), _fields(model), tables))
        return model(**values) if len(self.problems) == before else None

    def _add(self, code: str, key: KeyPath, message: str, hint: str) -> None:
        self.problems.append(Problem(code, self._toml.where(*key), message, hint=hint))


@cache
def _types(model: Any) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(model, include_extras=True)


def _fields(model: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(model)]


RENAMED_KEYS = {"abreast": "parallel_tables", "tables": "table_ids"}  # keys of earlier versions, with their new names

REMOVED_KEYS = {
    "limits.clock": "leave it out: time counts without waits for a processor, where the kernel measures them"
}


def unknown_key(where: str, key: KeyPath, keys: Collection[str], tables: Mapping[str, str]) -> Problem:
    """Return the problem of an unknown key. `keys` are valid here; `tables` maps each other key to its place."""
    word = str(key[-1])
    new_name = RENAMED_KEYS.get(word, "")
    hint = new_name if new_name in keys else closest_match(word, keys)
    if removed := REMOVED_KEYS.get(".".join(map(str, key))):
        hint = removed
    elif not hint and word in tables:
        hint = f"{word} belongs {tables[word]}"
    inside = f" in {_table_header(key[:-1])}" if key[:-1] else ""
    return Problem("C001", where, f"unknown key {to_toml(word)}{inside}", hint=hint or "known: " + ", ".join(keys))


def _key_value(key: KeyPath, value: object) -> str:
    if isinstance(key[-1], int):
        return f"{key[-2]}: {to_toml(value)}" if len(key) > 1 else to_toml(value)
    return f"{one_line(str(key[-1]))} = {to_toml(value)}"


def _table_header(key: KeyPath) -> str:
    """Return the header of a table for messages; "the file" for the top of a file."""
    names = ".".join(one_line(str(part)) for part in key if isinstance(part, str))
    if not names:
        return "the file"
    return f"[[{names}]]" if isinstance(key[-1], int) else f"[{names}]"


def _tables_of_keys(model: Any) -> dict[str, str]:
    """Return the place of each key of a model, for hints about keys in the wrong place."""
    tables: dict[str, str] = {}
    for name, kind in get_type_hints(model).items():
        if dataclasses.is_dataclass(kind):
            inner = {
                key: f"in [{name}.{key}]"
                for key, each in get_type_hints(kind).items()
                if dataclasses.is_dataclass(each)
            }
            for key, place in inner.items():
                tables |= dict.fromkeys(_fields(get_type_hints(kind)[key]), place)
            tables |= dict.fromkeys(set(_fields(kind)) - {*inner}, f"in [{name}]")
    return tables | dict.fromkeys(_fields(model), "at the top of the file, above the first [table]")
