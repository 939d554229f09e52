"""`croupier.check`: checks that a bot builds, starts and answers correctly."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from os import PathLike
from typing import Any

from croupier.session import context_of, errors, session
from host.cli.bot_arguments import tournament_here
from host.cli.check import CheckOptions, candidates_of, check_bots
from host.submissions.check import Report


class CheckedBot:
    """The verdict of `croupier check` about a bot. Its text is that of the command."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.bot: str = report.bot
        self.accepted: bool = report.accepted
        self.plays: bool = report.playable
        """Whether it builds and starts, so that it can play although it is not accepted."""
        self.seconds: float = report.seconds

    @property
    def problems(self) -> list[dict[str, str]]:
        """The problems, with the keys `code`, `where`, `message`, `evidence`, `hint` and `log`."""
        return [problem._asdict() for problem in self._report.problems]

    @property
    def findings(self) -> list[dict[str, str]]:
        """The lines of the report, with the keys `mark` (✓, ! or ✗), `what` and `words`."""
        return [line._asdict() for line in self._report.lines]

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of `croupier check --json`."""
        return self._report.to_json()

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return self._report.text()

    def __repr__(self) -> str:
        return f"<{self.bot}: {'accepted' if self.accepted else 'not accepted'}>"


def check(
    bot: str | PathLike[str],
    *,
    game: str | None = None,
    limits: str | None = None,
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
) -> CheckedBot:
    """Check a bot as `croupier check` does. Raise Error if there is no such bot; a broken bot is not accepted."""
    with errors():
        context = context_of(folder)
        candidates = candidates_of(context, (str(bot),), game)
        chosen = CheckOptions(loaded=False, limits=limits, logs=None, unsafe=unsafe)
        tournament = tournament_here(context)
        result = check_bots(context, candidates, tournament, chosen, _run, time.monotonic())
    return CheckedBot(result.reports[0])


def _run(work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    return session().run(partial(work, *arguments))
