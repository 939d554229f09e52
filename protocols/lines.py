"""Implements lines: one process for many questions. It reads and writes one line per question; spaces separate the fields."""

from protocols.one_line import framing
from protocols.wire import (
    Answer,
    Grammar,
    Protocol,
    View,
    encode_view,
    encode_views,
    no_bank,
    number,
    over,
    read_move,
    split_table_number,
    without_line_end,
    write,
)


def ask(view: View) -> list[bytes]:
    """Return the question as one line."""
    return [encode_view(view)]


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Parse one answer line, with or without its line end."""
    return read_move(grammar, without_line_end(line))


PROTOCOL = Protocol(
    "lines",
    persistent=True,
    ask=ask,
    encode=encode_view,
    receive=receive,
    number=number,
    split_table_number=split_table_number,
    bank=no_bank,
    over=over,
    write=write,
    framing=framing(encode_view, encode_views),
)
