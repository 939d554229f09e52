"""Implements the framing of protocols with one line for a question and one line for an answer. It has no state."""

from collections.abc import Callable, Sequence
from operator import methodcaller

from protocols.wire import Asked, Framing, View

split_lines: Callable[[bytes], list[bytes]] = methodcaller("split", b"\n")
"""Returns the whole lines of some output without their line ends, and the incomplete last one."""


class OneLine:
    """The framing of a protocol with one line for a question and one line for an answer."""

    split = staticmethod(split_lines)

    def __init__(self, encode_all: Callable[[Sequence[View]], bytes]) -> None:
        self._encode_all = encode_all

    def restart(self) -> None:
        """Do nothing."""

    def encode(self, questions: Sequence[Asked]) -> bytes:
        """Return questions, one line each."""
        return self._encode_all([question.view for question in questions])

    def encode_each(self, questions: Sequence[Asked]) -> list[bytes]:
        """Return the line of each question."""
        return self.encode(questions).splitlines(keepends=True)

    def last(self, _output: bytes) -> list[bytes]:
        """Return nothing: an answer ends with its line end."""
        return []

    def hear(self, _questions: Sequence[Asked], _answers: Sequence[bytes]) -> None:
        """Do nothing."""


def framing(encode_all: Callable[[Sequence[View]], bytes]) -> Callable[[], Framing]:
    """Return the framing of a protocol that writes questions in this way. All bots share it."""
    shared = OneLine(encode_all)
    return lambda: shared
