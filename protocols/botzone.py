"""Implements botzone and botzone-simple: bots written for Botzone. A new process is sent the whole history of its table.

An answer ends with the output of the process, or with a line that asks to keep the process running. From then on the
process is sent only the new request. README.md has the exact forms.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from protocols.jsonlines import question_value
from protocols.strict_json import compact, read_json
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
    read_move,
)
from protocols.wire import write as write_line

KEEP_RUNNING = b">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"


class Said(NamedTuple):
    """The parts of an answer. Each part is JSON in botzone, and the bytes of its lines in botzone-simple."""

    response: bytes
    data: bytes = b""  # for the next question of this table
    globaldata: bytes = b""  # for all later questions, also of other tables; empty: as before


def line_of(value: object) -> bytes:
    """Return a value as JSON on one line, without its end."""
    return compact(value).encode()


# botzone: JSON


def encode(view: View) -> bytes:
    """Return a request as JSON on one line."""
    return line_of(question_value(view)) + b"\n"


def parts(message: bytes) -> tuple[Any, Mapping[str, Any]]:
    """Return the response in an answer, and the object that contains it. Raise ValueError if the answer is not JSON.

    An answer without a member "response" is itself the response. Then the object is empty.
    """
    value = read_json(message)
    return (value["response"], value) if isinstance(value, dict) and "response" in value else (value, {})


def read(message: bytes) -> Said:
    """Return the parts of an answer, each as JSON. Raise ValueError if the answer is not JSON."""
    response, around = parts(message)
    stored = {name: line_of(around[name]) if around.get(name) else b"" for name in ("data", "globaldata")}
    return Said(line_of(response), **stored)


def receive(grammar: Grammar, message: bytes) -> Answer:
    """Parse an answer. Its response is a string in the game's grammar, an integer, or any JSON if the moves are JSON."""
    try:
        response, _ = parts(message)
    except ValueError:
        return Fault(FaultKind.UNREADABLE)
    is_text = isinstance(response, str) and not grammar.json
    return read_move(grammar, response.encode("utf-8", "surrogatepass") if is_text else line_of(response))


def write(grammar: Grammar, move: Move) -> bytes:
    """Return an answer as a bot writes it."""
    text = grammar.spell(move)
    return line_of({"response": read_json(text) if grammar.json else text}) + b"\n"


# botzone-simple: lines


def encode_simple(view: View) -> bytes:
    """Return a request on one line: its fields as the protocol `lines` writes them.

    If its only field has the type `Json`, return that value as JSON; if it is a string of one line, the string itself.
    """
    if [*getattr(type(view), "__annotations__", {}).values()] != [Json]:
        return encode_view(view)
    value = question_value(view)
    is_line = isinstance(value, str) and "\n" not in value
    return (value.encode(errors="replace") if is_line else line_of(value)) + b"\n"


def read_simple(message: bytes) -> Said:
    """Return the parts of an answer. Its lines are the response, debug text, the data, and the global data."""
    lines = [line.removesuffix(b"\r") for line in message.removesuffix(b"\n").split(b"\n")]
    return Said(lines[0], b"".join(lines[2:3]), b"\n".join(lines[3:]).rstrip(b"\n"))


def receive_simple(grammar: Grammar, message: bytes) -> Answer:
    """Parse an answer. Its first line is a move in the game's grammar, or JSON if the game's moves are JSON."""
    return read_move(grammar, read_simple(message).response)


def whole(requests: Sequence[bytes], responses: Sequence[bytes], stored: Said) -> bytes:
    """Return the whole history of a table, and the stored data, as one JSON object on one line."""
    return b'{"requests":[%b],"responses":[%b],"data":%b,"globaldata":%b,"time_limit":"","memory_limit":""}\n' % (
        b",".join(requests),
        b",".join(responses),
        stored.data or b'""',
        stored.globaldata or b'""',
    )


def whole_simple(requests: Sequence[bytes], responses: Sequence[bytes], stored: Said) -> bytes:
    """Return the whole history of a table as lines.

    The first line is the number of requests. Then come the requests and responses in turn, and the stored data, if any.
    """
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
        """Begin with a new process. Its first question will contain the whole history of the table."""
        self._is_new = True

    def encode(self, questions: Sequence[Asked], complete: Callable[[int, bytes], bytes] | None = None) -> bytes:
        """Return the bytes that are sent for some questions of one table."""
        asked = map(self._encode_one, questions)
        return b"".join(asked if complete is None else [complete(*each) for each in enumerate(asked)])

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

    def read(self, output: bytes) -> list[bytes]:
        """Return the answer before the line that asks to keep running, and the output after that line.

        Without such a line, the answer is not complete: return only the output.
        """
        lines = output.split(b"\n")
        for index, line in enumerate(lines[:-1]):
            if line.strip() == KEEP_RUNNING:
                return [b"\n".join(lines[:index]), b"\n".join(lines[index + 1 :])]
        return [output]

    def hear(self, questions: Sequence[Asked], answers: Sequence[bytes]) -> None:
        """Add questions and their answers to the history."""
        for question, answer in zip(questions, answers, strict=True):
            said = self._form.read(answer)
            self._requests.append(self._form.request(question.view).removesuffix(b"\n"))
            self._responses.append(said.response)
            self._stored = said._replace(globaldata=said.globaldata or self._stored.globaldata)


def protocol(name: str, form: Form, receive: Callable[[Grammar, bytes], Answer], one_answer: str) -> Protocol:
    """Return the protocol of a form. `one_answer` is the name of an answer in the messages of `check`."""
    return Protocol(
        name,
        persistent=True,
        encode=form.request,
        receive=receive,
        number=lambda _table, question: question,
        write=write,
        framing=lambda _until=None: Interaction(form),
        one_line=False,
        lifetimes=("question", "table"),
        repeats=True,
        ends_with_output=True,
        one_question="one request",
        one_answer=one_answer,
        unended=f"exit after the answer, or print {KEEP_RUNNING.decode()} on a line of its own and flush it",
    )


PROTOCOL = protocol("botzone", Form(encode, read, whole), receive, "one JSON object")
SIMPLE = protocol(
    "botzone-simple", Form(encode_simple, read_simple, whole_simple), receive_simple, "one line with the response"
)._replace(write=write_line)
