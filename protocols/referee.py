"""Implements referee/1: one process plays the rules of many tables, and the host asks the bots. This module does no I/O.

Both sides write one JSON object a line. referee.md is the specification.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from protocols.strict_json import JsonError, read_json
from protocols.wire import Answer, Fault, Grammar

PROTOCOL = "referee/1"
HELLO = {"protocol": PROTOCOL}

MAX_REFEREE_LINE_BYTES = 64 << 10  # without the line end
MAX_TURN_BYTES = 256 << 10  # of all lines for one table, from an answer to the next question
MAX_QUESTIONS = 100_000  # at one table
MAX_SCORE = 10**12
MAX_ANSWER_LINES = 1000
MAX_LIMIT_MS = 10**9
MAX_REMEMBERED_ANSWERS = 1000  # each at most 24 KiB

Scalar = str | int | bool | None
Value = Scalar | tuple[Any, ...]
"""A value of a view: a text, a whole number, true, false, null, a list of these, or a list of lists of these."""


class Violation(Exception):
    """Raised if a referee writes what the protocol does not allow. The message says what is wrong with the line."""


class Opened(NamedTuple):
    """A table that a referee is asked to open."""

    table: int  # a number of this process only, never used twice
    seats: int
    bots: int  # the number of scores: fewer than seats if partners play together
    rules: Mapping[str, Any]
    luck: str  # 64 hexadecimal digits
    seed: int  # below 2^31
    words: Mapping[str, Sequence[str]] = {}  # of each stream that game.toml names, 16 hexadecimal digits each


class Ask(NamedTuple):
    """A question to one seat."""

    seat: int
    view: Any  # the fields by name, or the view that a `ReadUsual` function has made of them
    limit_ms: int | None = None
    lines: int = 1  # of the answer


class Show(NamedTuple):
    """A text for one seat that the bot does not answer."""

    seat: int
    text: str


class Over(NamedTuple):
    """The end of a table. `moves` is None unless the referee says that the table had no chance (see `engine.Ended`)."""

    scores: tuple[int, ...]
    moves: str | None = None


class Message(NamedTuple):
    """One line of a referee about one table."""

    table: int
    illegal: tuple[int, ...] = ()  # the seats whose last answer was an illegal move
    show: tuple[Show, ...] = ()
    tell: tuple[tuple[str, dict[str, Any]], ...] = ()  # events for spectators: their names and facts
    ask: tuple[
        Any, ...
    ] = ()  # an Ask for each question, or the tuple that a `ReadUsual` function has made of it, with the seat first
    over: Over | None = None
    raw: bytes = b""  # the line, without its end


def write_line(value: Mapping[str, Any]) -> bytes:
    """Return an object as the host writes it: ASCII, without blanks, with a line end."""
    return _encode(value).encode() + b"\n"


_BETWEEN_WORDS = '","'  # hexadecimal digits need no escapes
_quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii
_encode: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":")).encode


def open_line(opened: Opened, rules: str) -> bytes:
    """Return the line that opens a table, given its rules as JSON."""
    said = f'{{"open":{opened.table},"seats":{opened.seats},"rules":{rules}'
    said += f',"luck":{_quoted(opened.luck)},"seed":{opened.seed}'
    if opened.words:
        lists = [f'{_quoted(label)}:["{_BETWEEN_WORDS.join(words)}"]' for label, words in opened.words.items()]
        said += f',"words":{{{",".join(lists)}}}'
    return f"{said}}}\n".encode()


class AnswerWriter(dict[tuple[int, Answer], str]):
    """Writes answers. It stores the JSON of each answer by seat and answer, because there are few different ones."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__()
        self._grammar = grammar

    def line(self, table: int, seats: Sequence[int], answers: Sequence[Answer]) -> bytes:
        """Return the line with the answers of all seats that a table has asked, in the order in which it asked them."""
        # Most lines of the host come from here. Without a JSON encoder, a line takes a tenth of the time.
        said = ",".join(map(self.__getitem__, zip(seats, answers, strict=True)))
        return f'{{"table":{table},"answers":[{said}]}}\n'.encode()

    def __missing__(self, given: tuple[int, Answer]) -> str:
        seat, answer = given
        if isinstance(answer, Fault):
            detail = f',"detail":{_quoted(answer.detail)}' if answer.detail else ""
            written = f'{{"seat":{seat},"fault":"{answer.kind}"{detail}}}'
        else:
            written = f'{{"seat":{seat},"move":{_quoted(self._grammar.spell(answer))}}}'
        if len(self) < MAX_REMEMBERED_ANSWERS:
            self[given] = written
        return written


def drop_line(table: int) -> bytes:
    """Return the line that abandons a table."""
    return write_line({"drop": table})


# Reading what a referee writes.


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line without its line end. Raise Violation for anything else."""
    if len(line) > MAX_REFEREE_LINE_BYTES:
        raise Violation(f"is longer than {MAX_REFEREE_LINE_BYTES} bytes")
    try:
        value = read_json(line)
    except JsonError as wrong:
        raise Violation(str(wrong)) from None
    if type(value) is not dict:
        raise Violation("is not a JSON object")
    return value


def _member(of: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    value = of.get(name)
    if type(value) is not kind:
        raise Violation(f"has {what} without {NOUNS[kind]} in {name!r}")
    return value


def _only(of: Any, keys: frozenset[str], what: str) -> None:
    if type(of) is not dict:
        raise Violation(f"has {what} that is not an object")
    if not of.keys() <= keys:
        raise Violation(f"has an unknown member {sorted(of.keys() - keys)[0][:40]!r} in {what}")


STRINGS, INTEGERS = frozenset({str}), frozenset({int})
FACTS = frozenset({str, int, float, bool})
NOUNS: Mapping[type, str] = {int: "a whole number", str: "a text"}
MESSAGE_KEYS = frozenset({"table", "illegal", "show", "tell", "ask", "over"})
ASK_KEYS = frozenset({"seat", "view", "limit_ms", "lines"})
SHOW_KEYS, OVER_KEYS = frozenset({"seat", "text"}), frozenset({"scores", "moves"})


def read_message(line: bytes, fields: frozenset[str]) -> Message:
    """Parse a line about a table, without its line end. `fields` are the names of the fields that each view must have.

    Raise Violation if the line is not a message of this protocol. `Conversation` checks what depends on earlier lines:
    tables, seats, order.
    """
    said = read_object(line)
    if not said.keys() <= MESSAGE_KEYS:
        raise Violation(f"has an unknown member {sorted(said.keys() - MESSAGE_KEYS)[0][:40]!r}")
    table = said.get("table")
    if type(table) is not int:
        raise Violation("has no table number in 'table'")
    if len(said) < 2:
        raise Violation("says nothing about its table")
    asked = said.get("ask")
    if asked is not None and len(said) == 2:  # nearly all lines
        return Message(table, ask=_asks(asked, fields), raw=line)
    if "ask" in said and "over" in said:
        raise Violation("asks and ends the table at once")
    return Message(
        table,
        _seats(said["illegal"]) if "illegal" in said else (),
        _shows(said["show"]) if "show" in said else (),
        _tells(said["tell"]) if "tell" in said else (),
        _asks(asked, fields) if "ask" in said else (),
        _over(said["over"]) if "over" in said else None,
        line,
    )


def _asks(asked: Any, fields: frozenset[str]) -> tuple[Ask, ...]:
    if type(asked) is not list or not asked:
        raise Violation("has 'ask' that is not a list of questions")
    return tuple([_ask(each, fields) for each in asked])


def _ask(said: Any, fields: frozenset[str]) -> Ask:
    _only(said, ASK_KEYS, "a question")
    seat, view = _member(said, "seat", int, "a question"), said.get("view")
    if type(view) is not dict:
        raise Violation("has a question without a view, an object")
    if view.keys() != fields:
        missing, unknown = sorted(fields - view.keys()), sorted(view.keys() - fields)
        raise Violation(f"has a view without {missing[0]!r}" if missing else f"has a view with {unknown[0][:40]!r}")
    for name, value in view.items():
        kind = type(value)
        if kind is list:
            view[name] = _list(name, value)
        elif kind is float or kind is dict:
            raise Violation(f"has a view whose {name!r} is not a text, a whole number, true, false, null or a list")
    if len(said) == 2:
        return Ask(seat, view)
    return Ask(seat, view, _number(said, "limit_ms", MAX_LIMIT_MS), _number(said, "lines", MAX_ANSWER_LINES) or 1)


def _number(said: Mapping[str, Any], name: str, most: int) -> int | None:
    if name not in said:
        return None
    number = said[name]
    if type(number) is not int or not 1 <= number <= most:
        raise Violation(f"has a question whose {name!r} is not a whole number from 1 to {most}")
    return number


def _list(name: str, items: list[Any]) -> tuple[Any, ...]:
    """Return a list of a view as a tuple. Its items may be lists of scalars."""
    kinds = frozenset(map(type, items))
    if kinds in (STRINGS, INTEGERS):
        return tuple(items)
    return tuple([tuple(map(_scalar(name), each)) if type(each) is list else _checked(name, each) for each in items])


def _scalar(name: str) -> Callable[[Any], Any]:
    return lambda value: _checked(name, value)


def _checked(name: str, value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    raise Violation(f"has a view whose list {name!r} holds something else than texts, whole numbers, true, false, null")


def _seats(said: Any) -> tuple[int, ...]:
    if type(said) is not list or not all(type(each) is int for each in said):
        raise Violation("has 'illegal' that is not a list of seats")
    return tuple(said)


def _shows(said: Any) -> tuple[Show, ...]:
    if type(said) is not list:
        raise Violation("has 'show' that is not a list")
    shown = []
    for each in said:
        _only(each, SHOW_KEYS, "a text for a seat")
        shown.append(Show(_member(each, "seat", int, "a 'show'"), _member(each, "text", str, "a 'show'")))
    return tuple(shown)


def _tells(said: Any) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(map(_event, said)) if type(said) is list else (_event(said),)


def _event(said: Any) -> tuple[str, dict[str, Any]]:
    event = said.pop("event", None) if type(said) is dict else None
    if type(event) is not str:
        raise Violation("has 'tell' that is not an object with a text 'event'")
    for name, value in said.items():
        if not (_is_fact(value) or (type(value) is list and all(map(_is_fact, value)))):
            raise Violation(f"has an event whose {name[:40]!r} is not a text, a number, or a list of these")
    return event, said


def _is_fact(value: Any) -> bool:
    return value is None or type(value) in FACTS


def _over(said: Any) -> Over:
    _only(said, OVER_KEYS, "'over'")
    scores, moves = said.get("scores"), said.get("moves")
    if type(scores) is not list or not all(type(each) is int and abs(each) <= MAX_SCORE for each in scores):
        raise Violation("has 'over' without scores, a list of whole numbers")
    if moves is not None and type(moves) is not str:
        raise Violation("has 'over' with moves that are not a text")
    return Over(tuple(scores), moves)


ReadUsual = Callable[[bytes], Message | None]
"""Parses a line as `read_message` does, or returns None for a line that it does not accept."""


def read_nothing(_line: bytes) -> None:
    """Return None: `read_message` parses every line."""


# The conversation with one process.


class TableState(StrEnum):
    """The side that a table waits for."""

    REFEREE = "referee"  # the referee owes a question, or the end
    HOST = "host"  # the host owes the answers


REFEREE, HOST = TableState  # as globals: each attribute of an Enum costs 0.15 µs


class _Table:
    """A table that is open in the process."""

    __slots__ = ("answered", "answers", "asked", "bots", "bytes", "illegal", "questions", "seats", "state")

    def __init__(self, opened: Opened) -> None:
        self.seats, self.bots, self.state = opened.seats, opened.bots, REFEREE
        self.asked: tuple[int, ...] = ()  # the seats whose answers the host owes, in order
        self.answered: tuple[int, ...] = ()  # the seats of the last answers
        self.answers: Sequence[Answer] = ()  # the last answers, in the order of `answered`
        self.illegal: tuple[int, ...] = ()  # the seats of `answered` whose moves the referee has called illegal
        self.questions = self.bytes = 0

    def may_be_illegal(self, seat: int) -> bool:
        """Return whether the last answers have a move of this seat that the referee has not called illegal yet."""
        if seat in self.illegal or seat not in self.answered:
            return False
        return type(self.answers[self.answered.index(seat)]) is not Fault


class Conversation:
    """The conversation between the host and one referee: its lines to the process, and the checks of the process's lines.

    It does no I/O. If a method returns bytes, the caller must write them to the process.
    """

    def __init__(self, grammar: Grammar, fields: Iterable[str], read_usual: ReadUsual = read_nothing) -> None:
        """`read_usual` parses some lines faster than `read_message`, and returns the same messages."""
        self._fields, self._read_usual = frozenset(fields), read_usual
        self._answers = AnswerWriter(grammar)
        self._tables: dict[int, _Table] = {}
        self._rules: tuple[Mapping[str, Any] | None, str] = None, ""  # of the last table, and as JSON
        self._rest = b""  # the beginning of a line
        self.lines = 0  # number of lines that the process has written
        self.failed_at: int | None = None  # the table of the line that was refused, if it is an open one
        self.greeted = False  # whether the process has written its first line
        self.owed = 0  # tables at which the referee owes a question or the end

    @property
    def is_waiting(self) -> bool:
        """Return whether the process must write something now."""
        return self.owed > 0 or not self.greeted

    def start(self) -> bytes:
        """Return the first line to the process."""
        return write_line(HELLO)

    def open(self, opened: Opened) -> bytes:
        """Open a table. Return the line that asks the process to open it."""
        self._tables[opened.table] = _Table(opened)
        self.owed += 1
        if opened.rules is not self._rules[0]:  # most tables have the rules of the table before
            self._rules = opened.rules, _encode(dict(opened.rules))
        return open_line(opened, self._rules[1])

    def answer(self, table: int, answers: Sequence[Answer]) -> bytes:
        """Answer the open questions of a table, in their order. Return the line with the answers for the process."""
        one = self._tables[table]
        seats, one.state, one.asked, one.bytes = one.asked, REFEREE, (), 0
        one.answered, one.answers, one.illegal = seats, answers, ()
        self.owed += 1
        return self._answers.line(table, seats, answers)

    def drop(self, table: int) -> bytes:
        """Abandon a table that waits for answers. Return the line that reports this to the process."""
        del self._tables[table]
        return drop_line(table)

    def receive(self, data: bytes) -> list[Message]:
        """Return the messages whose lines end in a piece of output, in order. Raise Violation for a line that is wrong.

        The text of a Violation begins with the number of the line, from 1.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        messages, read_usual, check = list[Message](), self._read_usual, self._check
        try:
            for line in lines:
                self.lines += 1
                if self.greeted:
                    message = read_usual(line) or read_message(line, self._fields)
                    check(message, len(line))
                    messages.append(message)
                else:
                    self._greet(line)
        except Violation as wrong:
            raise Violation(f"line {self.lines} {wrong}") from None
        if len(self._rest) > MAX_REFEREE_LINE_BYTES:
            raise Violation(f"line {self.lines + 1} is longer than {MAX_REFEREE_LINE_BYTES} bytes")
        if self._rest and not self.is_waiting:
            raise Violation(f"line {self.lines + 1} comes before the referee was asked")
        return messages

    def _greet(self, line: bytes) -> None:
        if read_object(line) != HELLO:
            raise Violation(f"is not {_encode(HELLO)}")
        self.greeted = True

    def _check(self, message: Message, size: int) -> None:
        table, illegal, show, _, ask, over, _ = message
        one = self._tables.get(table)
        if one is None:
            raise Violation(f"is about table {table}, which is not open")
        self.failed_at = table
        if one.state is not REFEREE:
            raise Violation(f"is about table {table}, which waits for answers")
        one.bytes += size
        if one.bytes > MAX_TURN_BYTES:
            raise Violation(f"is the end of more than {MAX_TURN_BYTES} bytes about table {table} without a question")
        for seat in illegal:
            if not one.may_be_illegal(seat):
                raise Violation(f"calls seat {seat} of table {table} illegal, which has not just moved")
            one.illegal += (seat,)
        for seat, _ in show:
            self._check_seat(one, seat, table)
        if ask:
            seats = tuple([each[0] for each in ask])
            if seats != one.answered:  # the seats of `answered` were checked before
                self._check_asks(one, table, seats)
            one.questions += len(seats)
            if one.questions > MAX_QUESTIONS:
                raise Violation(f"asks more than {MAX_QUESTIONS} questions at table {table}")
            one.asked, one.state, one.bytes = seats, HOST, 0
            self.owed -= 1
        elif over is not None:
            if len(over.scores) != one.bots:
                raise Violation(f"has {len(over.scores)} scores, and table {table} has {one.bots} bots")
            del self._tables[table]
            self.owed -= 1
        self.failed_at = None

    def _check_asks(self, one: _Table, table: int, seats: Sequence[int]) -> None:
        for seat in seats:
            self._check_seat(one, seat, table)
        if len({*seats}) < len(seats):
            twice = next(seat for seat in seats if seats.count(seat) > 1)
            raise Violation(f"asks seat {twice} of table {table} twice at once")

    @staticmethod
    def _check_seat(one: _Table, seat: int, table: int) -> None:
        if not 0 <= seat < one.seats:
            raise Violation(f"names seat {seat} of table {table}, which has the seats 0 to {one.seats - 1}")
