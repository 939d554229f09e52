"""Mends what can be mended in a bot's files: a missing mode, the line ends of Windows, the print of Python 2."""

import io
import os
import stat
import tokenize
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from host.bots.contents import LARGEST_FILE
from host.bots.finding import find
from host.problems import Problem, Refused

MOST = 100  # files of one bot


class Mended(NamedTuple):
    """A file as it is to be: its content, its mode, and what has been done to it."""

    content: bytes
    mode: int
    words: str


def mend(path: Path) -> list[str]:
    """Mend a bot's files until nothing is wrong with them that can be mended; return what has been done.

    No link is followed, and what does not help is undone.
    """
    done = []
    for _ in range(MOST):
        problem = next((problem for problem in _problems(path) if problem.code in MENDING), None)
        if problem is None:
            break
        file, colon, line = problem.where.rpartition(":")
        place = Path(file if colon and line.isdigit() else problem.where)
        with _opened(place) as handle:
            before, mode = handle.read(LARGEST_FILE), stat.S_IMODE(os.fstat(handle.fileno()).st_mode)
            after = MENDING[problem.code](before, mode)
            _write(handle, after.content, after.mode)
            if problem.code in {left.code for left in _problems(path) if left.where.startswith(str(place))}:
                _write(handle, before, mode)
                break
        done.append(f"{place}: {after.words}")
    return done


def _problems(path: Path) -> list[Problem]:
    try:
        find(path)
    except Refused as refused:
        return refused.problems
    return []


def _opened(place: Path) -> io.FileIO:
    return io.FileIO(os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "r+")


def _write(handle: io.FileIO, content: bytes, mode: int) -> None:
    handle.seek(0)
    handle.truncate()
    handle.write(content)
    os.fchmod(handle.fileno(), mode)


def _executable(content: bytes, mode: int) -> Mended:
    return Mended(content, mode | (mode & 0o444) >> 2, "may be executed now")


def _line_ends(content: bytes, mode: int) -> Mended:
    return Mended(content.replace(b"\r\n", b"\n"), mode, "its lines end with LF now")


def _prints(content: bytes, mode: int) -> Mended:
    return Mended(python3(content.decode("latin-1")).encode("latin-1"), mode, "its prints are those of Python 3 now")


MENDING: Mapping[str, Callable[[bytes, int], Mended]] = {"B002": _executable, "B005": _line_ends, "B006": _prints}
"""What mends which problem."""

OPENS, CLOSES = "([{", ")]}"
NOTHING = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def python3(source: str) -> str:
    """Return a program with the print statements of Python 2 as calls; unchanged where it cannot even be split."""
    try:
        tokens = [each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type not in NOTHING]
    except (tokenize.TokenError, SyntaxError):
        return source
    lines = source.splitlines(keepends=True)
    for statement in reversed(list(_print_statements(tokens))):
        _call(lines, statement)
    return "".join(lines)


def _print_statements(tokens: list[tokenize.TokenInfo]) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the tokens of every print statement, the print first."""
    start, depth, statement = True, 0, list[tokenize.TokenInfo]()
    for token in tokens:
        ends = depth == 0 and (
            token.type in (tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER) or token.string == ";"
        )
        if statement and ends:
            yield statement
            statement = []
        if statement or (start and token.type == tokenize.NAME and token.string == "print"):
            statement.append(token)
        depth += (token.string in OPENS) - (token.string in CLOSES) if token.type == tokenize.OP else 0
        start = ends or (depth == 0 and token.string == ":")


def _call(lines: list[str], statement: list[tokenize.TokenInfo]) -> None:
    """Turn one print statement into a call, in place."""
    word, *said = statement
    if said and said[0].string == "(" and _closing(said) == len(said) - 1:
        return  # it is a call as it stands
    options = ""
    if said and said[0].string == ">>":
        comma = next((n for n, token in enumerate(said) if token.string == ","), len(said))
        options = f", file={_text(lines, said[1:comma])}"
        said = said[comma + 1 :]
    if said and said[-1].string == ",":
        options += ', end=" "'
        said = said[:-1]
    call = f"print({_text(lines, said)}{options if said else options.removeprefix(', ')})"
    (first, begin), (last, end) = word.start, statement[-1].end
    head, tail = lines[first - 1][:begin], lines[last - 1][end:]
    lines[first - 1 : last] = (head + call + tail).splitlines(keepends=True)


def _closing(tokens: list[tokenize.TokenInfo]) -> int:
    """Return which token closes the bracket that the first one opens."""
    depth = 0
    for number, token in enumerate(tokens):
        if token.type == tokenize.OP:
            depth += (token.string in OPENS) - (token.string in CLOSES)
        if depth == 0:
            return number
    return -1


def _text(lines: list[str], tokens: list[tokenize.TokenInfo]) -> str:
    """Return the source of some tokens."""
    if not tokens:
        return ""
    (first, begin), (last, end) = tokens[0].start, tokens[-1].end
    if first == last:
        return lines[first - 1][begin:end]
    return lines[first - 1][begin:] + "".join(lines[first : last - 1]) + lines[last - 1][:end]
