"""Runs a referee of another host for many tables: speaks referee/1 to croupier, and drives the referee's processes.

All processes are children of this one, in the same sandbox. Nothing here waits for one of them alone.
"""

import json
import os
import selectors
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from steps import (
    Answer,
    Ask,
    Begin,
    Close,
    Failed,
    Options,
    Play,
    Question,
    Read,
    ReadOutput,
    Send,
    Show,
    Step,
    Table,
    Tell,
    scaled,
)

HELLO = {"protocol": "referee/1"}
CHUNK_BYTES = 1 << 16
MAX_OUTPUT_BYTES = 16 << 20  # of a process that nobody has read yet
STDERR_BYTES = 2000  # the end of a process's standard error, printed if it fails


class Child:
    """A process of the referee."""

    def __init__(self, command: Sequence[str], selector: selectors.BaseSelector, wake: Callable[[], None]) -> None:
        """Start the process. `wake` is called when it has written something or has ended."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.selector, self.wake = selector, wake
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self.lines: deque[bytes] = deque()
        self.rest = b""
        self.unread = 0  # bytes in lines and rest
        self.last_words = b""
        self.unsent = b""
        self.sent: list[str] | None = None  # all that a process was sent that had played another table; see `restarted`
        self.ended = self.closing = False
        for pipe in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(pipe.fileno(), False)
        selector.register(self.stdout, selectors.EVENT_READ, self.hear)
        selector.register(self.stderr, selectors.EVENT_READ, self.drain)

    def hear(self) -> None:
        """Take what the process has written."""
        data = self._take(self.stdout)
        if data is None:
            return
        if not data:
            self.selector.unregister(self.stdout)
            self.ended = True
            if self.rest:
                self.lines.append(self.rest)
                self.rest = b""
        self.unread += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n") if data else [b""]
        self.lines.extend(lines)
        self.sent = None if data else self.sent
        self.wake()

    def drain(self) -> None:
        """Take what the process has written to its standard error, and keep the end of it."""
        data = self._take(self.stderr)
        if data is not None:
            self.last_words = (self.last_words + data)[-STDERR_BYTES:]
            if not data:
                self.selector.unregister(self.stderr)

    @staticmethod
    def _take(pipe: Any) -> bytes | None:
        with suppress(BlockingIOError):
            return os.read(pipe.fileno(), CHUNK_BYTES)
        return None

    def send(self, text: str) -> None:
        """Write a text to the process, now or when it reads."""
        if self.sent is not None:
            self.sent.append(text)
        waiting = bool(self.unsent)
        self.unsent += text.encode()
        if not waiting:
            self._write()
            if self.unsent:
                self.selector.register(self.stdin, selectors.EVENT_WRITE, self.flush)

    def flush(self) -> None:
        """Write what the process has not taken yet."""
        self._write()
        if not self.unsent:
            self.selector.unregister(self.stdin)
            if self.closing:
                self.stdin.close()

    def _write(self) -> None:
        try:
            self.unsent = self.unsent[os.write(self.stdin.fileno(), self.unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it does not read any more; the end of its output says the rest
            self.unsent = b""

    def close_input(self) -> None:
        """Close the input of the process after what has been sent."""
        self.closing = True
        if not self.unsent:
            self.stdin.close()

    def take_lines(self, count: int) -> list[str] | None:
        """Return the next lines that the process has written; None if they are not there yet."""
        if len(self.lines) < count:
            if self.ended:
                raise Failed(self.how_it_ended())
            return None
        lines = [self.lines.popleft() for _ in range(count)]
        self.unread -= sum(map(len, lines)) + count
        return [line.decode(errors="replace") for line in lines]

    def take_output(self, last_line: str) -> tuple[str, bool] | None:
        """Return all that the process has written, and whether it has ended; None if neither has happened yet."""
        stop = last_line.encode()
        for index, line in enumerate(self.lines):
            if stop and line.strip() == stop:
                text = "\n".join(self.take_lines(index + 1) or [])
                return text[: -len(last_line)], False
        if not self.ended:
            return None
        text = "\n".join(self.take_lines(len(self.lines)) or [])
        if not text.strip():
            raise Failed(self.how_it_ended())
        return text, True

    def how_it_ended(self) -> str:
        """Return what is known of the end of the process."""
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "closed its output without an end of the game"
        self.drain_rest()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        words = self.last_words.decode(errors="replace").strip()
        return f"{how} in the middle of the game" + (f"; the end of its standard error:\n{words}" if words else "")

    def drain_rest(self) -> None:
        """Take what is left in the standard error of a process that has ended."""
        while data := self._take(self.stderr):
            self.last_words = (self.last_words + data)[-STDERR_BYTES:]

    def kill(self) -> None:
        """Kill the process with all that it has started."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if not pipe.closed:
                if pipe.fileno() in self.selector.get_map():
                    self.selector.unregister(pipe)
                pipe.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Game:
    """A table that is open."""

    def __init__(self, table: Table, play: Play) -> None:
        self.table, self.play = table, play
        self.child: Child | None = None
        self.waits_for: Step | None = None
        self.said: dict[str, Any] = {}  # that is not written yet


class Driver:
    """All tables of one process."""

    def __init__(self, command: Sequence[str], play: Callable[[Table, Options], Play], options: Options) -> None:
        self.command, self.play, self.options = command, play, options
        self.games: dict[int, Game] = {}
        self.idle: list[Child] = []  # processes that wait for another table
        self.begun = 0  # how often a table has begun a process
        self.selector = selectors.DefaultSelector()
        self.input = b""
        self.output: list[bytes] = []
        self.is_over = False

    def run(self) -> None:
        """Serve until the input ends. Raise Failed if the referee fails."""
        self.selector.register(0, selectors.EVENT_READ, self.listen)
        try:
            while not self.is_over:
                for key, _ in self.selector.select():
                    now = self.selector.get_map().get(key.fd)
                    if now and now.data == key.data:  # one before it may have closed this one
                        key.data()
                self.write()
        finally:
            for game in [*self.games.values()]:
                self.end(game)
            for child in self.idle:
                child.kill()

    def say(self, value: dict[str, Any]) -> None:
        """Write a line to croupier, at the end of this turn."""
        self.output.append(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def write(self) -> None:
        """Write all lines for croupier."""
        data = b"".join(self.output)
        self.output.clear()
        while data:
            data = data[os.write(1, data) :]

    def listen(self) -> None:
        """Read what croupier has written."""
        data = os.read(0, CHUNK_BYTES)
        self.is_over = not data
        *lines, self.input = (self.input + data).split(b"\n")
        for line in lines:
            self.obey(json.loads(line))

    def obey(self, said: dict[str, Any]) -> None:
        """Do what a line of croupier says."""
        if "protocol" in said:
            self.say(HELLO)
        elif "open" in said:
            table = Table(said["open"], said["seats"], said["seed"], said["rules"])
            game = self.games[table.number] = Game(table, self.play(table, self.options))
            self.go_on(game, None)
        elif "answers" in said:
            answers = {each["seat"]: Answer(each.get("move", ""), each.get("fault", "")) for each in said["answers"]}
            self.go_on(self.games[said["table"]], answers)
        elif "drop" in said:
            self.end(self.games[said["drop"]])

    def go_on(self, game: Game, result: Any) -> None:
        """Give a table the result of its step, and do its next steps until one of them must wait."""
        try:
            scores = self.steps(game, result)
            if scores is None:
                return
            game.said["over"] = {"scores": scaled(scores, self.options.scale)}
        except Failed as failed:
            raise Failed(f"table {game.table.number}: the referee {failed}") from None
        self.say_of(game)
        self.keep(game)
        self.end(game)

    def steps(self, game: Game, result: Any) -> list[float] | None:
        """Do the steps of a table until one of them must wait. Return the scores if the game is over."""
        game.waits_for = None
        try:
            while True:
                step = game.play.send(result)
                ready, result = self.do(game, step)
                if not ready:
                    game.waits_for = step
                    return None
        except StopIteration as over:
            scores: list[float] = over.value
            return scores

    def do(self, game: Game, step: Step) -> tuple[bool, Any]:
        """Do a step. Return whether its result is there, and the result."""
        match step:
            case Begin():
                if game.child:
                    game.child.kill()
                game.child = self.begin(game)
            case Send(text):
                self.child(game).send(text)
            case Close():
                self.child(game).close_input()
            case Read() | ReadOutput():
                result = self.read(game, step)
                return result is not None, result
            case Tell(event):
                self.say({"table": game.table.number, "tell": event})
            case Show(texts):
                if texts:
                    game.said["show"] = [{"seat": seat, "text": text} for seat, text in sorted(texts.items())]
            case Ask(questions):
                game.said["ask"] = [asked(each) for each in questions]
                self.say_of(game)
                if self.begun > 1 and not self.idle and not self.options.reuse:
                    self.idle.append(self.spare())
                return False, None
        return True, None

    def say_of(self, game: Game) -> None:
        """Write what has been collected of a table."""
        self.say({"table": game.table.number, **game.said})
        game.said.clear()

    def child(self, game: Game) -> Child:
        """Return the process of a table."""
        assert game.child
        return game.child

    def spare(self) -> Child:
        """Start a process that nobody needs yet, while bots think: the next table, or turn, does not wait for its start."""
        self.write()
        return Child(self.command, self.selector, lambda: None)

    def begin(self, game: Game) -> Child:
        """Return a process that waits for another table and has not ended, or a new one."""
        self.begun += 1
        while self.idle:
            child = self.idle.pop()
            if child.process.poll() is None and not child.ended:
                child.wake, child.sent = lambda: self.wake(game), []
                return child
            child.kill()
        return self.start(game)

    def start(self, game: Game) -> Child:
        """Start a process for a table."""
        try:
            return Child(self.command, self.selector, lambda: self.wake(game))
        except OSError as wrong:
            raise Failed(f"cannot be started: {self.command[0]}: {wrong.strerror}") from None

    def read(self, game: Game, step: Read | ReadOutput) -> Any:
        """Return what a process has written; None if it is not there yet."""
        child = self.child(game)
        if child.ended and child.sent is not None and not child.lines:  # it ended after the table before
            game.child = self.start(game)
            for text in child.sent:
                game.child.send(text)
            child.kill()
            return None
        return child.take_lines(step.lines) if isinstance(step, Read) else child.take_output(step.last_line)

    def wake(self, game: Game) -> None:
        """Look at a table again whose process has written something."""
        try:
            result = self.read(game, game.waits_for) if isinstance(game.waits_for, Read | ReadOutput) else None
            if result is None and self.child(game).unread > MAX_OUTPUT_BYTES:
                raise Failed(f"wrote more than {MAX_OUTPUT_BYTES >> 20} MiB that nothing asked for")
        except Failed as failed:
            raise Failed(f"table {game.table.number}: the referee {failed}") from None
        if result is not None:
            self.go_on(game, result)

    def keep(self, game: Game) -> None:
        """Keep the process of a table that is over for another one, if the organiser wants it."""
        if self.options.reuse and game.child and not game.child.ended and not game.child.unread:
            child, game.child = game.child, None
            child.wake = lambda: None
            self.idle.append(child)

    def end(self, game: Game) -> None:
        """Forget a table, and kill its process."""
        del self.games[game.table.number]
        game.play.close()
        if game.child:
            game.child.kill()


def asked(question: Question) -> dict[str, Any]:
    """Return a question as referee/1 writes it."""
    said: dict[str, Any] = {"seat": question.seat, "view": question.view}
    if question.lines != 1:
        said["lines"] = question.lines
    return said | {"limit_ms": question.limit_ms} if question.limit_ms else said
