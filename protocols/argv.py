"""Implements argv: a new process for each question. The fields are its arguments; its standard output is the answer."""

from protocols import lines
from protocols.wire import Answer, Fault, FaultKind, Grammar, View, read_move, spell, without_line_end


def ask(view: View) -> list[bytes]:
    """Return the arguments of a question, which follow the program's name."""
    return [spell(field).encode() for field in view]


def ask_raw(view: View) -> list[bytes]:
    """Return the arguments with texts as they are. NUL, which no argument can contain, is replaced."""
    return [
        field.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")
        if isinstance(field, str)
        else spell(field).encode()
        for field in view
    ]


def receive(grammar: Grammar, output: bytes) -> Answer:
    """Parse the whole output of a process. It must be one line; the line end may be missing."""
    line = without_line_end(output)
    if b"\n" in line:
        return Fault(FaultKind.EXTRA)
    return read_move(grammar, line)


PROTOCOL = lines.PROTOCOL._replace(name="argv", persistent=False, receive=receive, lifetimes=())
