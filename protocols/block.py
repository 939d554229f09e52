"""Implements block: one process for many questions of several lines.

An answer has as many lines as its question asks for, or it ends with the line that ends all answers of the game.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from protocols.wire import (
    Answer,
    AnswerLines,
    Asked,
    Fault,
    FaultKind,
    Grammar,
    Lines,
    Once,
    Protocol,
    View,
    read_move,
    read_text,
    spell,
    text_of,
)


class _Layout(NamedTuple):
    """The layout of a type of view. A field is given by its index in the view.

    `once` has the fields that are sent once a table. `fields` has the fields that are sent with each question, each with
    the function that writes it.
    """

    once: tuple[int, ...]
    fields: tuple[tuple[int, Callable[[Any], str]], ...]
    lines: int | None  # the index of the field with the number of lines of the answer


def _text(text: str) -> str:
    """Return a text with a line end after its last line. An empty text stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def _field(value: object) -> str:
    """Return a field as a line. The protocol `lines` writes fields in the same way."""
    return spell(value) + "\n"


class _Layouts(dict[type[View], _Layout]):
    """The layouts, by type of view."""

    def __missing__(self, kind: type[View]) -> _Layout:
        names = getattr(kind, "_fields", ())
        hints = [getattr(kind, "__annotations__", {}).get(name) for name in names]
        unsent = (Once, AnswerLines)
        self[kind] = _Layout(
            tuple([index for index, hint in enumerate(hints) if hint is Once]),
            tuple(
                [(index, _text if hint is Lines else _field) for index, hint in enumerate(hints) if hint not in unsent]
            ),
            hints.index(AnswerLines) if AnswerLines in hints else None,
        )
        return self[kind]


_layouts = _Layouts()


def begin(view: View) -> bytes:
    """Return the lines of initialisation, which a process is sent before its first question of a table."""
    return "".join([_text(view[index]) for index in _layouts[type(view)].once]).encode(errors="replace")


def encode(view: View) -> bytes:
    """Return the lines of a question: each field is one line, or a text of several lines that is sent as it is."""
    fields = _layouts[type(view)].fields
    return "".join([written(view[index]) for index, written in fields]).encode(errors="replace")


def answer_lines(view: View) -> int:
    """Return the number of lines of the answer to a question, at least 1."""
    index = _layouts[type(view)].lines
    return 1 if index is None else max(1, view[index])


def receive(grammar: Grammar, answer: bytes) -> Answer:
    """Parse the lines of an answer, without the LF of the last one.

    The grammar's pattern must match the lines joined by LF. Spaces at both ends of each line are removed first.
    """
    if b"\n" not in answer:
        return read_move(grammar, answer.removesuffix(b"\r"))
    if len(answer) > grammar.longest:
        return Fault(FaultKind.FLOOD)
    lines = [text_of(grammar, line.removesuffix(b"\r").strip(b" ")) for line in answer.split(b"\n")]
    texts = [line for line in lines if line is not None]
    return read_text(grammar, "\n".join(texts)) if len(texts) == len(lines) else Fault(FaultKind.UNREADABLE)


def number(table: int, question: bytes) -> bytes:
    """Return a question after a line with its table's number."""
    return b"%d\n%b" % (table, question)


class Block:
    """The framing of one bot. It stores the tables that the process knows, and the number of lines of each open answer."""

    def __init__(self, until: str | None = None) -> None:
        self._last = None if until is None else (until.encode(), until.encode() + b" ")
        self._tables: set[int] = set()
        self._due: list[int] = []  # lines of the answers that are due, the last one first

    def restart(self) -> None:
        """Begin with a new process: it knows no table."""
        self._tables.clear()
        self._due.clear()

    def encode(self, questions: Sequence[Asked], complete: Callable[[int, bytes], bytes] | None = None) -> bytes:
        """Return the lines of questions, with those of initialisation for each table that the process does not know."""
        asked = []
        for index, question in enumerate(questions):
            known = question.table in self._tables
            lines = encode(question.view) if known else begin(question.view) + encode(question.view)
            asked.append(lines if complete is None else complete(index, lines))
            self._tables.add(question.table)
        self._due = [answer_lines(question.view) for question in reversed(questions)]
        return b"".join(asked)

    def read(self, output: bytes) -> list[bytes]:
        """Return the complete answers at the start of some output. The last item of the list is the output after them."""
        lines = output.split(b"\n")
        answers, first = [], 0
        while self._due and (after := self._end(lines, first)) < len(lines):
            self._due.pop()
            answers.append(b"\n".join(lines[first:after]))
            first = after
        return [*answers, b"\n".join(lines[first:])]

    def _end(self, lines: Sequence[bytes], first: int) -> int:
        """Return the index of the line after the answer that begins with line `first`.

        If the answer is not complete, the index is at least the number of lines.
        """
        if self._last is None:
            return first + self._due[-1]
        word, start = self._last
        for index in range(first, len(lines) - 1):
            line = lines[index].strip(b" \r")
            if line == word or (word and line.startswith(start)):
                return index + 1
        return len(lines)

    def hear(self, _questions: Sequence[Asked], _answers: Sequence[bytes]) -> None:
        """Do nothing."""


PROTOCOL = Protocol(
    "block",
    persistent=True,
    encode=encode,
    receive=receive,
    number=number,
    framing=Block,
    one_line=False,
    lifetimes=("table", "fixture"),
    one_question="all lines of one question",
    one_answer="as many lines as the question asks for",
    unended='print as many lines as the question asks for, end each with a newline, "\\n", and flush them',
)
