"""Validate the events of an organiser's own game before they reach a page: its code can report anything."""

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars, one_line
from host.games.engine import Game, GameFailed
from host.rules.catalogue import place_in_own_code, ref_of
from protocols.wire import Fault, Move

NAME = re.compile(r"[a-z][a-z0-9_.]{0,39}")
RESERVED_EVENTS = frozenset({"table.start", "ask", "answer", "table.end"})
"""Events that croupier itself reports for every game."""

SEATS = ("seat", "seats", "winner", "winners", "out")
"""The facts of a game's events that are seat numbers."""

PICTURE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "deal": ("seat", "cards"),
    "pass": ("seat", "to", "cards"),
    "play": ("seat", "cards"),
    "board": ("cards",),
    "take": ("seat", "cards"),
    "discard": (),
    "score": ("seat", "points"),
    "chips": ("seat", "chips"),
    "bet": ("seat", "chips"),
    "say": ("seat", "text"),
    "turn": ("seat",),
    "state": ("text",),
}
"""The events that the general table draws, and the facts that they need; pages/casino/general.js draws them."""
MAY_HAVE = {"discard": ("seat", "cards")}
MOST_CARDS = 100  # in one event
LONGEST_CARD = 20  # characters

EXACT = 2**53  # browsers represent whole numbers exactly up to here
TEXT_CHARS = 1000  # characters of a text; a longer one is cut
MAX_VALUES = 1000  # values in one list or mapping
DEEPEST = 4  # levels of nested lists

GameStep = TypeVar("GameStep")


HINT = "fix the game: docs/adding-a-game.md, 'The rules'"


def refusal(game: Game, what: str, where: str = "") -> UserError:
    """Return the error for a game whose table cannot be shown; `where` is the file and line of its code, if known."""
    return UserError([Problem("C019", where, f"the game {game.name}: {what}", hint=HINT)], 3)


@contextlib.contextmanager
def blaming_game(game: Game, path: str) -> Iterator[None]:
    """Replay a table in the block. If an organiser's own game fails, raise UserError (exit code 3).

    If another game fails, raise the exception that the game has raised.
    """
    try:
        yield
    except GameFailed as failed:
        why = failed.__cause__ or failed
        if isinstance(why, UserError) or not ref_of(game).said:
            raise why from None
        said = f"{type(why).__name__}: {one_line(str(why))[:200]}"
        raise refusal(game, f"when {path} was replayed, its code raised {said}", place_in_own_code(why)) from why


def guarded(game: Game, path: str, steps: Iterator[GameStep]) -> Iterator[GameStep]:
    """Yield the steps of a game's code. Run each step in `blaming_game`."""
    while True:
        with blaming_game(game, path):
            try:
                step = next(steps)
            except StopIteration:
                return
        yield step


def told(game: Game, path: str, event: str, facts: Mapping[str, Any], seats: int) -> dict[str, Any]:
    """Return one event's facts, safe for pages. Raise UserError if its name or a fact cannot be shown."""
    if not NAME.fullmatch(str(event)) or event in RESERVED_EVENTS:
        raise refusal(game, f"an event of {path} is called {one_line(str(event))[:40]!r}, which is not allowed")
    safe: dict[str, Any] = {}
    for name, fact in facts.items():
        where = f"its event {event} of {path} has {name}"
        if name == "ev":
            raise refusal(game, f"{where}, which is the name of the event itself; use another name")
        if is_drawn(event, facts) and name in (*PICTURE_FIELDS[event], *MAY_HAVE.get(event, ())):
            safe[name] = _drawn_fact(game, where, event, name, fact, seats)
        else:
            safe[name] = _fact(game, where, name, fact, seats)
    return safe


def is_drawn(event: str, facts: Mapping[str, Any]) -> bool:
    """Return whether the general table draws an event. An event that lacks a fact is displayed in words."""
    return event in PICTURE_FIELDS and all(facts.get(name) is not None for name in PICTURE_FIELDS[event])


def _drawn_fact(game: Game, where: str, event: str, name: str, fact: Any, seats: int) -> Any:
    """Return a fact of an event that is drawn. Raise UserError if it cannot be drawn."""
    if fact is None:  # it may be left out
        return None
    if name in ("seat", "to"):
        if type(fact) is not int or not 0 <= fact < seats:
            raise refusal(game, f"{where} = {_shortly(fact)}, which is not a seat (0 to {seats - 1})")
        return fact
    if name == "cards":
        cards = fact if isinstance(fact, (list, tuple)) else [fact]
        if len(cards) > MOST_CARDS:
            raise refusal(game, f"{where} with {len(cards)} cards: {MOST_CARDS} can be drawn at once")
        if wrong := [card for card in cards if not _is_card(card)]:
            rule = f"a card is a number, or a text of 1 to {LONGEST_CARD} characters"
            raise refusal(game, f"{where} = {_shortly(wrong[0])}: {rule}")
        return [checked_value(game, where, card) for card in cards]
    if name == "text":
        if not isinstance(fact, str):
            raise refusal(game, f"{where} = {_shortly(fact)}, which is not a text")
        return escape_control_chars(_cut(fact)) if event == "state" else one_line(_cut(fact))
    if type(fact) not in (int, float):
        raise refusal(game, f"{where} = {_shortly(fact)}, which is not a number")
    return checked_value(game, where, fact)


def _cut(text: str) -> str:
    """Return the text, cut to TEXT_CHARS characters. A longer text is not refused, because a bot may have written it."""
    return text if len(text) <= TEXT_CHARS else f"{text[: TEXT_CHARS - 1]}…"


def _is_card(card: Any) -> bool:
    return 0 < len(card) <= LONGEST_CARD if isinstance(card, str) else type(card) in (int, float)


def _fact(game: Game, where: str, name: str, fact: Any, seats: int) -> Any:
    if name == "worth":
        raise refusal(game, f"{where}: hold'em reserves this name; use another one")
    if name in SEATS:
        several = fact if isinstance(fact, (list, tuple)) else [fact]
        if wrong := [each for each in several if each is not None and (type(each) is not int or not 0 <= each < seats)]:
            raise refusal(game, f"{where} = {_shortly(wrong[0])}, which is not a seat (0 to {seats - 1})")
    return checked_value(game, where, fact)


def checked_value(game: Game, where: str, value: Any, depth: int = 0) -> Any:
    """Return a value as JSON values that every browser can represent, with escaped texts.

    Moves and faults in it stay as they are. Raise UserError for a value that cannot be displayed.
    """
    if value is None or isinstance(value, (bool, Move, Fault)):
        return value
    if isinstance(value, str):
        return one_line(_cut(value))
    if isinstance(value, int) and abs(value) <= EXACT:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, (list, tuple)) and len(value) <= MAX_VALUES and depth < DEEPEST:
        return [checked_value(game, where, each, depth + 1) for each in value]
    if isinstance(value, Mapping) and len(value) <= MAX_VALUES and depth < DEEPEST:
        return {
            one_line(str(key))[:TEXT_CHARS]: checked_value(game, where, each, depth + 1) for key, each in value.items()
        }
    raise refusal(game, f"{where} = {_shortly(value)}, which cannot be displayed: use plain values of limited size")


def asked(game: Game, path: str, seat: object, seats: int) -> None:
    """Raise UserError if an organiser's game asks a seat that is not at the table."""
    if type(seat) is not int or not 0 <= seat < seats:
        raise refusal(game, f"it asks seat {_shortly(seat)} of {path}, which is not a seat (0 to {seats - 1})")


def scored(game: Game, path: str, scores: Any, seats: int) -> None:
    """Raise UserError unless an organiser's game ends with one number per seat."""
    numbers = isinstance(scores, Sequence) and all(type(score) in (int, float) for score in scores)
    if not numbers or len(scores) != seats:
        raise refusal(game, f"it ends {path} with {_shortly(scores)}: scores must be one number per seat, here {seats}")
    checked_value(game, f"the scores of {path}", tuple(scores))


def _shortly(value: Any) -> str:
    """Return a value as short text; only its type if the text would be long, or if the type is not a plain one."""
    kind = type(value).__name__
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return "a number of more than 15 digits"
    said = one_line(repr(value)) if isinstance(value, (bool, int, float, str, list, tuple)) else ""
    return said if 0 < len(said) <= 40 else f"a value of type {kind}"
