"""Finds the bots that time out more often than they answer, while a stage is played."""

from collections import Counter
from collections.abc import Iterator

from host.base.format import thousands
from host.base.safe_text import escape_control_chars
from host.play.records import Record
from protocols.wire import FaultKind


class LateBots:
    """Counts the questions and timeouts of each bot in the newest stage."""

    def __init__(self) -> None:
        self._stage, self._warned = "", set[str]()
        self._asked, self._late = Counter[str](), Counter[str]()

    def add(self, stage: str, record: Record) -> None:
        """Count one finished fixture; a new stage starts again."""
        if stage != self._stage:
            self._stage, self._warned = stage, set()
            self._asked, self._late = Counter(), Counter()
        for bot, usage in record.usage.items():
            self._asked[bot] += usage.questions
            kinds = record.faults.get(bot)  # most bots have none, and the hash of an enum's member takes long
            self._late[bot] += kinds.get(FaultKind.TIMEOUT, 0) if kinds else 0

    def warnings(self) -> dict[str, str]:
        """Return a sentence about each bot with more timeouts than other answers, by its name."""
        return {
            bot: f"{escape_control_chars(bot)} times out more often than it answers in {self._stage}: "
            f"{thousands(late)} of {thousands(self._asked[bot])} questions"
            for bot, late in self._late.items()
            if 2 * late > self._asked[bot]
        }

    def new_warnings(self) -> Iterator[str]:
        """Yield the same sentences, but only the first about each bot in a stage."""
        for bot, sentence in self.warnings().items():
            if bot not in self._warned:
                self._warned.add(bot)
                yield sentence
