"""Runs a referee: one process in a sandbox that holds the rules of many tables (protocols/referee.md).

In each round the host writes the messages for all tables together, and reads the replies together. Any failure of the
process raises `SourceFailed`, and no bot is to blame for it.
"""

import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import trio

from host.base.errors import HostFailure
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock, HostStall
from host.bots.conversation import ORDERLY_EXIT_S, QUICK_ANSWER_MS, AskedProcess, ProcessState
from host.bots.monitor import MonitoredSandbox
from host.bots.stderr_log import StderrLog
from host.games.engine import Game, Moves, Request, new_tuple
from host.games.luck import derive, hex_words, whole_number_of
from host.play.lines import digest, spelled_for_lines
from host.play.sources.source import NewTable, SourceFailed, SourcePlace, Step
from host.play.sources.usual_lines import UsualLines
from host.sandbox.bubblewrap import Home
from host.sandbox.keeper import Ended, KeeperDied, KeeperOutOfMemory
from host.sandbox.launch import sandboxed, starting_on
from protocols.referee import Ask, Conversation, Message, Opened, Over, Violation
from protocols.strict_json import JsonError, read_json
from protocols.wire import Answer, AnswerLines, FaultKind, Json, Lines, Once, View

PIPE_BYTES = 256 << 10  # of each pipe, so that the messages for many tables fit
MAX_STALLS = 20
MAX_SAID_BYTES = 2 << 10  # of what the process wrote last, for people
MAX_SHOWN_CHARS = 64 << 10  # of all texts that a seat is shown before its next question
SECONDS_PER_MS = 0.001
BROKEN = "has broken the protocol"
TOO_MUCH_MEMORY = "used more memory than its limit"


class Phrases(NamedTuple):
    """Texts for the failures of a program: its name, a sentence for a silence of some seconds, and one for its end."""

    name: str
    silent: Callable[[float], str]
    ended: Callable[[Ended], str]


OF_REFEREE = Phrases("the referee", "was silent for {:g} s".format, lambda how: f"has ended: {how.words}")


class RefereeProgram(NamedTuple):
    """A referee that has been built, with its game and the number of random words that it gets."""

    built: BuiltBot  # its limit `move` is the number of seconds that each reply may take
    game: Game
    words: Mapping[str, int]  # the number of random words in `open`, by stream


class ViewReader:
    """Makes views from the questions of a referee."""

    def __init__(self, view: type[Any]) -> None:
        hints = view.__annotations__
        self._view, self._names = view, view._fields
        self._lines = next((name for name, hint in hints.items() if hint is AnswerLines), "")
        self._texts = tuple(name for name, hint in hints.items() if hint in (Lines, Once, Json))
        self._json = tuple(name for name, hint in hints.items() if hint is Json)
        self.shown_in = next((name for name, hint in hints.items() if hint is Lines), "")
        """The field of a view that begins with the texts shown to the seat since its last question; "" without one."""
        self.fields = tuple(name for name in view._fields if name != self._lines)
        self.plain = None if self._texts or self._lines else view
        """The type of the views, if the fields of a question need no check and no change; otherwise None."""

    def read(self, asked: Ask, shown: str) -> View:
        """Return the view of a question. `shown` has the texts that its seat was shown since its last question.

        Raise Violation if a field has a wrong type, or if the question sets `lines` although game.toml allows only one line.
        """
        values = asked.view
        for name in self._texts:
            if type(values[name]) is not str:
                raise Violation(f"has a view whose {name!r} is not a text")
        for name in self._json:
            try:
                read_json(str(values[name]))
            except JsonError as wrong:
                raise Violation(f"has a view whose {name!r} {wrong}") from None
        if shown:
            values = {**values, self.shown_in: shown + str(values[self.shown_in])}
        if self._lines:
            values = {**values, self._lines: asked.lines}
        elif asked.lines != 1:
            raise Violation("asks for several lines, and no field of game.toml has the type `answer lines`")
        view: View = new_tuple(self._view, map(values.__getitem__, self._names))
        return view


@contextlib.asynccontextmanager
async def referee_source(program: RefereeProgram, place: SourcePlace) -> AsyncIterator["RefereeSource"]:
    """Start a referee for the length of the block. Raise SourceFailed if it does not start."""
    async with running(program.built, place, Home(Path(program.built.folder)), OF_REFEREE) as process:
        source = RefereeSource(program, process)
        await source.greet()
        yield source


@contextlib.asynccontextmanager
async def running(built: BuiltBot, place: SourcePlace, home: Home, phrases: Phrases) -> AsyncIterator["RulesProcess"]:
    """Start a program with the rules of a game, for the length of the block.

    Raise SourceFailed if the program does not start, or if its sandbox fails during the block.
    """
    stack = contextlib.AsyncExitStack()
    try:
        with starting_on(place.cores[:1]):
            sandbox = await stack.enter_async_context(sandboxed(place.level, home, built.limits))
        monitored = stack.enter_context(place.monitor.watching(sandbox, built.limits.memory))
        process = RulesProcess(built, monitored, phrases)
        stack.push_async_callback(process.shut_down)
        await process.start(place)
        yield process
    except (HostFailure, KeeperOutOfMemory) as failed:
        raise SourceFailed(f"its sandbox has failed: {failed}") from failed
    finally:
        with trio.CancelScope(shield=True):  # also a check that takes too long waits until the process is gone
            await stack.aclose()


class RefereeSource:
    """A source of questions: a referee process."""

    def __init__(self, program: RefereeProgram, process: "RulesProcess") -> None:
        self._program, self._process = program, process
        self._game = program.game
        self._views = ViewReader(program.game.view)
        usual = UsualLines(self._views.fields, self._views.plain)
        self._talk = Conversation(program.game.grammar, self._views.fields, usual.read)
        self._asked: dict[int, tuple[Ask, ...]] = {}  # the last questions of each table
        self._shown: dict[tuple[int, int], str] = {}  # texts by table and seat, until the next question to the seat
        self._histories: dict[int, list[str]] = {}  # digests of the questions and answers of each table
        self._rules: tuple[Any, Mapping[str, Any]] = None, {}  # rules of the last table, and as the process gets them
        self._said = b""  # the last output of the process
        # If `watched`: everything that was written, and all messages that were read.
        self.written: list[bytes] = []
        self.heard: list[Message] = []
        self.watched = False
        self.key: bytes | None = None  # the key of every table, instead of the one that follows from the root

    async def greet(self) -> None:
        """Exchange the first lines. Raise SourceFailed if the process does not answer."""
        self._process.patience += self._program.built.limits.startup
        await self._exchange(self._talk.start())
        self._process.patience = self._program.built.limits.move

    async def advance(
        self, opened: Sequence[NewTable], answers: Mapping[int, Sequence[Answer]], dropped: Collection[int]
    ) -> Mapping[int, Step]:
        """Return the progress of the tables that are opened or answered (see `Source`)."""
        talk, lines = self._talk, list[bytes]()
        for table in dropped:
            lines.append(talk.drop(table))
            self._histories.pop(table, None)
            self._forget(table)
        for number, given in answers.items():
            lines.append(talk.answer(number, given))
            self._remember(number, ",".join(map(spelled_for_lines, given)))
        lines += map(talk.open, map(self._opened, opened))
        return self._progress(await self._exchange(b"".join(lines)))

    def _opened(self, table: NewTable) -> Opened:
        """Return the values of a table that the referee gets. The key of the table is one of them, the root never is."""
        rules, key = table.setup.rules, self.key or derive(table.root, table.luck_path)
        if rules is not self._rules[0]:
            self._rules = rules, {name: value for name, value in rules._asdict().items() if name != "seats"}
        seats = sum(map(len, self._game.sides(rules))) if self._game.sides else rules.seats
        return Opened(
            table=table.number,
            seats=seats,
            bots=rules.seats,
            rules=self._rules[1],
            luck=key.hex(),
            seed=whole_number_of(key),
            words={label: hex_words(key, label, count) for label, count in self._program.words.items()},
        )

    async def _exchange(self, data: bytes) -> list[Message]:
        """Write to the process, wait until every table has its question or its end, and return the messages.

        Raise SourceFailed if the process breaks the protocol or ends.
        """
        process, messages = self._process, list[Message]()
        if self.watched:
            self.written.append(data)
        try:
            if process.has_output():  # it has written before it was asked
                self._talk.receive(await process.read())
            await process.ask(data, partial(self._read_replies, messages))
        except Violation as wrong:
            raise self._failed(f"{BROKEN}: {wrong}") from None
        except ProcessEnded as ended:
            verdict = await process.verdict(ended)
            raise self._failed(verdict, lacks=ended.is_late or verdict == TOO_MUCH_MEMORY) from None
        if self.watched:
            self.heard += messages
        return messages

    async def _read_replies(self, messages: list[Message]) -> None:
        """Read until every table has its question or its end. Add the messages that were read to `messages`."""
        process, talk = self._process, self._talk
        while talk.is_waiting:
            owed = talk.owed
            output = await process.read()
            self._said = (self._said + output)[-MAX_SAID_BYTES:]
            messages += talk.receive(output)
            if talk.owed < owed:
                process.restart_clock()

    def _failed(self, reason: str, *, lacks: bool = False) -> SourceFailed:
        stderr = self._process.stderr.tail()
        said = self._said + (b"\nstandard error:\n" + stderr[-MAX_SAID_BYTES:] if stderr else b"")
        return SourceFailed(f"the referee {reason}", self._talk.failed_at, said, lacks=lacks)

    def _progress(self, messages: Sequence[Message]) -> Mapping[int, Step]:
        """Return the progress of each table, by number. Several lines about one table become one step."""
        found: dict[int, Step] = {}
        parts: dict[int, list[Message]] = {}
        try:
            for message in messages:
                table, illegal, show, tell, ask, over, _ = message
                if not ask and over is None:
                    parts.setdefault(table, []).append(message)
                elif illegal or show or table in parts:
                    found[table] = self._joined([*parts.pop(table, ()), message])
                else:
                    found[table] = self._last(message, (), tell)
        except Violation as wrong:
            raise self._failed(f"{BROKEN}: {wrong}") from None
        return found

    def _joined(self, messages: Sequence[Message]) -> Step:
        """Return the progress of a table with several lines, or with a line that shows texts or names illegal moves."""
        last = messages[-1]
        before = [asked.seat for asked in self._asked.get(last.table, ())]
        for message in messages:
            for seat, text in message.show:
                self._show(last.table, seat, text)
        illegal = [before.index(seat) for message in messages for seat in message.illegal]
        told = [event for message in messages for event in message.tell]
        return self._last(last, tuple(illegal), tuple(told))

    def _last(self, message: Message, illegal: tuple[int, ...], told: tuple[tuple[str, Any], ...]) -> Step:
        """Return the progress of a table, given its last line, and its illegal moves and events."""
        table, _, _, _, ask, over, _ = message
        if over is not None:
            self._forget(table)
            return Step((), over.scores, illegal, (), told, self._moves(table, over))
        self._asked[table] = ask
        if type(ask[0]) is Request:
            self._remember(table, repr(ask))
            return new_tuple(Step, (ask, None, illegal, (), told, None))
        plain, has_limits = self._views.plain, False
        requests: list[Request] = []
        for asked in ask:
            seat, view, limit_ms, lines = asked
            if type(view) is not plain or lines != 1:
                view = self._views.read(asked, self._shown.pop((table, seat), ""))
            requests.append(Request(seat, view))
            has_limits |= limit_ms is not None
        self._remember(table, repr(tuple(requests)))
        limits: tuple[float | None, ...] = ()
        if has_limits:
            limits = tuple([None if each.limit_ms is None else each.limit_ms * SECONDS_PER_MS for each in ask])
        return Step(tuple(requests), None, illegal, limits, told)

    def _show(self, table: int, seat: int, text: str) -> None:
        """Store a text that the referee shows to a seat. The next question to this seat will contain it.

        Raise Violation if no field of the view has the type `lines`, or if the texts exceed MAX_SHOWN_CHARS.
        """
        if not self._views.shown_in:
            raise Violation(f"shows a text at table {table}, and no field of game.toml has the type `lines`")
        before = self._shown.get((table, seat), "")
        if len(before) + len(text) > MAX_SHOWN_CHARS:
            raise Violation(
                f"shows seat {seat} of table {table} more than {MAX_SHOWN_CHARS} characters before a question"
            )
        self._shown[table, seat] = before + (text if text.endswith("\n") or not text else text + "\n")

    def _remember(self, table: int, text: str) -> None:
        """Add questions or answers to the history of a table: a digest of the first questions, and one of the rest."""
        history = self._histories.setdefault(table, [])
        if len(history) < 2:
            history.append(digest(text).hex())
        else:
            history[1] = digest(history[1] + text).hex()

    def _moves(self, table: int, over: Over) -> Moves:
        """Return the opening and the moves of a table that is over, which identify it.

        The opening is its first questions. The moves are those that the referee reports, otherwise a digest of all
        later questions and answers. The scores follow the moves.
        """
        first, *rest = self._histories.pop(table, None) or [""]
        return first, f"{over.moves if over.moves is not None else rest} {over.scores}"

    def _forget(self, table: int) -> None:
        """Forget a table that has ended: no question follows."""
        self._asked.pop(table, None)
        if self._shown:
            self._shown = {place: text for place, text in self._shown.items() if place[0] != table}


class ProcessEnded(Exception):
    """Raised when a process has closed its output, was silent for too long, or exceeded a limit."""

    def __init__(self, words: str, *, is_late: bool = False) -> None:
        super().__init__(words)
        self.is_late = is_late


class RulesProcess:
    """The process of a program with the rules of a game. It limits the silence of the program and reports how it ended."""

    def __init__(self, built: BuiltBot, monitored: MonitoredSandbox, phrases: Phrases) -> None:
        self._built, self._monitored, self.phrases = built, monitored, phrases
        self.patience = built.limits.move  # seconds
        self._clock = Clock(built.limits, monitored)
        self._asked = AskedProcess(monitored, self._clock, StderrLog())
        self._asked.enlarge_pipes(PIPE_BYTES)
        self.stderr, self.has_output = self._asked.stderr, self._asked.has_output

    async def start(self, place: SourcePlace) -> None:
        """Start the program. Raise SourceFailed if it cannot be started."""
        built = self._built
        self.stderr.read_with(place.monitor.stderr_reader)
        error = await self._asked.start([word.encode() for word in built.argv], dict(built.env), built.limits)
        if error:
            raise SourceFailed(f"{self.phrases.name} could not be started: {os.strerror(error)}")

    async def ask(self, data: bytes, reading: Callable[[], Awaitable[None]]) -> None:
        """Write to the process while `reading` reads the replies. Each reply may take `patience` seconds."""
        self._clock.start(time.perf_counter(), self.patience)
        self._asked.ask(data)
        await self._asked.while_writing(reading)
        self._monitored.final_check(0.0)
        self._asked.settle()

    async def read(self) -> bytes:
        """Return the next output. Raise ProcessEnded if there is none, or if it comes too late.

        If the machine was too busy to run the process, the process gets all its `patience` again, at most MAX_STALLS
        times.
        """
        asked, stalls = self._asked, 0
        while True:
            try:
                output = asked.read() if asked.poll(QUICK_ANSWER_MS) else await asked.next_output()
                break
            except HostStall as stall:
                stalls += 1
                if stalls > MAX_STALLS:
                    raise ProcessEnded(f"was silent, and the machine was busy: {stall}", is_late=True) from stall
                self.restart_clock()
        if output is None:
            raise ProcessEnded(self.phrases.silent(self.patience), is_late=True)
        if not output:
            raise ProcessEnded("has closed its output")
        return output

    def restart_clock(self) -> None:
        """Give the next reply all of `patience`, because the reply of another table has come."""
        self._clock.start(time.perf_counter(), self.patience)

    async def verdict(self, ended: ProcessEnded) -> str:
        """Kill the process. Return, as text for people, how it has ended or which limit it has exceeded."""
        limit = self._monitored.limit_exceeded
        try:
            how = await self._asked.kill(0.0 if ended.is_late or limit else ORDERLY_EXIT_S)
        except KeeperOutOfMemory:
            return TOO_MUCH_MEMORY
        except KeeperDied:
            return f"{ended}: its keeper has died"
        if how.killed or limit is FaultKind.MEMORY:
            return TOO_MUCH_MEMORY
        if ended.is_late:
            return str(ended)
        return "has closed its output" if how.stopped else self.phrases.ended(how)

    async def shut_down(self) -> None:
        """End the process, with everything that it has started."""
        asked, has_started = self._asked, self._asked.state is not ProcessState.NEW
        if asked.is_open:
            self._clock.forget()
            asked.close_input()
            with trio.CancelScope(shield=True), contextlib.suppress(KeeperDied, KeeperOutOfMemory):
                if has_started:
                    await asked.kill(ORDERLY_EXIT_S)
                await self._monitored.sandbox.keeper.reap()
            asked.close()
