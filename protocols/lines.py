"""Implements lines: one process for many questions. It reads and writes one line per question; spaces separate the fields."""

from protocols.one_line import framing
from protocols.wire import Answer, Grammar, Protocol, encode_view, encode_views, read_move, without_line_end


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Parse one answer line, with or without its line end."""
    return read_move(grammar, without_line_end(line))


PROTOCOL = Protocol(
    "lines",
    persistent=True,
    encode=encode_view,
    receive=receive,
    framing=framing(encode_view, encode_views),
)
