"""Stores the answers of an unfinished fixture if one of its bots asks models, so that nobody pays twice for an answer.

How it works. A fixture has one file. Its first line is a hash of the values to which the answers belong: the fixture,
the seed, the bots and their limits. Each other line is one answer in JSON, written when the bot has answered. A fixture
is played again if its run or its worker was killed, or if a model did not answer. Then its seats take the stored
answers (host/bots/storing_seat.py). A file with another hash is replaced. The first line that is incomplete or is not a
stored answer is dropped, with all lines after it. A *player* is one process of a bot, by its name (`player_name`).
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
"""Maximum bytes of the file. Answers for which the file has no room are not stored."""

_DECODER = msgspec.json.Decoder(StoredAnswer)


class OpenAnswers:
    """The stored answers of one fixture. `count` is the number of answers from earlier attempts to play it."""

    def __init__(self, path: Path, belongs_to: Any) -> None:
        """Read the answers in the file if they belong to the value `belongs_to`; otherwise begin a new file.

        Raise UserError if the file cannot be used.
        """
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
        """Return the content of a player's state file after its last answer; None if it is not stored."""
        return self._states.get(player)

    def add(self, answers: Sequence[StoredAnswer]) -> None:
        """Store answers, unless the file would exceed MAX_OPEN_BYTES. Raise UserError if the file cannot be written."""
        data = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)
        self._size += len(data)
        if self._size <= MAX_OPEN_BYTES:
            self._keep_states(answers)
            with self._writing():
                self._write(data)

    def clear(self) -> None:
        """Remove all answers, also from the file."""
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
        """Read the answers from the file into memory. Return their lines."""
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
        """Replace the file by a new one with these lines. Never write into a file that existed before."""
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
    """Return the file for the answers of a fixture in `folder`, which has one file for each unfinished fixture."""
    return folder / f"{hashlib.sha256(fixture.encode()).hexdigest()[:32]}.jsonl"
