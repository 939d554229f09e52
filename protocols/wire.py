"""Defines moves, faults and views, writes the fields of a question, and parses the text of an answer."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise, repeat
from operator import call
from typing import Annotated, Any, NamedTuple, get_args, get_origin
from typing import Protocol as Interface

from protocols.strict_json import compact, json_or_text

MAX_LINE_BYTES = 4096  # usual length of a question or an answer, without the line end
MAX_ANSWER_BYTES = 1 << 20  # length of an answer, whatever an organiser allows

MAX_TEXT = 1000  # characters of the text of an event; the casino shows texts up to this length

# With 4096, a fifth of Pazaak's questions had a hand that was no longer in the cache. This many do not fit into the
# processor's cache, but the frequent ones stay in it.
MAX_CACHED_SPELLINGS = 1 << 15


MAX_CACHED_CHARS = 1000  # of a value as text; a referee can write long ones, each of them once


class Move(NamedTuple):
    """A move of a bot: `Move("B", 15)` is written `B 15`, `Move("PASS", text="QS 2H")` is written `PASS QS 2H`.

    `text` is the part of an answer that does not fit into `verb` and `n`. It has only the characters 0x20 to 0x7E, unless
    the grammar allows more. LF separates the lines of an answer of several lines.
    """

    verb: str
    n: int = 0
    text: str = ""

    def __str__(self) -> str:
        """Return the move as text, without a number that is 0. `Grammar.spell` writes a move as the bots of a game do."""
        said = f"{self.verb} {self.n}" if self.n else self.verb
        return f"{said} {self.text}" if self.text else said


class FaultKind(StrEnum):
    """The ways in which a bot fails to answer. `sample_bots/rogues` has a bot for each."""

    TIMEOUT = "timeout"  # no whole answer within the wall-clock limit
    CPU = "cpu"  # more processor time than the limit of a move
    MEMORY = "memory"  # more memory than the bot's limit
    FLOOD = "flood"  # more output than the limit of a move
    BUDGET = "budget"  # a request to a model whose budget was used up at an earlier question
    CRASH = "crash"  # killed by a signal, or exited with an error, without an answer
    EXIT = "exit"  # exited with status 0 without an answer
    START = "start"  # could not be started
    UNREADABLE = "unreadable"  # an answer that does not match the game's grammar
    EXTRA = "extra"  # more than one answer to one question
    EARLY = "early"  # wrote before it was asked
    EXCEPTION = "exception"  # reported by an adapter as `! ClassName`; the process keeps running
    ILLEGAL = "illegal"  # a well-formed move that the rules do not allow here
    BENCHED = "benched"  # not asked, after too many of the faults above


class Fault(NamedTuple):
    """A bot's failure to answer, as the rules receive it. The record stores the evidence."""

    kind: FaultKind
    detail: str = ""  # what a rule may use, for example "ZeroDivisionError"

    @property
    def ends_process(self) -> bool:
        """Whether the bot's process is killed."""
        return self.kind not in HARMLESS and self != ADAPTER_TIMEOUT


HARMLESS = frozenset({FaultKind.EXCEPTION, FaultKind.ILLEGAL, FaultKind.BENCHED})
"""The faults after which the bot's process keeps running."""

ADAPTER_TIMEOUT = Fault(FaultKind.TIMEOUT, "TimeoutError")
"""The fault that an adapter reports as `! TimeoutError`. The process keeps running."""

Answer = Move | Fault
View = tuple[Any, ...]
"""The question to a seat: a NamedTuple of plain values. Its fields have the same order as on a line.

A field is an int, str, bool or None, or a tuple of these or of NamedTuples of these. A plain tuple contains no plain tuple.
"""


class Range(NamedTuple):
    """Whole numbers from `first` to `last`, both included: `3:7` on a line, `{"first": 3, "last": 7}` in JSON."""

    first: int
    last: int


def ranges(numbers: Iterable[int]) -> tuple[Range, ...]:
    """Return the fewest ranges that have exactly these numbers, in ascending order.

    A view lists many legal moves in this way: `0:211,214:214`.
    """
    ordered = sorted(set(numbers))
    if not ordered or ordered[-1] - ordered[0] == len(ordered) - 1:  # one range, as in most questions
        return (Range(ordered[0], ordered[-1]),) if ordered else ()
    firsts, lasts = [ordered[0]], list[int]()
    for last, first in pairwise(ordered):
        if first - last > 1:
            lasts.append(last)
            firsts.append(first)
    lasts.append(ordered[-1])
    return tuple(map(tuple.__new__, repeat(Range), zip(firsts, lasts, strict=True)))  # half the time of Range(…)


Lines = Annotated[str, "a text of several lines"]
"""The type of a field of a view with a text that `block` sends as it is. Other protocols treat it as any text."""

Once = Annotated[str, "a text of several lines for the first question of a table"]
"""The type of a field with a text that `block` sends only before the first question of a table to a process."""

AnswerLines = Annotated[int, "the number of lines of the answer"]
"""The type of a field with the number of lines of the answer. `block` does not send it. Without such a field, an answer has
one line."""

Json = Annotated[str, "JSON"]
"""The type of a field with the text of a JSON value. `json` and `botzone` send the value itself. If the view has no other
field, the value is the whole question; over `json` only if it is an object."""


class TextView(NamedTuple):
    """The view of a game whose questions are only lines of text. `begin` is the same in all views of a seat at a table."""

    begin: Once
    text: Lines
    lines: AnswerLines = 1


def in_ranges(number: int, some: Iterable[Range]) -> bool:
    """Return whether a number is in one of the ranges."""
    for first, last in some:  # noqa: SIM110 (`any` takes twice as long)
        if first <= number <= last:
            return True
    return False


class Grammar(NamedTuple):
    """How bots write a game's moves. `pattern` matches a whole trimmed answer; its groups are `verb`, `n` and `text`."""

    pattern: re.Pattern[str]
    expected: str  # for messages: "H, S, D or B <chips>"
    verb: str = ""  # the verb of a game whose moves are only numbers, or only texts
    json: bool = False  # whether each move is a JSON value of any kind; its text is the value as compact JSON
    utf8: bool = False  # whether an answer may have all characters that can be printed, as UTF-8
    longest: int = MAX_LINE_BYTES  # bytes of an answer; croupier sets it to the limit `output` of a bot
    until: str | None = None  # over `block`, the word with which the last line of each answer begins; "": it is blank

    def spell(self, move: Move) -> str:
        """Return a move as the bots of this game write it."""
        if move.verb != self.verb:
            said = str(move)
            if move.n or "n" not in self.pattern.groupindex or self.pattern.fullmatch(said):
                return said
            return f"{move.verb} 0 {move.text}".strip(" ")  # the bot has written the 0: without it, this is no answer
        is_number = move.n or (not move.text and "n" in self.pattern.groupindex)  # else an empty text stays empty
        number = str(move.n) if is_number else ""
        return f"{number} {move.text}".strip(" ")


class Asked(Interface):
    """The part of a question that a protocol uses: the number of its table in the fixture, and the view."""

    @property
    def table(self) -> int: ...
    @property
    def view(self) -> View: ...


class Framing(Interface):
    """Writes the questions to one bot in a fixture, and finds the ends of its answers.

    If each question and each answer is one line, the framing has no state.
    """

    def restart(self) -> None:
        """Begin with a new process, which has not been sent anything."""
        ...

    def encode(self, questions: Sequence[Asked], complete: Callable[[int, bytes], bytes] | None = None) -> bytes:
        """Return the bytes that are sent for a batch of questions.

        `complete` is called with the index of a question in the batch and its bytes. It returns these bytes with what the
        host adds: the number of the table, or the time in the bank.
        """
        ...

    def read(self, output: bytes) -> list[bytes]:
        """Return the complete answers at the start of some output, each without its last line end.

        The last item of the list is the output that follows them, perhaps empty.
        """
        ...

    def hear(self, questions: Sequence[Asked], answers: Sequence[bytes]) -> None:
        """Store the answers to questions, in the same order. None of them is a fault that ends the process."""
        ...


class _SpellingCache(dict[object, str]):
    """A cache of the text of each value: the same few values are written some hundred thousand times a second."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, value: object) -> str:
        text = self._function(value)
        if len(text) > MAX_CACHED_CHARS:
            return text
        if len(self) >= MAX_CACHED_SPELLINGS:
            self.clear()
        self[value] = text
        return text


Word = Annotated[str, "bytes ! to ~ without %"]
"""The type of a field of a view with a text that the rules write, for example a card: `!` to `~` without `%`. It is never
escaped, which saves time. A text that a bot can choose is a `str`."""

# Another bot may have written a text. Whatever it contains, it must stay one field, or one item of a list.
_UNSAFE = re.compile(r"[^!-$&-~]")
_UNSAFE_IN_LIST = re.compile(r"[^!-$&-+\--9;-~]")  # also the comma and the colon, which separate items


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join([f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")])


def _field(value: object) -> str:
    if isinstance(value, tuple):  # a hand of cards; nearly all cache misses are hands
        return (
            ",".join([_struct_spellings[each] if isinstance(each, tuple) else _item_spellings[each] for each in value])
            or "-"
        )
    if value is None or value == "":
        return "-"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return _UNSAFE.sub(_percent_encoded, value)
    raise TypeError(f"a view holds int, str, bool, None and tuples of these, not {value!r}")


def _item(value: object) -> str:
    return _UNSAFE_IN_LIST.sub(_percent_encoded, value) or "-" if isinstance(value, str) else _field_spellings[value]


_field_spellings = _SpellingCache(_field)
_item_spellings = _SpellingCache(_item)
_struct_spellings = _SpellingCache(lambda value: ":".join(map(_spell_item, value)))
# NamedTuples have their own cache: they equal plain tuples but are written differently.


def spell(value: object) -> str:
    """Return one field of a question as text. An empty field is `-`, so a line always has all its fields.

    The items of a list are joined by commas, the fields of a NamedTuple by colons. A character of a text that would end the
    field or the item is written as `%` and two hexadecimal digits. The value has a type that a view may have (see `View`):
    the cache cannot distinguish 1.0 from 1. The sources of questions refuse other types (host/play/sources).
    """
    if isinstance(value, tuple) and type(value) is not tuple:
        return _struct_spellings[value]
    return _field_spellings[value]


_spell_field: Callable[[object], str] = _field_spellings.__getitem__
_spell_item: Callable[[object], str] = _item_spellings.__getitem__
_spell_struct: Callable[[object], str] = _struct_spellings.__getitem__


def _spell_word(value: str) -> str:
    return value or "-"


def _spell_text(value: str) -> str:
    # These four take half the time of the pattern.
    plain = value.isascii() and value.isprintable() and " " not in value and "%" not in value
    return (value if plain else _UNSAFE.sub(_percent_encoded, value)) or "-"


def _spell_structs(value: Sequence[object]) -> str:
    return ",".join(map(_spell_struct, value)) if value else "-"


def _speller_of(hint: object) -> Callable[[Any], str]:
    """Return the function that writes a field of this type. It uses the cache unless writing the field again is faster.

    A string needs no cache. A list of NamedTuples seldom repeats and is slow to hash, but its members repeat.
    """
    if hint is Word:
        return _spell_word
    if hint is str:
        return _spell_text
    if get_origin(hint) is tuple and all(each is ... or hasattr(each, "_fields") for each in get_args(hint)):
        return _spell_structs
    return _spell_field


class _FieldSpellers(dict[type[View], tuple[Callable[[Any], str], ...]]):
    """The functions that write the fields, in their order, by type of view; empty if the cache writes all fields."""

    def __missing__(self, kind: type[View]) -> tuple[Callable[[Any], str], ...]:
        hints = getattr(kind, "__annotations__", {})
        spellers = tuple([_speller_of(hints.get(name)) for name in getattr(kind, "_fields", ())])
        self[kind] = spellers if any(each is not _spell_field for each in spellers) else ()
        return self[kind]


_field_spellers = _FieldSpellers()


def encode_view(view: View) -> bytes:
    """Return a question as one line: its fields, separated by one space.

    It takes 0.2 µs less than `encode_views`. It writes every question to a bot that plays one table at a time.
    """
    spellers = _field_spellers[type(view)]
    fields = map(call, spellers, view) if spellers else map(_spell_field, view)
    return (" ".join(fields) + "\n").encode()


def encode_views(views: Sequence[View]) -> bytes:
    """Return questions as text, one line each."""
    spell_one, spellers_of = _spell_field, _field_spellers.__getitem__
    lines = [
        " ".join(map(call, own, view) if (own := spellers_of(type(view))) else map(spell_one, view)) for view in views
    ]
    lines.append("")  # ends the last line
    return "\n".join(lines).encode()


PRINTABLE = re.compile(rb"[\x20-\x7E]*")
REPORTED_FAULT = re.compile(r"! ?([A-Za-z_][A-Za-z0-9_.]{0,99})")


def read_move(grammar: Grammar, line: bytes) -> Answer:
    """Parse one answer line into a move or a fault.

    An adapter writes `! TimeoutError` or `! ClassName` to report an exception inside a function of its bot.
    """
    if len(line) <= MAX_CACHED_CHARS:
        return _read_short(grammar, line)
    return _read_line(grammar, line) if len(line) <= grammar.longest else Fault(FaultKind.FLOOD)


def _read_line(grammar: Grammar, line: bytes) -> Answer:
    text = text_of(grammar, line)
    return Fault(FaultKind.UNREADABLE) if text is None else read_text(grammar, text)


_read_short = lru_cache(maxsize=8192)(_read_line)


def text_of(grammar: Grammar, line: bytes) -> str | None:
    """Return a line of an answer as text, or None if it has bytes that the grammar does not allow."""
    if PRINTABLE.fullmatch(line):
        return line.decode("ascii")
    if not (grammar.utf8 or grammar.json):
        return None
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def read_text(grammar: Grammar, text: str) -> Answer:
    """Parse the text of an answer into a move or a fault. Its characters are printable; LF separates several lines."""
    text = text.strip(" ")
    if reported := REPORTED_FAULT.fullmatch(text):
        name = reported[1]
        return Fault(FaultKind.TIMEOUT if name == "TimeoutError" else FaultKind.EXCEPTION, name)
    match = grammar.pattern.fullmatch(text)
    if match is None:
        return Fault(FaultKind.UNREADABLE)
    groups = match.groupdict()
    verb = (groups.get("verb") or grammar.verb).partition(" ")[0].upper()
    words = groups.get("text") or ""
    if grammar.json:
        words = _json_text(words)
    try:
        return Move(verb, int(groups["n"]) if groups.get("n") else 0, words)
    except ValueError:  # an organiser's pattern may let more than digits pass
        return Fault(FaultKind.UNREADABLE)


def _json_text(text: str) -> str:
    """Return a text as compact JSON. A text that `read_json` does not accept becomes a JSON string."""
    return compact(json_or_text(text))


NUMBERED_LINE = re.compile(rb"([1-9][0-9]{0,11}) (.*)", re.DOTALL)


def number(table: int, line: bytes) -> bytes:
    """Return a question line that starts with its table's number."""
    return b"%d %b" % (table, line)


def split_table_number(line: bytes) -> tuple[int, bytes]:
    """Return the table number of an answer line, or 0 if it has none, and the rest of the line."""
    match = NUMBERED_LINE.fullmatch(line)
    return (int(match[1]), match[2]) if match else (0, line)


def no_bank(_milliseconds: int, line: bytes) -> bytes:
    """Return a question line as it is: this protocol does not report the time bank with a question."""
    return line


def over(table: int) -> bytes:
    """Return the line that reports the end of a table. The bot does not answer it."""
    return b"over %d\n" % table


def without_line_end(line: bytes) -> bytes:
    """Return a line without its LF, and without a CR before it."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def write(grammar: Grammar, move: Move) -> bytes:
    """Return an answer as a bot writes it: the move on a line."""
    return grammar.spell(move).encode() + b"\n"


class Protocol(NamedTuple):
    """A protocol as a set of pure functions: `encode` writes a view as bytes, `receive` parses the bytes of one answer."""

    name: str
    persistent: bool  # whether one process can answer many questions
    encode: Callable[[View], bytes]  # a question as text
    receive: Callable[[Grammar, bytes], Answer]
    framing: Callable[..., Framing]  # takes `until` of the game's grammar, or nothing
    number: Callable[[int, bytes], bytes] = number  # adds the table's number to a question
    # Returns the table number of an answer (0 if there is none) and the rest of it.
    split_table_number: Callable[[bytes], tuple[int, bytes]] = split_table_number
    bank: Callable[[int, bytes], bytes] = no_bank  # adds the milliseconds left in the bot's time bank to a question
    over: Callable[[int], bytes] = over  # the line that reports the end of a table; the bot does not answer it
    write: Callable[[Grammar, Move], bytes] = write  # an answer as a bot writes it
    # Whether each question and each answer is one line and depends on no earlier one. Then a single question is sent
    # without the framing, which is faster.
    one_line: bool = True
    lifetimes: tuple[str, ...] = ("fixture", "table")  # how long a process can live; the first is the default
    note: Callable[[bytes], str] | None = None  # returns the note beside the move of an answer; "" if there is none
    # Adds the reason of the refusal to a question that is asked again; None: no question can be asked again.
    refused: Callable[[str, bytes], bytes] | None = None
    repeats: bool = False  # whether a new process is sent the earlier questions and answers of the table again
    ends_with_output: bool = False  # whether the end of the output completes an answer without a line end
    # For the messages of `check`: what a bot reads and prints for a question, and the cure if its answer does not end.
    one_question: str = "one line"
    one_answer: str = "one line"
    unended: str = 'end each answer with a newline, "\\n", and flush it'
