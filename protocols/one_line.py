"""Implements the framing of protocols with one line for a question and one line for an answer. It has no state."""

from collections.abc import Callable, Sequence
from operator import methodcaller

from protocols.wire import Asked, Framing, View

split_lines: Callable[[bytes], list[bytes]] = methodcaller("split", b"\n")
"""Returns the complete lines of some output without their line ends, and as the last item the incomplete line or b""."""


class OneLine:
    """The framing of a protocol with one line for a question and one line for an answer."""

    read = staticmethod(split_lines)

    def __init__(self, encode: Callable[[View], bytes], encode_all: Callable[[Sequence[View]], bytes]) -> None:
        self._encode, self._encode_all = encode, encode_all

    def restart(self) -> None:
        """Do nothing."""

    def encode(self, questions: Sequence[Asked], complete: Callable[[int, bytes], bytes] | None = None) -> bytes:
        """Return questions as text, one line each."""
        if complete is None:
            return self._encode_all([question.view for question in questions])
        return b"".join([complete(index, self._encode(question.view)) for index, question in enumerate(questions)])

    def hear(self, _questions: Sequence[Asked], _answers: Sequence[bytes]) -> None:
        """Do nothing."""


def framing(encode: Callable[[View], bytes], encode_all: Callable[[Sequence[View]], bytes]) -> Callable[..., Framing]:
    """Return the field `framing` of a protocol: a function that returns the same object for all bots.

    `encode` writes one question, `encode_all` several.
    """
    shared = OneLine(encode, encode_all)
    return lambda _until=None: shared
