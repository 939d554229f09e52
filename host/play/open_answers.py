"""Stores the answers of a fixture that is being played, if a bot of it asks models: nobody pays for them twice.

How it works. The file has one line of JSON for each answer, written when the answer comes. Its first line is a hash of what the
answers belong to: the fixture, the seed, the bots and their limits. When the fixture is played again, because its run or its
worker was killed or because a model did not answer, its seats take the stored answers (host/bots/storing_seat.py). A file that
belongs to something else is replaced. The first line that is not whole, or is not a stored answer, is dropped with all after it.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from host.base.errors import Problem, UserError
from host.base.toml_file import read_bytes
from host.bots.storing_seat import StoredAnswer

MAX_OPEN_BYTES = 64 << 20
"""Bytes of the file. Answers that come when it is full are not stored."""

_DECODER = msgspec.json.Decoder(StoredAnswer)


class OpenAnswers:
    """The stored answers of one fixture. `count` is how many there were when the fixture was begun again."""

    def __init__(self, path: Path, belongs_to: Any) -> None:
        """Read what is stored at a path, if it belongs to these values. Raise UserError if the file cannot be used."""
        self._path = path
        self._head = hashlib.sha256(msgspec.json.encode(belongs_to)).hexdigest().encode()
        self._answers: dict[tuple[str, int, int], StoredAnswer] = {}
        self._last: dict[str, StoredAnswer] = {}  # by player
        self._states: dict[str, bytes] = {}  # state files after the last answer, by player
        with self._writing():
            path.parent.mkdir(exist_ok=True)
            self._replace(self._stored() if path.exists() else [])
        self.count = len(self._answers)

    def find(self, player: str, table: int, number: int) -> StoredAnswer | None:
        """Return the answer to a question; None if it was not stored when the fixture was begun again."""
        return self._answers.get((player, table, number))

    def last(self, player: str) -> StoredAnswer | None:
        """Return the last answer of a player; None if none was stored when the fixture was begun again."""
        return self._last.get(player)

    def state(self, player: str) -> bytes | None:
        """Return the state file of a player after its last answer; None if it has not answered."""
        return self._states.get(player)

    def add(self, answers: Sequence[StoredAnswer]) -> None:
        """Store answers. Raise UserError if the file cannot be written."""
        data = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)
        self._size += len(data)
        if self._size <= MAX_OPEN_BYTES:
            self._keep_states(answers)
            with self._writing():
                self._write(data)

    def clear(self) -> None:
        """Forget all answers."""
        for known in (self._answers, self._last, self._states):
            known.clear()
        self.count = 0
        self.close()
        with self._writing():
            self._replace([])

    def close(self) -> None:
        """Close the file. It stays for the next time that the fixture is played."""
        os.close(self._file)

    def _stored(self) -> list[bytes]:
        """Take the stored answers. Return their lines."""
        head, *lines = read_bytes(self._path, MAX_OPEN_BYTES).split(b"\n")[:-1] or [b""]
        whole = []
        for line in lines if head == self._head else []:
            try:
                answer = _DECODER.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                break
            self._answers[answer.player, answer.table, answer.number] = self._last[answer.player] = answer
            self._keep_states([answer])
            whole.append(line)
        return whole

    def _keep_states(self, answers: Sequence[StoredAnswer]) -> None:
        self._states |= {answer.player: answer.state for answer in answers if answer.state is not None}

    def _replace(self, lines: Sequence[bytes]) -> None:
        """Replace the file by a new one with these lines. Nothing is written into a file that was there before."""
        making = self._path.with_suffix(".making")
        making.unlink(missing_ok=True)
        self._file = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        data = b"".join(line + b"\n" for line in (self._head, *lines))
        self._size = len(data)
        self._write(data)
        making.rename(self._path)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise UserError if the file cannot be written in the block."""
        try:
            yield
        except OSError as failed:
            hint = "finished fixtures are saved; check the disk and the folder's permissions, then continue"
            raise UserError(
                [Problem("R009", str(self._path), f"cannot be written: {failed.strerror}", hint=hint)], 6
            ) from failed


def open_file(folder: Path, fixture: str) -> Path:
    """Return the file of the stored answers of a fixture, given the folder of all of them and the path of the fixture."""
    return folder / f"{hashlib.sha256(fixture.encode()).hexdigest()[:32]}.jsonl"
