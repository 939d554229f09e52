"""One long life, one line asked, one line answered: the fields of a question are split by one blank."""

from protocols.wire import (
    Answer,
    Grammar,
    Protocol,
    View,
    number,
    numbered,
    over,
    read_move,
    spell_all,
    without_line_end,
)


def ask(view: View) -> list[bytes]:
    """Return the question's one line."""
    return [spell_all((view,))]


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Return what one line says, its line end on or off."""
    return read_move(grammar, without_line_end(line))


PROTOCOL = Protocol(
    "lines", lives=True, ask=ask, lines=spell_all, receive=receive, number=number, numbered=numbered, over=over
)
