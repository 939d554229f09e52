"""One long life, one line asked, one line answered: the fields of a question are split by one blank."""

from protocols.words import (
    SPELLING,
    Answer,
    Grammar,
    Protocol,
    View,
    number,
    numbered,
    over,
    read_move,
    spell_other,
    without_line_end,
)


def ask(view: View) -> list[bytes]:
    """Return the question's one line."""
    return [f"{' '.join([SPELLING.get(type(field), spell_other)(field) for field in view])}\n".encode()]


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Return what one line says, its line end on or off."""
    return read_move(grammar, without_line_end(line))


PROTOCOL = Protocol("lines", lives=True, ask=ask, receive=receive, number=number, numbered=numbered, over=over)
