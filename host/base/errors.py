"""Errors as users see them: a code, the message, the evidence and a hint; docs/errors.md explains each code."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

LOG_PREFIX = "\nthe whole log: "


ERROR_ENTRY = re.compile(r"^### ([A-Z]\d{3}) (.+)\n\n((?:(?!#).*\n)+)", re.MULTILINE)
"""An entry of docs/errors.md: a heading with code and title, then the text."""


class Explanation(NamedTuple):
    """An entry of docs/errors.md: one line, and a few sentences on the cause and the cure."""

    title: str
    text: str


@cache
def explanations() -> Mapping[str, Explanation]:
    """Read docs/errors.md; return its entries by code, in the order of the page."""
    host = Path(__file__).parents[1]
    installed = host / "data" / "errors.md"
    page = installed if installed.exists() else host.parent / "docs" / "errors.md"
    return {
        code: Explanation(title, " ".join(text.split())) for code, title, text in ERROR_ENTRY.findall(page.read_text())
    }


def lookup(code: str) -> Explanation:
    """Return the explanation of an error code; raise KeyError if there is none."""
    return explanations()[code]


class Problem(NamedTuple):
    """One finding. `where` is `croupier.toml:14`, a path or a bot's name; `evidence` may have several lines.

    `log` is all that a compiler has said, where there is such; the evidence ends with where that can be read.
    """

    code: str
    where: str
    message: str
    evidence: str = ""
    hint: str = ""
    log: str = ""

    def with_log_path(self, path: Path) -> "Problem":
        """Return the same with its log elsewhere."""
        before, _, _ = self.evidence.rpartition(LOG_PREFIX)
        return self._replace(evidence=f"{before}{LOG_PREFIX}{path}")

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        text = f"error[{self.code}] {place}{self.message}".replace(
            "\n", r"\n"
        )  # a stranger's file may be called anything
        text += "".join(f"\n  {line}" for line in self.evidence.splitlines())
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class UserError(Exception):
    """Raised when croupier will not go on: everything that is wrong, all at once, and the exit code it means.

    Exit codes: 2 wrong use · 3 config or manifest wrong · 4 a bot does not build or start · 5 incomplete, can go on ·
    6 the machine lacks what the config demands.
    """

    def __init__(self, problems: list[Problem], exit_code: int) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems, self.exit_code = problems, exit_code


class HostFailure(Exception):
    """Raised when croupier or the machine has failed and no bot is to blame: the fixture is played again."""

    bot = ""  # that was asked or prepared then
    table = 0  # in its fixture


class AmbiguousAnswers(Exception):
    """Raised when nobody can tell which question a line answers: the fixture is played again, one table at a time."""

    def __init__(self, bot: str) -> None:
        super().__init__(f"{bot} has written more lines than questions while it was asked several at once")
        self.bot = bot
