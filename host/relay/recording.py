"""Records the exchanges of bots with models, and answers a bot with recorded exchanges.

How it works. Each bot has a file with a line of JSON for each answer that its relay gave it: the question, the request
and the answer. Workers append to the files of a folder one after the other, because each worker locks the folder. If a
worker is killed while it writes a line, the incomplete line stays, and the next line begins below it. A match may ask a
bot the same question again after a new start of the bot. Then `nth` begins again at 1, and only the last of these
attempts counts.
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

from host.base.counts import Count
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


class Exchange(msgspec.Struct, forbid_unknown_fields=True):
    """A request of a bot, and the answer that the relay gave the bot."""

    fixture: str
    bot: str  # in a game for partners, the name of one of the bot's processes
    table: Count
    question: Count
    nth: Count  # the number of the request at this question, from 1
    at: float  # when the request arrived, in seconds since 1970
    seconds: float  # until the request was answered
    prompt_tokens: Count
    completion_tokens: Count
    request: ChatCompletion
    status: Annotated[int, Meta(ge=200, le=599)]
    reply: str
    left: dict[Annotated[str, Meta(pattern=r"^(requests|tokens|money)\Z")], int | float]  # the rest of each budget


class Recording(NamedTuple):
    """The recording of a bot.

    `is_full` is whether the recording has reached a limit. `broken` is the number of lines that are not exchanges.
    """

    exchanges: Sequence[Exchange]
    is_full: bool
    broken: int


def recording_file(folder: Path, bot: str) -> Path:
    """Return the path of the file with the recording of a bot."""
    return folder / f"{file_name(bot)}.jsonl"


def read_recording(path: Path) -> Recording:
    """Read a recording and return it.

    Raise UserError (exit code 3) if the file cannot be read, is larger than any recording, or has more than MAX_BROKEN
    lines that are not exchanges.
    """
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
    """Appends the exchanges of a bot's process in a fixture to the recording of the bot, until that file is full."""

    def __init__(self, path: Path, fixture: str, player: str, warn: Callable[[str], None]) -> None:
        """Record into the file `path`. `warn` is called with the reason when no more exchanges can be recorded."""
        self._path, self._fixture, self._player, self._warn = path, fixture, player, warn
        self._question, self._nth, self._has_ended = (0, 0), 0, False

    def begin(self, table: int, question: int) -> None:
        """Record the next exchanges as those of this question at this table."""
        self._question, self._nth = (table, question), 0

    async def exchange(self, request: ChatCompletion, live: Live) -> Answered:
        """Ask the model with `live`, record the exchange, and return the answer."""
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
        """Append an exchange. If the recording is full or cannot be written, warn once, and record no more.

        The fixture goes on, because it is not the fault of a bot.
        """
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
    """Open a recording for appending, and yield its descriptor. Lock its folder, so that other processes wait."""
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
    """Append a line to a recording, and return True.

    If there is no room for it, append END instead, and return False.
    """
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
    """Answers a bot with the recorded exchanges of a fixture.

    At each question the bot gets the recorded answers in their order, whatever its requests are.
    """

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
        """End the last question. Answer the next requests with the recorded exchanges of this one."""
        self._end()
        self._attempt, self._asked = self._attempts[table, question], 0
        self._question = f"question {question} at table {table}"

    def all_notes(self) -> list[str]:
        """Return a sentence for each difference between the bot's requests and the recorded ones.

        Call this when the bot has answered its last question.
        """
        self._end()
        return self._notes

    def _end(self) -> None:
        """End the current question. Note a difference if the bot sent fewer requests at it than were recorded."""
        if self._asked < len(self._attempt):
            self._notes.append(
                f"{self._question}: {counted(self._asked, 'request')} now, {len(self._attempt)} recorded"
            )
        self._attempt = []

    async def exchange(self, request: ChatCompletion, _live: Live) -> Answered:
        """Return the next recorded answer. Note a difference if the request is not the recorded one.

        Raise Refused if all recorded answers at this question have been used. Note this once for each question.
        """
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
    """Return a short text with both requests around the first place at which they differ."""
    pairs = enumerate(zip(then, now, strict=False))
    first = next((at for at, (one, other) in pairs if one != other), min(len(then), len(now)))
    start = max(first - DIFFERENCE_CHARS // 2, 0)
    one, other = (f"…{text[start : start + DIFFERENCE_CHARS]}…" for text in (then, now))
    return f"{one} then, {other} now"
