"""Finds the line that names the error in the output of a program or a compiler."""

import re

from host.base.safe_text import escape_control_chars
from host.submissions.languages import LANGUAGES

MAX_SHOWN_CHARS = 200  # of an answer, or of a line of output
CRASHES = tuple(row.output.crash for row in LANGUAGES.values() if row.output.crash is not None)
COMPILER_ERROR = re.compile(
    r"^.*(?:\berror(?:\[\w+\])?:|undefined reference to).*$|^\S+:\d+:\d+: (?!warning|note).+$",
    re.IGNORECASE | re.MULTILINE,
)
UNDEFINED = re.compile(r"^.*(?:implicit declaration of function|undefined function:).*$", re.MULTILINE)
"""A compiler's warning about an undefined function. Then the linker of C fails, but a build of Lisp succeeds."""
SUMMARY = re.compile(r"ld returned|aborting due to|could not compile|build failed")
"""The last lines of a linker or a compiler, which only count or repeat its other errors."""


class Output:
    """The output of a program or a compiler; it finds the error in it."""

    def __init__(self, printed: bytes) -> None:
        self._text = printed.decode(errors="replace")
        found = (each for pattern in CRASHES for each in pattern.finditer(self._text))
        # The last one: a program may print errors before the one that ends it.
        self._crash = max(found, key=re.Match.start, default=None)

    @property
    def headline(self) -> str:
        """Return the error that ended a program, on one line; "" if the output has no error of a known runtime."""
        parts = [self._crash[group] for group in _groups(self._crash)] if self._crash else []
        return shown(" ".join(" ".join(parts).split()))

    @property
    def headline_or_last_line(self) -> str:
        """Return the error that ended a program; if there is none, the last line of the output."""
        return self.headline or next(map(shown, reversed(self._text.strip().splitlines())), "")

    @property
    def undefined_function(self) -> str:
        """Return the compiler's first warning about an undefined function; "" if there is none."""
        found = UNDEFINED.search(self._text)
        return shown(found[0].strip("; ")) if found else ""

    def lines(self, most: int) -> list[str]:
        """Return up to `most` lines of a program's output to show.

        They start at the error that ended the program. If the output has no such error, they are the last lines.
        """
        if self._crash is None:
            return self._lines_from(len(self._text), most)
        place = self._crash.start(_groups(self._crash)[0])
        return self._lines_from(self._text.rfind("\n", 0, place) + 1, most)

    def compiler_lines(self, most: int) -> list[str]:
        """Return up to `most` lines of a compiler's output to show.

        They start at the first error, or at an earlier warning about an undefined function, which may explain it. If
        the output has neither, they start at its beginning.
        """
        found = [each.start() for pattern in (UNDEFINED, COMPILER_ERROR) if (each := pattern.search(self._text))]
        return self._lines_from(min(found, default=0), most)

    @property
    def compiler_errors(self) -> list[str]:
        """Return the lines in which a compiler or a linker reports an error, each once, without summaries."""
        found = dict.fromkeys(shown(each[0]) for each in COMPILER_ERROR.finditer(self._text))
        return [line for line in found if SUMMARY.search(line) is None]

    def _lines_from(self, place: int, most: int) -> list[str]:
        """Return up to `most` lines of the text that start at the offset `place`. Leave out empty lines.

        If fewer lines follow `place`, lines before it fill up the number.
        """
        lines = self._text.splitlines()
        before = len(self._text[:place].splitlines())
        first = [at for at, line in enumerate(lines) if line.strip()]
        start = sum(at < before for at in first)
        kept = first[max(0, min(start, len(first) - most)) :][:most]
        return [shown(lines[at]) for at in kept]


def _groups(match: re.Match[str]) -> list[int]:
    """Return the numbers of the groups with a text in a match; [0], the whole match, if there are none."""
    return [number for number, text in enumerate(match.groups(), 1) if text] or [0]


def shown(line: str) -> str:
    """Return a line of a program's output for people."""
    return escape_control_chars(line.expandtabs(4).rstrip())[:MAX_SHOWN_CHARS]
