"""One long life, one line asked, one line answered: the fields of a question are split by one blank."""

from protocols.wire import (
    Answer,
    Grammar,
    Protocol,
    View,
    encode_views,
    number,
    over,
    read_move,
    split_table_number,
    without_line_end,
)


def ask(view: View) -> list[bytes]:
    """Return the question's one line."""
    return [encode_views((view,))]


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Return what one line says, its line end on or off."""
    return read_move(grammar, without_line_end(line))


PROTOCOL = Protocol(
    "lines",
    persistent=True,
    ask=ask,
    lines=encode_views,
    receive=receive,
    number=number,
    split_table_number=split_table_number,
    over=over,
)
