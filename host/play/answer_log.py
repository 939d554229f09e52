"""Keeps the answers of a fixture where they outlive the worker that plays it: in memory that its parent holds as well.

Only rules that can end their process, or never return, need it: those of an organiser's own code, and OpenSpiel's.
"""

import mmap
import os
import signal
import struct
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

import msgspec

from host.play.records import read_answer, spelled_answer
from protocols.wire import Answer

MAX_RULES_S = 60.0
"""Seconds for which the rules of a table may compute after an answer. Then the kernel ends the worker."""

MAX_STOPS = 10
"""Times that the rules may end a process in one fixture, each time after another answer, before it is undecided."""

FIRST_BYTES = 1 << 20  # of a log; it grows

_PLACE = struct.Struct("=QQQ")
"""The beginning of a log. What the rules are computing: a table, from 1 in the order in which tables begin, 0 for none; and
the answer's number. Then where the log ends."""

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


class AnswerLog:
    """The worker's side: stores the answers of a fixture, and which table the rules are computing.

    It writes to mapped memory: a call of the kernel for each answer would take as long as the rules of a simple game.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # no bot gets it
        os.ftruncate(descriptor, FIRST_BYTES)
        self._descriptor, self._tables, self._end = descriptor, 0, _PLACE.size
        self._text = mmap.mmap(descriptor, FIRST_BYTES)
        self.place = memoryview(mmap.mmap(descriptor, _PLACE.size)).cast("Q")
        """What the rules are computing: see _PLACE."""

    def begin_fixture(self, before: Interrupted) -> None:
        """Forget the fixture before. Store the answers that the new one has already."""
        self._tables, self._end = 0, _PLACE.size
        for name in before.answers:
            for answer, bank in before.given(name):
                self.add(name, answer, bank)

    def add_table(self, name: str) -> int:
        """Store that a table begins. Return its number, from 1."""
        self._tables += 1
        self._write(f"{name}\n")
        return self._tables

    def add(self, name: str, answer: Answer, bank: float | None) -> None:
        """Store an answer to a table before the rules get it, with the seconds that are left in the bank of its bot."""
        self._write(f"{name}\t{'' if bank is None else bank}\t{spelled_answer(answer)}\n")

    def add_all(self, names: Sequence[str], answers: Sequence[Answer], bank: float | None) -> None:
        """Store answers of one bot, one to each of these tables."""
        left = "" if bank is None else bank
        pairs = zip(names, answers, strict=False)  # there may be more answers
        self._write("".join([f"{name}\t{left}\t{spelled_answer(answer)}\n" for name, answer in pairs]))

    def _write(self, line: str) -> None:
        data = line.encode()
        end = self._end + len(data)
        if end > len(self._text):
            size = 2 * end
            os.ftruncate(self._descriptor, size)
            self._text = mmap.mmap(self._descriptor, size)
        self._text[self._end : end] = data
        self._end = self.place[2] = end

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
    number, answer, _ = _PLACE.unpack(head) if head else (0, 0, 0)
    return number, answer


def read_stop(descriptor: int, status: int) -> bytes:
    """Return the line about a worker that has ended with this status; b"" if no rules were computing.

    The status is negative for a signal, as that of `subprocess.Popen`. `decode_stop` reads the line.
    """
    head = os.pread(descriptor, _PLACE.size, 0)
    number, answer, end = _PLACE.unpack(head) if head else (0, 0, 0)
    if not number:
        return b""
    log = os.pread(descriptor, end - _PLACE.size, _PLACE.size)
    tables, answers = list[str](), dict[str, list[tuple[str, float | None]]]()
    for line in log.decode().split("\n")[:-1]:
        name, *rest = line.split("\t", 2)
        if rest:
            answers.setdefault(name, []).append((rest[1], float(rest[0]) if rest[0] else None))
        else:
            tables.append(name)
    stop = GameStop(tables[number - 1], answer, _words(status))
    return STOPPED + msgspec.json.encode(Interrupted({name: tuple(some) for name, some in answers.items()}, (stop,)))


def decode_stop(line: bytes) -> Interrupted:
    """Parse a line of `read_stop`."""
    return msgspec.json.decode(line.removeprefix(STOPPED), type=Interrupted)


def _words(status: int) -> str:
    if status == -signal.SIGALRM:
        return f"it computed for {MAX_RULES_S:g} s and did not return"
    how = f"exit code {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
    return f"it ended its process ({how})"
