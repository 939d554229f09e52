"""Reads the JSON that bots and referees write. Any language can write each accepted value as JSON again.

It refuses: encodings other than UTF-8, half of a surrogate pair, NaN and Infinity, numbers that are not finite or have
more than 64 bits, a key that occurs twice in an object, and values nested deeper than MAX_JSON_DEPTH. The depth is counted
before the text is parsed, so the result does not depend on the depth of the caller's stack.
"""

import json
import re
from collections.abc import Callable
from itertools import accumulate
from math import isfinite
from typing import Any

MAX_JSON_DEPTH = 64
MAX_INTEGER = 1 << 63
"""Integers from -MAX_INTEGER to MAX_INTEGER - 1 are accepted: those of 64 bits."""

MAX_INTEGER_DIGITS = 19

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(r"[0-9]{19}|[0-9][eE]")
_STRINGS_AND_OTHERS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^\[\]{}"]+', re.DOTALL)
"""Matches everything except brackets outside strings. `*+` never reads a character twice, so a string of a megabyte without
an end takes linear time."""


_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class JsonError(ValueError):
    """Raised for a text that is not JSON, or is refused. The message continues a sentence: "is nested too deeply"."""


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise JsonError("has a number that is not finite")
    return number


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS + 1 or not -MAX_INTEGER <= int(text) < MAX_INTEGER:
        raise JsonError("has a whole number of more than 64 bits")
    return int(text)


def _constant(name: str) -> Any:
    raise JsonError(f"is not JSON: {name} is not JSON")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise JsonError("has a key that occurs twice in an object")
    return found


_Scan = Callable[[str, int], tuple[Any, int]]
_scan_short: _Scan = json.JSONDecoder(  # type: ignore[attr-defined]  # typeshed lacks scan_once
    object_pairs_hook=_object, parse_constant=_constant
).scan_once
_scan_any: _Scan = json.JSONDecoder(  # type: ignore[attr-defined]
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite, parse_int=_integer
).scan_once
"""Scans any text. It calls a Python function for each number, which takes most of the time. So `_scan_short` scans the
texts without long numbers."""

_BLANKS = " \t\n\r"


def compact(value: Any) -> str:
    """Return a value as JSON without blanks, in ASCII."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def json_or_text(text: str) -> Any:
    """Return the value of a JSON text; the text itself if it is not JSON, or if it is refused."""
    try:
        return read_json(text)
    except JsonError:
        return text


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise JsonError, a ValueError, if it is not JSON, or if it is refused."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as wrong:
            raise JsonError(f"is not UTF-8: byte {text[wrong.start]:#04x} after {wrong.start} bytes") from None
    text = text.strip(_BLANKS)
    if not text:
        raise JsonError("is empty")
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _depth(text) > MAX_JSON_DEPTH:
        raise JsonError("is nested too deeply")
    try:
        value, end = (_scan_any if _LONG_NUMBER.search(text) else _scan_short)(text, 0)
        if not text.isascii() or _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise JsonError("contains half of a surrogate pair") from None
    except JsonError:
        raise
    except ValueError as wrong:
        raise JsonError(f"is not JSON: {str(wrong).partition(': line ')[0][:100]}") from None
    except StopIteration:
        raise JsonError("is not JSON") from None
    if end != len(text):
        raise JsonError("has something after its JSON value")
    return value


def _depth(text: str) -> int:
    """Return the depth to which the brackets of a text are nested. Brackets inside strings do not count."""
    brackets = _STRINGS_AND_OTHERS.sub("", text)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)
