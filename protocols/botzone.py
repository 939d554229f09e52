"""Implements botzone and botzone-simple: bots written for Botzone. A new process is sent the whole history of its table.

An answer ends with the output of the process, or with a line that asks to keep the process running. From then on the
process is sent only the new request. README.md has the exact forms.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from protocols.jsonlines import to_json_value
from protocols.wire import (
    Answer,
    Asked,
    Fault,
    FaultKind,
    Grammar,
    Json,
    Move,
    Protocol,
    View,
    encode_view,
    no_bank,
    over,
    read_move,
    split_table_number,
    without_line_end,
)
from protocols.wire import write as write_line

KEEP_RUNNING = b">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"


class Said(NamedTuple):
    """What an answer contains. In botzone each part is JSON, in botzone-simple the bytes of its line."""

    response: bytes
    data: bytes = b""  # for the next question of this table
    globaldata: bytes = b""  # for all later questions, also of other tables; empty: as before


def compact(value: object) -> bytes:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def json_of(view: View) -> str | None:
    """Return the JSON text that is the whole view; None for a view of fields."""
    hints = getattr(type(view), "__annotations__", {})
    return str(view[0]) if len(view) == 1 and [*hints.values()] == [Json] else None


def is_json(text: str) -> bool:
    """Return whether a text is a JSON value that can be sent."""
    try:
        json.loads(text, parse_constant=no_constant)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return True


def no_constant(name: str) -> Any:
    """Raise ValueError: NaN and Infinity are not JSON."""
    raise ValueError(f"{name} is not JSON")


# botzone: JSON


def encode(view: View) -> bytes:
    """Return a request as JSON on one line."""
    text = json_of(view)
    return compact(to_json_value(view) if text is None else json.loads(text)) + b"\n"


def parse(message: bytes) -> Any:
    """Return the JSON value of an answer. Raise ValueError or RecursionError if it is not JSON."""
    return json.loads(message.decode(), parse_constant=no_constant)


def read(message: bytes) -> Said:
    """Return the parts of an answer. The answer is an object with a member "response", or is itself the response."""
    value = parse(message)
    if not isinstance(value, dict) or "response" not in value:
        return Said(compact(value))
    given = {name: compact(value[name]) if value.get(name) else b"" for name in ("data", "globaldata")}
    return Said(compact(value["response"]), **given)


def receive(grammar: Grammar, message: bytes) -> Answer:
    """Parse an answer. Its response is a string in the game's grammar, an integer, or what the game takes as JSON."""
    try:
        said = read(message).response
        response = said if grammar.json else json.loads(said)
    except (ValueError, RecursionError):
        return Fault(FaultKind.UNREADABLE)
    if isinstance(response, str):
        said = response.encode("utf-8", "surrogatepass")
    return read_move(grammar, said)


def write(grammar: Grammar, move: Move) -> bytes:
    """Return an answer as a bot writes it."""
    text = grammar.spell(move)
    return compact({"response": json.loads(text) if grammar.json else text}) + b"\n"


# botzone-simple: lines


def encode_simple(view: View) -> bytes:
    """Return a request on one line: its fields as in `lines`; of a view that is a JSON string, the string."""
    text = json_of(view)
    if text is None:
        return encode_view(view)
    value = json.loads(text)
    is_line = isinstance(value, str) and "\n" not in value
    return (value.encode(errors="replace") if is_line else compact(value)) + b"\n"


def read_simple(message: bytes) -> Said:
    """Return the parts of an answer: lines with the response, debug text, the data, and the global data."""
    lines = [line.removesuffix(b"\r") for line in message.removesuffix(b"\n").split(b"\n")]
    return Said(lines[0], b"".join(lines[2:3]), b"\n".join(lines[3:]).rstrip(b"\n"))


def receive_simple(grammar: Grammar, message: bytes) -> Answer:
    """Parse an answer. Its first line is a move in the game's grammar, or what the game takes as JSON."""
    said = read_simple(message).response
    if grammar.json:
        try:
            said = compact(parse(said))
        except (ValueError, RecursionError):
            said = compact(said.decode(errors="replace"))
    return read_move(grammar, said)


def whole(requests: Sequence[bytes], responses: Sequence[bytes], stored: Said) -> bytes:
    """Return the whole history of a table as one JSON object on one line."""
    return b'{"requests":[%b],"responses":[%b],"data":%b,"globaldata":%b,"time_limit":"","memory_limit":""}\n' % (
        b",".join(requests),
        b",".join(responses),
        stored.data or b'""',
        stored.globaldata or b'""',
    )


def whole_simple(requests: Sequence[bytes], responses: Sequence[bytes], stored: Said) -> bytes:
    """Return the number of requests, then requests and responses in turn, a line each, then the data if there are any."""
    lines = [b"%d" % len(requests), requests[0]]
    for response, request in zip(responses, requests[1:], strict=True):
        lines += [response, request]
    if stored.data or stored.globaldata:
        lines.append(stored.data)
    if stored.globaldata:
        lines.append(stored.globaldata)
    return b"\n".join([*lines, b""])


# Both


class Form(NamedTuple):
    """One of the two forms: how a request, an answer and a whole history are written."""

    request: Callable[[View], bytes]
    read: Callable[[bytes], Said]
    whole: Callable[[Sequence[bytes], Sequence[bytes], Said], bytes]


class Interaction:
    """The framing of one bot: the requests and responses of its table, and the data that it stores."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._table = 0
        self._requests: list[bytes] = []
        self._responses: list[bytes] = []
        self._stored = Said(b"")
        self._is_new = True  # whether the process has not been sent anything

    def restart(self) -> None:
        """Begin with a new process: it is sent the whole history."""
        self._is_new = True

    def encode(self, questions: Sequence[Asked]) -> bytes:
        """Return what is sent for some questions."""
        return b"".join(self.encode_each(questions))

    def encode_each(self, questions: Sequence[Asked]) -> list[bytes]:
        """Return what is sent for each of some questions of one table."""
        return [*map(self._encode_one, questions)]

    def _encode_one(self, question: Asked) -> bytes:
        if question.table != self._table:
            self._table, self._stored = question.table, self._stored._replace(data=b"")
            self._requests.clear()
            self._responses.clear()
        request, is_new = self._form.request(question.view), self._is_new
        self._is_new = False
        if not is_new:
            return request
        return self._form.whole([*self._requests, request.removesuffix(b"\n")], self._responses, self._stored)

    def split(self, output: bytes) -> list[bytes]:
        """Return the answer at the start of some output, if the line that asks to keep running follows it, and the rest."""
        lines = output.split(b"\n")
        for index, line in enumerate(lines[:-1]):
            if line.strip() == KEEP_RUNNING:
                return [b"\n".join(lines[:index]), b"\n".join(lines[index + 1 :])]
        return [output]

    def last(self, output: bytes) -> list[bytes]:
        """Return the answer that ends with the output of the process."""
        return [without_line_end(output)] if output.strip() else []

    def hear(self, questions: Sequence[Asked], answers: Sequence[bytes]) -> None:
        """Add questions and their answers to the history."""
        for question, answer in zip(questions, answers, strict=True):
            said = self._form.read(answer)
            self._requests.append(self._form.request(question.view).removesuffix(b"\n"))
            self._responses.append(said.response)
            self._stored = said._replace(globaldata=said.globaldata or self._stored.globaldata)


class First(NamedTuple):
    """The first question of a table."""

    view: View
    table: int = 1


def protocol(name: str, form: Form, receive: Callable[[Grammar, bytes], Answer], one_answer: str) -> Protocol:
    """Return the protocol of a form."""
    return Protocol(
        name,
        persistent=True,
        ask=lambda view: [Interaction(form).encode([First(view)])],
        encode=form.request,
        encode_all=lambda views: b"".join(map(form.request, views)),
        receive=receive,
        number=lambda _table, question: question,
        split_table_number=split_table_number,
        bank=no_bank,
        over=over,
        write=write,
        framing=lambda: Interaction(form),
        one_line=False,
        lifetimes=("question", "table"),
        repeats=True,
        one_question="one request",
        one_answer=one_answer,
        unended=f"exit after the answer, or print {KEEP_RUNNING.decode()} on a line of its own and flush it",
    )


PROTOCOL = protocol("botzone", Form(encode, read, whole), receive, "one JSON object")
SIMPLE = protocol(
    "botzone-simple", Form(encode_simple, read_simple, whole_simple), receive_simple, "one line with the response"
)._replace(write=write_line)
