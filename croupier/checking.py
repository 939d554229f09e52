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
    """The verdict of `croupier check` about a bot. It is true (`bool`) if the bot is accepted.

    `str()` returns the text that the command prints. `bot` is the name of the bot, `accepted` whether it is accepted,
    `seconds` the time of the check.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self.bot: str = report.bot
        self.accepted: bool = report.accepted
        self.plays: bool = report.playable
        """Whether the bot builds and starts. If so, it can play although it may not be accepted."""
        self.seconds: float = report.seconds

    @property
    def problems(self) -> list[dict[str, str]]:
        """Return the problems, each with the keys `code`, `where`, `message`, `evidence`, `hint` and `log`."""
        return [problem._asdict() for problem in self._report.problems]

    @property
    def findings(self) -> list[dict[str, str]]:
        """Return the lines of the report, each with the keys `mark` (✓, ! or ✗), `what`, `words` and `cure`."""
        return [msgspec.structs.asdict(line) for line in self._report.lines]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary with the keys of a row of `croupier check --json`."""
        return self._report.json()

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return "\n".join(self._report.text())

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
    """Check a bot as `croupier check` does, and return the verdict. A broken bot raises nothing: it is not accepted.

    The arguments are those of `croupier.play`. A function is asked only the edge cases of the game. It must give an
    answer that the game knows to each of them; an illegal move is only a note (!) in `findings`. For a function, `game`
    must be given unless `folder` has a tournament, and `limits` and `unsafe` have no effect.

    Raise Error if there is no such bot, game or folder, or where the command prints another error. Raise
    KeyboardInterrupt at ^C, and RuntimeError if a function at a table calls it.
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
