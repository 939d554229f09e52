"""`croupier.check`: checks that a bot builds, starts and answers correctly."""

import time
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

import msgspec

from croupier.functions import check_function
from croupier.playing import Bot
from croupier.session import errors, folder_of, limits_of, session
from host.ops.bots import find_bots
from host.ops.checking import CheckOptions, check_bots, find_candidates
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
        return [msgspec.structs.asdict(line) for line in self._report.lines]

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
    bot: Bot,
    *,
    game: str | None = None,
    limits: str | Mapping[str, str] | None = None,
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
) -> CheckedBot:
    """Check a bot as `croupier check` does. Raise Error if there is no such bot; a broken bot is not accepted.

    A function is only asked the edge cases of the game, which must be named: its answers must be legal moves there.
    """
    began, place = time.monotonic(), folder_of(folder)
    if callable(bot):
        with errors():
            known = find_bots(place, (), game).game
        return CheckedBot(session().run(partial(check_function, bot, known, began)))
    with errors():
        chosen = CheckOptions(limits=limits_of(limits), unsafe=unsafe)
        candidates = find_candidates(place, (str(bot),), game)
    result = session().run(partial(check_bots, place, candidates, chosen, began))
    return CheckedBot(result.reports[0])
