"""Records what bots and models say to each other, and answers a bot with what was recorded.

How it works. Each bot has a file with a line of JSON for each answer that its relay gave it: the question, the request and the
answer. Workers append to the files of a folder one after the other, because each locks the folder. A line that a worker could
not write to its end, because it was killed, stays, and the next line begins below it. A bot may ask the same question of its
fixture several times, because it was started again: `nth` then begins at 1 again, and the last of these attempts counts.
"""

import contextlib
import fcntl
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import trio
from msgspec import Meta

from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.paths import display_path, file_name
from host.base.toml_file import read_bytes
from host.relay.relay import Answered, ChatCompletion, Live, Refused
from host.relay.upstream import Reply

MAX_BOT_BYTES = 64 << 20  # of the recording of a bot
MAX_ALL_BYTES = 1 << 30  # of all recordings of a run
MAX_BROKEN = 1000  # lines of a recording that croupier could not write to their ends
DIFFERENCE_CHARS = 40  # of each of two requests, where they differ
END = b'{"full":true}\n'
"""The last line of a recording that has reached a limit."""

_Count = Annotated[int, Meta(ge=0, le=1 << 53)]


class Exchange(msgspec.Struct, forbid_unknown_fields=True):
    """A request of a bot and the answer that the relay gave it."""

    fixture: str
    bot: str  # in a game for partners, the one of its processes
    table: _Count
    question: _Count
    nth: _Count  # of the requests at this question, from 1
    at: float  # when it came, in seconds since 1970
    seconds: float  # until it was answered
    prompt_tokens: _Count
    completion_tokens: _Count
    request: ChatCompletion
    status: Annotated[int, Meta(ge=200, le=599)]
    reply: str
    left: dict[Annotated[str, Meta(pattern=r"^(requests|tokens|money)\Z")], int | float]  # of the budgets


class Recording(NamedTuple):
    """The recording of a bot. `is_full`: it has reached a limit. `broken` is the number of lines that are no exchanges."""

    exchanges: Sequence[Exchange]
    is_full: bool
    broken: int


def recording_file(folder: Path, bot: str) -> Path:
    """Return the file with the recording of a bot."""
    return folder / f"{file_name(bot)}.jsonl"


def read_recording(path: Path) -> Recording:
    """Read a recording. Raise UserError (exit code 3) if the file cannot be read, or is larger than any recording."""
    decoder, exchanges, is_full, broken = msgspec.json.Decoder(Exchange), list[Exchange](), False, 0
    for line in BytesIO(read_bytes(path, MAX_BOT_BYTES)):
        if line == END:
            is_full = True
            continue
        try:
            exchanges.append(decoder.decode(line))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            broken += bool(line.strip())
            if broken > MAX_BROKEN:
                message = f"cannot be read: more than {MAX_BROKEN} of its lines are no exchanges with a model"
                hint = "name a recording: run/models/BOT.jsonl of the tournament"
                raise UserError([Problem("R013", display_path(path), message, hint=hint)], 3) from None
    return Recording(exchanges, is_full, broken)


class Recorder:
    """Appends the exchanges of a bot's process in a fixture to the recording of the bot, until that is full."""

    def __init__(self, path: Path, fixture: str, player: str, warn: Callable[[str], None]) -> None:
        """`warn` is called with the reason if nothing more can be recorded."""
        self._path, self._fixture, self._player, self._warn = path, fixture, player, warn
        self._question, self._nth, self._has_ended = (0, 0), 0, False

    def begin(self, table: int, question: int) -> None:
        """Record the next exchanges under this question."""
        self._question, self._nth = (table, question), 0

    async def exchange(self, request: ChatCompletion, live: Live) -> Answered:
        """Ask the model, and record the exchange."""
        at, began = time.time(), time.perf_counter()
        answered = await live()
        self._nth += 1
        reply, left, use = answered
        self._add(
            Exchange(
                fixture=self._fixture,
                bot=self._player,
                table=self._question[0],
                question=self._question[1],
                nth=self._nth,
                at=at,
                seconds=time.perf_counter() - began,
                prompt_tokens=use.prompt_tokens,
                completion_tokens=use.completion_tokens,
                request=request,
                status=reply.status,
                reply=reply.body.decode(errors="replace"),
                left=left,
            )
        )
        return answered

    def _add(self, exchange: Exchange) -> None:
        """Append an exchange. A recording that cannot be written is nobody's fault, and ends no fixture."""
        if self._has_ended:
            return
        try:
            with _appending(self._path) as file:
                self._has_ended = not _append(file, msgspec.json.encode(exchange) + b"\n", self._path.parent)
            why = "is full"
        except OSError as failed:
            self._has_ended, why = True, f"cannot be written: {failed.strerror}"
        if self._has_ended:
            self._warn(f"{display_path(self._path)} {why}: not all that its bot and models say is recorded")


@contextlib.contextmanager
def _appending(path: Path) -> Iterator[int]:
    """Open a recording that no other process writes to meanwhile. Yield its descriptor."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        how = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(path.name, how, 0o600, dir_fd=folder)
        try:
            yield file
        finally:
            os.close(file)
    finally:
        os.close(folder)


def _append(file: int, line: bytes, folder: Path) -> bool:
    """Append a line to a recording. Return whether it has room for that and for its last line."""
    size, needed = os.fstat(file).st_size, 1 + len(line) + len(END)
    end = os.pread(file, len(END), max(size - len(END), 0))
    if end == END:
        return False
    in_all = sum(entry.stat().st_size for entry in os.scandir(folder))
    has_room = size + needed <= MAX_BOT_BYTES and in_all + needed <= MAX_ALL_BYTES
    data = (b"" if end.endswith(b"\n") or not end else b"\n") + (line if has_room else END)
    while data:
        data = data[os.write(file, data) :]
    return has_room


class Replay:
    """Answers a bot with the recorded exchanges of a fixture: those of each question in their order, whatever it says."""

    def __init__(self, recording: Recording, fixture: str) -> None:
        self._notes: list[str] = []
        if recording.broken:
            lines = counted(recording.broken, "line")
            self._notes.append(f"left out {lines} of the recording, which croupier has not written to the end")
        if recording.is_full:
            self._notes.append("the recording is full: later exchanges are not in it")
        self._attempts: defaultdict[tuple[int, int], list[Exchange]] = defaultdict(list)
        for exchange in recording.exchanges:
            if exchange.fixture == fixture:
                attempt = self._attempts[exchange.table, exchange.question]
                if exchange.nth == 1:
                    attempt.clear()
                attempt.append(exchange)
        self._attempt, self._question, self._asked = list[Exchange](), "", 0

    def begin(self, table: int, question: int) -> None:
        """Answer the next requests with the exchanges of this question."""
        self._end()
        self._attempt, self._asked = self._attempts[table, question], 0
        self._question = f"question {question} at table {table}"

    def all_notes(self) -> list[str]:
        """Return where its requests are not the recorded ones, when it has answered the last question."""
        self._end()
        return self._notes

    def _end(self) -> None:
        """Note if the recording has more requests of the question than the bot."""
        if self._asked < len(self._attempt):
            self._notes.append(
                f"{self._question}: {counted(self._asked, 'request')} now, {len(self._attempt)} recorded"
            )
        self._attempt = []

    async def exchange(self, request: ChatCompletion, _live: Live) -> Answered:
        """Return the next recorded answer. Raise Refused if there is none."""
        await trio.lowlevel.checkpoint()
        self._asked += 1
        if self._asked > len(self._attempt):
            message = f"the recording has no answer to request {self._asked}"
            if self._asked == len(self._attempt) + 1:
                self._notes.append(f"{self._question}: {message}")
            raise Refused(404, message)
        then = self._attempt[self._asked - 1]
        if request != then.request:
            difference = _difference(*(msgspec.json.encode(each).decode() for each in (then.request, request)))
            self._notes.append(f"{self._question}: request {self._asked} is not the recorded one: {difference}")
        return Answered(Reply(then.status, then.reply.encode()), then.left)


def _difference(then: str, now: str) -> str:
    """Return the first place at which two requests differ, in short."""
    pairs = enumerate(zip(then, now, strict=False))
    first = next((at for at, (one, other) in pairs if one != other), min(len(then), len(now)))
    start = max(first - DIFFERENCE_CHARS // 2, 0)
    one, other = (f"…{text[start : start + DIFFERENCE_CHARS]}…" for text in (then, now))
    return f"{one} then, {other} now"
