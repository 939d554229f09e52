"""Validates what a journal says about its fixtures before it is used: journals are not trusted."""

import json
from typing import Any, TypedDict

import msgspec


class Kept(TypedDict):
    """The part of a fixture's description that pages use before they replay it."""

    game: str
    path: str
    rules: dict[str, Any]
    bots: list[str]
    first: int


def json_error(text: Any, shape: Any) -> str:
    """Return why a text is not JSON of this type; empty if it is."""
    if not isinstance(text, str):
        return "no text"
    try:
        msgspec.convert(json.loads(text), shape)
    except (ValueError, RecursionError) as wrong:  # msgspec's errors are ValueErrors, and so are json's
        return str(wrong) or "illegible"
    return ""
