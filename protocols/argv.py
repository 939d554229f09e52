"""Implements argv: a new process for each question. The fields are its arguments; its standard output is the answer."""

from protocols.wire import (
    Answer,
    Fault,
    FaultKind,
    Grammar,
    Protocol,
    View,
    encode_view,
    encode_views,
    no_bank,
    number,
    over,
    read_move,
    spell,
    split_table_number,
    without_line_end,
)


def ask(view: View) -> list[bytes]:
    """Return the arguments that follow the program's name."""
    return [spell(field).encode() for field in view]


def receive(grammar: Grammar, output: bytes) -> Answer:
    """Parse the whole output of a process. It must be one line; the line end may be missing."""
    line = without_line_end(output)
    if b"\n" in line:
        return Fault(FaultKind.EXTRA)
    return read_move(grammar, line)


PROTOCOL = Protocol(
    "argv",
    persistent=False,
    ask=ask,
    line=encode_view,
    lines=encode_views,
    receive=receive,
    number=number,
    split_table_number=split_table_number,
    bank=no_bank,
    over=over,
)
