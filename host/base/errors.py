"""Defines errors as users see them: code, message, evidence and hint. docs/errors.md explains each code."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from host.base.paths import shipped

LOG_PREFIX = "\nthe whole log: "
MAX_LISTED_NAMES = 12
USAGE_HINT = "croupier COMMAND --help"
"""The hint for wrong usage. The command line replaces it by a hint that names the command: `croupier run --help`."""

MAX_WORD_CHARS = 200  # of a word that is compared with others; an untrusted author can write a long one

# An entry of docs/errors.md: a heading with code and title, then the text.
ERROR_ENTRY = re.compile(r"^### ([A-Z]\d{3}) (.+)\n\n((?:(?!#).*\n)+)", re.MULTILINE)


class Explanation(NamedTuple):
    """An entry of docs/errors.md: a title, and a few sentences on the cause and the fix."""

    title: str
    text: str


@cache
def explanations() -> Mapping[str, Explanation]:
    """Read docs/errors.md; return its entries by code, in the order of the page."""
    page = shipped("docs") / "errors.md"
    return {
        code: Explanation(title, " ".join(text.split())) for code, title, text in ERROR_ENTRY.findall(page.read_text())
    }


def lookup(code: str) -> Explanation:
    """Return the explanation of an error code. Raise KeyError if the code does not exist."""
    return explanations()[code]


class Problem(NamedTuple):
    """An error. `where` is `croupier.toml:14`, a path or a bot's name; `evidence` may have several lines.

    `log` is the whole output of a compiler, if one ran. The last line of the evidence then names the log file.
    """

    code: str
    where: str
    message: str
    evidence: str = ""
    hint: str = ""
    log: str = ""

    def with_log_path(self, path: Path) -> "Problem":
        """Return the problem with `path` as the path of its log file."""
        evidence, _, _ = self.evidence.rpartition(LOG_PREFIX)
        return self._replace(evidence=f"{evidence}{LOG_PREFIX}{path}")

    def json(self) -> dict[str, Any]:
        """Return the values for JSON output, by key. A place such as `croupier.toml:14` becomes file and line."""
        path, _, line = self.where.rpartition(":")
        location = {"file": path, "line": int(line)} if line.isdigit() else {"file": self.where or None, "line": None}
        texts = {"code": self.code, "message": self.message, "evidence": self.evidence, "hint": self.hint}
        return texts | location

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        # The name of a file from an untrusted author can contain any character, for example a line break.
        text = f"error[{self.code}] {where}{self.message}".replace("\n", r"\n")
        text += "".join(f"\n  {line}" for line in self.evidence.splitlines())
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class UserError(Exception):
    """Raised with all problems that the user must solve before croupier can continue, and an exit code.

    Exit codes: 2 wrong usage · 3 wrong croupier.toml or bot.toml · 4 a bot does not build or start · 5 incomplete, can be
    resumed · 6 the machine does not have what the configuration requires.
    """

    def __init__(self, problems: list[Problem], exit_code: int) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems, self.exit_code = problems, exit_code


class HostFailure(Exception):
    """Raised when croupier or the machine has failed and no bot is to blame. The open questions are asked again."""

    bot = ""  # the bot that croupier was asking or preparing
    table = 0  # the table number in the fixture


def cause_of(error: BaseException) -> BaseException:
    """Return an exception from nested groups: if possible a UserError, otherwise a KeyboardInterrupt, otherwise another."""
    while isinstance(error, BaseExceptionGroup):
        error = (error.subgroup(UserError) or error.subgroup(KeyboardInterrupt) or error).exceptions[0]
    return error


def nothing_played(place: Path, hint: str = "croupier run") -> UserError:
    """Return the error for a folder or a journal without any played table."""
    return UserError([Problem("R006", str(place), "nothing has been played here yet", hint=hint)], 3)


def wrong_usage(message: str) -> UserError:
    """Return the error for arguments that are wrong or contradict each other (exit code 2)."""
    return UserError([Problem("U001", "", message, hint=USAGE_HINT)], 2)


def closest_match(word: str, words: Iterable[str]) -> str:
    """Return the most similar of the words; ignore case. Return "" if none is similar."""
    import difflib  # importing it and tomllib takes 5 ms, and few commands that read a journal need them

    by_lower_case = {each.lower(): each for each in words}
    matches = difflib.get_close_matches(word[:MAX_WORD_CHARS].lower(), by_lower_case, 1, 0.6)
    return by_lower_case[matches[0]] if matches else ""


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the most similar known name."""
    near = closest_match(name, known)
    return f"there is no {what} {name!r}" + (f"; did you mean {near} ?" if near else "")


def unknown_with_list(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the most similar known name and a list of known names."""
    names = [*known]
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    listed = f"{what}s here: {', '.join(names[:MAX_LISTED_NAMES])}{more}" if names else f"no {what}s are here"
    return f"{unknown_name(what, name, names)}  ({listed})"
