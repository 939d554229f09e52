"""Defines the types of the values in files: how a value is checked and converted, and its JSON schema."""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from host.base.errors import closest_match
from host.base.format import with_article


class InvalidValue(ValueError):
    """Raised by a check of a value. `message` follows `key = value` in the error, for example "has no unit"."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class ValueType(NamedTuple):
    """The type of a value in a file: `check` converts a raw value or raises InvalidValue; `schema` is its JSON schema.

    `choices` returns the known values if they are names from a table; `own` is the pattern of other valid names.
    A field has such a type in its annotation: `Annotated[int, integer(1, 9)]`.
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
    """The type of a table in which the value of `key`, the tag, decides the other keys.

    `find` returns the dataclass of a tag; None for an unknown tag.
    """

    key: str
    find: Callable[[Any], type | None]
    names: Callable[[], Iterable[str]]  # the known tags


class DefinedIn(NamedTuple):
    """The type of a table that a package above this one defines, as the dataclass `name` of `module`.

    The module is imported only when the type is needed.
    """

    module: str
    name: str

    def find(self) -> type:
        """Return the dataclass."""
        found = getattr(import_module(self.module), self.name)
        assert isinstance(found, type)
        return found


class OtherKeys:
    """Marks the field for all keys of a table that no other field has: `Annotated[dict[str, X], OtherKeys]`."""


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
    """Return the type of an integer from 1 to `maximum`, or of the word "auto", which becomes the value `auto`.

    `noun` names the counted things in messages. `example` is a value for the documentation.
    """

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
    """Return the value if it is a bool. Raise InvalidValue for any other value."""
    if type(value) is not bool:
        word = str(value).lower()
        raise InvalidValue("C006", "is neither true nor false", word if word in ("true", "false") else "")
    return value


FLAG = ValueType(flag, {"type": "boolean"})
Flag = Annotated[bool, FLAG]


def plain_string(value: Any) -> str:
    """Return the value if it is a string of one line without control characters. Raise InvalidValue otherwise."""
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
"""The types of values for fields with Python's own types, which an organiser's kind of stage may have."""


def matches(pattern: str, noun: str, hint: str = "") -> ValueType:
    """Return the type of a string that matches a pattern. The error message uses `noun` for such a string."""

    def check(value: Any) -> str:
        if not re.fullmatch(pattern, plain_string(value)):
            raise InvalidValue("C009", f"is not {with_article(noun)}", hint)
        return str(value)

    return ValueType(check, {"type": "string", "pattern": f"^(?:{pattern})$"})


OWN_CODE = r"^[\w.]+:\w+(\(.*\))?$"
"""The pattern of `package.module:NAME`, which names a value in the organiser's code."""


class OwnCode(NamedTuple):
    """A game, a kind of stage or a ranking in an organiser's own code, with its name in croupier.toml."""

    name: str  # as a journal stores it
    said: str  # the name in croupier.toml: `package.module:NAME`
    value: Any


def plain_word(value: object) -> str:
    """Return the name of an organiser's own ranking as a plain str: msgspec does not encode subclasses of str.

    Raise TypeError for a value that is not a str.
    """
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded")


def one_of(
    choices: Callable[[], Iterable[str]], noun: str, own: str = "", renamed: Mapping[str, str] = MappingProxyType({})
) -> ValueType:
    """Return the type of a string that is one of the choices; `choices` is called only when a file is read.

    `own` is the pattern of other names that a file may contain. The resolver replaces them by an OwnCode before this check.
    `renamed` has the new names of renamed choices, by old name.
    """

    def check(value: Any) -> str:
        if own and isinstance(value, OwnCode):
            return value.name
        words = list(choices())
        if plain_string(value) not in words:
            hint = renamed.get(value) or closest_match(value, words) or "one of " + ", ".join(words)
            raise InvalidValue("C008", f"is not {with_article(noun)}", hint)
        return str(value)

    return ValueType(check, {"type": "string"}, choices, own)
