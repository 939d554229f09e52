"""Finds the bots that time out more often than they answer, while a stage is played."""

from collections.abc import Iterator, Mapping

from host.base.format import thousands
from host.base.safe_text import escape_control_chars
from host.play.records import Record
from protocols.wire import FaultKind

TIMEOUT = str(FaultKind.TIMEOUT)  # the hash of an enum's member takes long


def count_late(record: Record, asked: dict[str, int], late: dict[str, int]) -> None:
    """Add each bot's questions in a fixture to `asked` and its timeouts to `late`, both by bot name."""
    for bot, usage in record.usage.items():
        asked[bot] = asked.get(bot, 0) + usage.questions
        kinds = record.faults.get(bot)  # most bots have none
        late[bot] = late.get(bot, 0) + (kinds.get(TIMEOUT, 0) if kinds else 0)


def late_warnings(stage: str, asked: Mapping[str, int], late: Mapping[str, int]) -> dict[str, str]:
    """Return a warning for each bot that has more timeouts than other answers, by bot name."""
    return {
        bot: f"{escape_control_chars(bot)} times out more often than it answers in {stage}: "
        f"{thousands(times)} of {thousands(asked.get(bot, 0))} questions"
        for bot, times in late.items()
        if 2 * times > asked.get(bot, 0)
    }


class LateBots:
    """Counters of each bot's questions and timeouts in the newest stage."""

    def __init__(self) -> None:
        self._stage, self._warned = "", set[str]()
        self._asked, self._late = dict[str, int](), dict[str, int]()

    def add(self, stage: str, record: Record) -> None:
        """Count one finished fixture. The counters restart at 0 when the stage changes."""
        if stage != self._stage:
            self._stage, self._warned = stage, set()
            self._asked, self._late = {}, {}
        count_late(record, self._asked, self._late)

    def new_warnings(self) -> Iterator[str]:
        """Yield a warning for each bot that has more timeouts than other answers, once per bot and stage."""
        for bot, sentence in late_warnings(self._stage, self._asked, self._late).items():
            if bot not in self._warned:
                self._warned.add(bot)
                yield sentence
