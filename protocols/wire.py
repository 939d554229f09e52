"""The words of every game: moves, faults, views, how a value is spelled and how a move is read."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from operator import call
from typing import Any, NamedTuple, get_args, get_origin

MAX_LINE_BYTES = 4096  # bytes, of a question and of an answer alike, line end not counted
MAX_CACHED_SPELLINGS = 1 << 15
"""Values whose spelling is remembered. With 4096 a fifth of Pazaak's questions held a hand that had been forgotten; this many
leave the processor's cache, but those that come often do not."""


class Move(NamedTuple):
    """What a bot does: `Move("B", 15)` is said `B 15`."""

    verb: str
    n: int = 0

    def __str__(self) -> str:
        """Return it as it is said."""
        return f"{self.verb} {self.n}" if self.n else self.verb


class FaultKind(StrEnum):
    """The ways to fail to answer; each has a rogue in `sample_bots/rogues` that commits it."""

    TIMEOUT = "timeout"  # no whole answer within the wall-clock limit
    CPU = "cpu"  # more processor time than a move may take
    MEMORY = "memory"  # more memory than the bot may have
    FLOOD = "flood"  # more output than a move may have
    CRASH = "crash"  # killed by a signal, or exit with an error, and no answer
    EXIT = "exit"  # ended in good order without an answer
    START = "start"  # could not be started
    UNREADABLE = "unreadable"  # an answer that the grammar of the game does not know
    EXTRA = "extra"  # more than one line for one question
    EARLY = "early"  # spoke before it was asked
    EXCEPTION = "exception"  # reported by an adapter: `! ClassName`, the process lives
    ILLEGAL = "illegal"  # a well-formed move that the rules do not allow here
    BENCHED = "benched"  # not asked any more after too many of the above


class Fault(NamedTuple):
    """A bot's failure to answer, as the rules see it: the evidence is kept by the record."""

    kind: FaultKind
    detail: str = ""  # what a rule may need to know, for example "ZeroDivisionError"

    @property
    def ends_process(self) -> bool:
        """Whether the process that answered so is killed. If an adapter has reported the fault, the process goes on."""
        return self.kind is not FaultKind.EXCEPTION and self != ADAPTER_TIMEOUT


ADAPTER_TIMEOUT = Fault(FaultKind.TIMEOUT, "TimeoutError")
"""The fault that an adapter reports by `! TimeoutError`."""

Answer = Move | Fault
View = tuple[Any, ...]
"""What a seat is shown: a NamedTuple of plain values, in the order of its line.

Its fields are int, str, bool, None, and tuples of these or of NamedTuples of these; no plain tuple holds another.
"""


class Grammar(NamedTuple):
    """How a game's moves are written: `pattern` matches a trimmed answer whole and names the groups `verb` and `n`."""

    pattern: re.Pattern[str]
    expected: str  # for people: "H, S, D or B <chips>"
    verb: str = ""  # the verb of a game whose moves are bare numbers


class Protocol(NamedTuple):
    """One way to talk: `ask` spells a view, `receive` reads the bytes of one answer, its line end taken off."""

    name: str
    persistent: bool  # whether one process answers many questions
    ask: Callable[[View], list[bytes]]  # the question's words: an argument each, or one whole line
    lines: Callable[[Iterable[View]], bytes]  # questions as text, a line each
    receive: Callable[[Grammar, bytes], Answer]
    number: Callable[[int, bytes], bytes]  # a question line with its table's number in front
    split_table_number: Callable[
        [bytes], tuple[int, bytes]
    ]  # an answer line's table, 0 when it names none, and the rest of it
    over: Callable[[int], bytes]  # the line that ends a table and wants no answer


class _SpellingCache(dict[object, str]):
    """How values are spelled: the same few come again and again, some hundred thousand times a second."""

    def __init__(self, spelled: Callable[[Any], str]) -> None:
        super().__init__()
        self._spelled = spelled

    def __missing__(self, value: object) -> str:
        said = self._spelled(value)
        if len(self) >= MAX_CACHED_SPELLINGS:
            self.clear()
        self[value] = said
        return said


def _field(value: object) -> str:
    if isinstance(value, tuple):  # a hand of cards: of what is not remembered, nearly all
        return (
            ",".join([_struct_spellings[each] if isinstance(each, tuple) else _field_spellings[each] for each in value])
            or "-"
        )
    if value is None or value == "":
        return "-"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return value
    raise TypeError(f"a view holds numbers, texts, truths, None and tuples of these, not {value!r}")


_field_spellings = _SpellingCache(_field)
_struct_spellings = _SpellingCache(lambda value: ":".join(map(_spell_field, value)))
"""NamedTuples apart: they are spelled otherwise than their equals, plain tuples."""


def spell(value: object) -> str:
    """Return one field of a question; an empty one is `-`, so no field is ever missing.

    Lists are joined by commas, the fields of a NamedTuple in one by colons. Raise TypeError for what no view may hold.
    """
    if isinstance(value, tuple) and type(value) is not tuple:
        return _struct_spellings[value]
    return _field_spellings[value]


_spell_field: Callable[[object], str] = _field_spellings.__getitem__
_spell_struct: Callable[[object], str] = _struct_spellings.__getitem__


def _spell_text(value: str) -> str:
    return value or "-"


def _spell_structs(value: Iterable[object]) -> str:
    return ",".join(map(_spell_struct, value)) or "-"


def _speller_of(hint: object) -> Callable[[Any], str]:
    """Return how to spell a field of this type: from memory, unless that takes longer than to spell it.

    A text is its own spelling. A list of NamedTuples seldom comes again, and hashing it is dear; its members do.
    """
    if hint is str:
        return _spell_text
    if get_origin(hint) is tuple and all(each is ... or hasattr(each, "_fields") for each in get_args(hint)):
        return _spell_structs
    return _spell_field


class _FieldSpellers(dict[type[View], tuple[Callable[[Any], str], ...]]):
    """How to spell the fields of each kind of view; empty where all of them are remembered."""

    def __missing__(self, kind: type[View]) -> tuple[Callable[[Any], str], ...]:
        hints = getattr(kind, "__annotations__", {})
        ways = tuple([_speller_of(hints.get(name)) for name in getattr(kind, "_fields", ())])
        self[kind] = ways if any(way is not _spell_field for way in ways) else ()
        return self[kind]


_field_spellers = _FieldSpellers()


def encode_views(views: Iterable[View]) -> bytes:
    """Return questions as text, a line each: their fields, split by one blank."""
    word, ways_of = _spell_field, _field_spellers.__getitem__
    lines = [" ".join(map(call, ways, view) if (ways := ways_of(type(view))) else map(word, view)) for view in views]
    lines.append("")  # the last line has its end, too
    return "\n".join(lines).encode()


PRINTABLE = re.compile(rb"[\x20-\x7E]*")
REPORTED_FAULT = re.compile(r"! ?([A-Za-z_][A-Za-z0-9_.]{0,99})")


@lru_cache(maxsize=8192)
def read_move(grammar: Grammar, line: bytes) -> Answer:
    """Return the move that one answer line says, or the fault that it is.

    `! TimeoutError` and `! ClassName` are how an adapter reports what happened inside a function of its bot.
    """
    if len(line) > MAX_LINE_BYTES:
        return Fault(FaultKind.FLOOD)
    if not PRINTABLE.fullmatch(line):
        return Fault(FaultKind.UNREADABLE)
    text = line.decode("ascii").strip(" ")
    if reported := REPORTED_FAULT.fullmatch(text):
        name = reported[1]
        return Fault(FaultKind.TIMEOUT if name == "TimeoutError" else FaultKind.EXCEPTION, name)
    match = grammar.pattern.fullmatch(text)
    if match is None:
        return Fault(FaultKind.UNREADABLE)
    said = match.groupdict()
    verb = (said.get("verb") or grammar.verb).partition(" ")[0].upper()
    return Move(verb, int(said["n"]) if said.get("n") else 0)


NUMBERED_LINE = re.compile(rb"([1-9][0-9]{0,11}) (.*)", re.DOTALL)


def number(table: int, line: bytes) -> bytes:
    """Return a question line with its table's number in front."""
    return b"%d %b" % (table, line)


def split_table_number(line: bytes) -> tuple[int, bytes]:
    """Return an answer line's table and the rest of it; table 0 when it names none."""
    match = NUMBERED_LINE.fullmatch(line)
    return (int(match[1]), match[2]) if match else (0, line)


def over(table: int) -> bytes:
    """Return the line that ends a table; it wants no answer."""
    return b"over %d\n" % table


def without_line_end(line: bytes) -> bytes:
    """Return a line without its LF and the one CR that may stand before it."""
    return line.removesuffix(b"\n").removesuffix(b"\r")
