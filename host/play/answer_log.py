"""Keeps the answers of a fixture where they outlive the worker that plays it: in memory that its parent holds as well.

Only rules that can end their process, or never return, need it: those of an organiser's own code, and OpenSpiel's.
"""

import itertools
import mmap
import os
import signal
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import msgspec

from host.play.records import read_answer, spelled_answer
from protocols.wire import Answer, Fault, FaultKind, Move

MAX_RULES_S = 60.0
"""Seconds for which the rules of a table may compute after an answer. Then the kernel ends the worker."""

MAX_STOPS = 10
"""Times that the rules may end a process in one fixture, each time after another answer, before it is undecided."""

_T = TypeVar("_T")

FIRST_BYTES = 1 << 20  # of a log; it grows

_PLACE = struct.Struct("=QQ")
"""The beginning of a log. What the rules are computing: a table by its number, 0 for none; and the answer's number, or
LAST_ANSWER. What follows is described at `AnswerLog`; it ends at the first zero."""

LAST_ANSWER = 2**64 - 1
"""Instead of the answer's number: the last answer that the log has of the table."""

CODES = bytes(range(0x80, 0x100))
"""No line begins with one of these. Each stands for an answer: the first one of a fixture, the second different one, ..."""

STOPPED = b"stopped "
"""The beginning of what a worker's parent says of a worker that the rules of a game have ended."""


class GivenAnswer(NamedTuple):
    """An answer that a bot has given."""

    answer: Answer
    bank: float | None = None  # seconds that were then left in the time bank of the bot, if it has one


class GameStop(NamedTuple):
    """Where the rules of a game have ended the process of a worker."""

    table: str  # its name
    answer: int  # the number of the answer that they were given, 0 when the table began
    reason: str


class Interrupted(NamedTuple):
    """A fixture whose worker was ended by the rules of its game: what the next worker goes on from."""

    answers: Mapping[str, tuple[tuple[str, float | None], ...]] = {}  # as `AnswerLog` spells them, by name of the table
    stops: tuple[GameStop, ...] = ()

    def given(self, table: str) -> list[GivenAnswer]:
        """Return the answers that the bots at a table have given."""
        return [GivenAnswer(read_answer(spelled), bank) for spelled, bank in self.answers.get(table, ())]


UNINTERRUPTED = Interrupted()


LoggedAnswers = tuple[Sequence[int], Sequence[Answer], float | None, Sequence[int]]
"""Answers of one bot: the tables, an answer to each, the seconds that are now left in the bot's time bank, and the numbers of
the answers at tables that ask several seats at once, which come last. To create a NamedTuple takes three times as long."""


class AnswerLog:
    """The worker's side: stores the answers of a fixture, and which table the rules are computing.

    It writes to mapped memory: a call of the kernel for each answer would take as long as the rules of a simple game. It
    writes lines of JSON: an object with what a method below is given; or, after `alone`, an answer, or before that the
    seconds left in the time bank of its bot. Before each line there may be CODES of answers.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # no bot gets it
        os.ftruncate(descriptor, FIRST_BYTES)
        self._descriptor, self._end, self._size = descriptor, _PLACE.size, FIRST_BYTES
        self._text, self._encode = mmap.mmap(descriptor, FIRST_BYTES), msgspec.json.Encoder().encode
        self._codes: dict[Answer, int] = {}
        self.place = memoryview(mmap.mmap(descriptor, _PLACE.size)).cast("Q")
        """What the rules are computing: see _PLACE."""

    def begin_fixture(self, before: Interrupted) -> None:
        """Forget the fixture before. Store the answers that the new one has already."""
        self._text[_PLACE.size : self._end] = bytes(self._end - _PLACE.size)
        self._end, self._codes = _PLACE.size, {}
        self._write({"before": before.answers})

    def add_tables(self, first: int, names: Sequence[str]) -> None:
        """Store the names of tables that are going to begin. They are numbered from `first` on, at least 1."""
        self._write({"first": first, "names": names})

    def add(self, parts: Sequence[LoggedAnswers]) -> None:
        """Store answers that were asked for at the same time, before the rules get any of them: all with one write."""
        self._write({"answers": parts})

    def begin_alone(self, table: int) -> None:
        """Store that the next answers of `add_one` are those of this table."""
        self._write({"alone": table})

    def add_one(self, answer: Answer, bank: float | None) -> None:
        """Store an answer to a table that is played alone, before the rules get it, and what is left in its bot's bank."""
        code, end = self._codes.get(answer), self._end
        if code is not None and bank is None and end < self._size:
            self._text[end] = code
            self._end = end + 1
            return
        if bank is not None:
            self._write(float(bank))
        if code is None and len(self._codes) < len(CODES):
            self._codes[answer] = CODES[len(self._codes)]
        self._write(answer)

    def run(self, table: int, answer: int, rules: Callable[..., _T], *values: Any) -> _T:
        """Call the rules of a table after an answer, by its number, and store that they compute. Return what they return."""
        place = self.place
        place[1], place[0] = answer, table
        try:
            return rules(*values)
        finally:
            place[0] = 0

    def _write(self, said: object) -> None:
        line = self._encode(said) + b"\n"
        start, self._end = self._end, self._end + len(line)
        if self._end > self._size:
            self._size = 2 * self._end
            os.ftruncate(self._descriptor, self._size)
            self._text = mmap.mmap(self._descriptor, self._size)
        self._text[start : self._end] = line

    async def watch(self) -> None:
        """Let the kernel end this process when no task has had a turn for MAX_RULES_S: the rules do not return.

        To set a timer for each answer would take half as long as the rules of a simple game.
        """
        import trio  # jobs are described in commands that start no process, and need no trio

        while True:
            signal.setitimer(signal.ITIMER_REAL, MAX_RULES_S)
            await trio.sleep(MAX_RULES_S / 8)


COMMAND_LOG: ContextVar[AnswerLog | None] = ContextVar("COMMAND_LOG", default=None)
"""The log of a command that plays tables in its own process, a child of one that waits for it. It needs no answers."""


def read_place(descriptor: int) -> tuple[int, int]:
    """Return the table that the rules are computing, 0 for none, and the number of the answer."""
    head = os.pread(descriptor, _PLACE.size, 0)
    number, answer = _PLACE.unpack(head) if head else (0, 0)
    return number, answer


def read_stop(descriptor: int, status: int) -> bytes:
    """Return the line about a worker that has ended with this status; b"" if no rules were computing.

    The status is negative for a signal, as that of `subprocess.Popen`. `decode_stop` reads the line.
    """
    number, answer = read_place(descriptor)
    if not number:
        return b""
    log = os.pread(descriptor, os.fstat(descriptor).st_size - _PLACE.size, _PLACE.size)
    tables, answers = _read(log.partition(b"\0")[0])
    name = tables[number]
    stop = GameStop(name, len(answers[name]) if answer == LAST_ANSWER else answer, _words(status))
    return STOPPED + msgspec.json.encode(Interrupted({name: tuple(some) for name, some in answers.items()}, (stop,)))


def _read(log: bytes) -> tuple[dict[int, str], dict[str, list[tuple[str, float | None]]]]:
    """Return the names of the tables in a log by their numbers, and by name what `Interrupted` has of their answers."""
    tables, answers = dict[int, str](), defaultdict[str, list[tuple[str, float | None]]](list)
    known, alone = list[str](), ""
    bank: float | None = None  # of the next answer
    for line in log.split(b"\n"):
        said = line.lstrip(CODES)
        for code in line[: len(line) - len(said)]:
            answers[alone].append((known[CODES.index(code)], None))
        match msgspec.json.decode(said or b"{}"):
            case float(seconds):
                bank = seconds
            case list(fields):
                spelled = _spelled(fields)
                if len(known) < len(CODES) and spelled not in known:
                    known.append(spelled)
                answers[alone].append((spelled, bank))
                bank = None
            case {"first": first, "names": names}:
                tables |= enumerate(names, first)
            case {"alone": table}:
                alone = tables[table]
            case {"answers": parts}:
                for table, spelled, left in _in_order(parts):
                    answers[tables[table]].append((spelled, left))
            case {"before": before}:
                answers |= {name: list(map(tuple, some)) for name, some in before.items()}
    return tables, answers


def _in_order(parts: Iterable[Any]) -> list[tuple[int, str, float | None]]:
    """Return the answers of one line as tables get them: each with its table and what is left in the bank of its bot."""
    found = list[tuple[int, int, str, float | None]]()
    for tables, given, bank, numbers in parts:
        alone = [0] * (len(tables) - len(numbers))
        found += zip(tables, [*alone, *numbers], map(_spelled, given), itertools.repeat(bank))
    return [(table, spelled, bank) for table, _, spelled, bank in sorted(found, key=lambda each: each[:2])]


def _spelled(said: list[Any]) -> str:
    """Return an answer of the log as a journal spells it: a move has three fields, a fault two."""
    return spelled_answer(Move(*said) if len(said) == len(Move._fields) else Fault(FaultKind(said[0]), said[1]))


def decode_stop(line: bytes) -> Interrupted:
    """Parse a line of `read_stop`."""
    return msgspec.json.decode(line.removeprefix(STOPPED), type=Interrupted)


def _words(status: int) -> str:
    if status == -signal.SIGALRM:
        return f"it computed for {MAX_RULES_S:g} s and did not return"
    how = f"exit code {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
    return f"it ended its process ({how})"
