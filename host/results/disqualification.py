"""Disqualifies the bots with more faults in a stage than `[limits] max_faults`, from the records of the stage alone."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from host.base.format import counted, thousands
from host.play.records import Record


def rule(max_faults: int) -> str:
    """Return a sentence that states the rule: which bots are disqualified, and the consequences."""
    faults = counted(max_faults, "fault")
    return f"a bot with more than {faults} in a stage is disqualified: ranked last there, and not in the next stage"


def excess(faults: int, max_faults: int) -> str:
    """Return why a bot with this number of faults is disqualified."""
    return f"{thousands(faults)} faults, more than max_faults = {max_faults}"


def disqualified(records: Iterable[Record], max_faults: int) -> dict[str, int]:
    """Return the number of faults of each bot with more than `max_faults`, by bot. Empty if `max_faults` is 0."""
    faults = Counter[str]()
    if max_faults:
        for record in records:
            for bot, kinds in record.faults.items():
                faults[bot] += sum(kinds.values())
    return {bot: count for bot, count in faults.items() if count > max_faults}


def last(places: Sequence[str], out: Container[str]) -> list[str]:
    """Return the bots in the order of their places, but the bots in `out` (disqualified or withdrawn) last."""
    return [bot for bot in places if bot not in out] + [bot for bot in places if bot in out]


def qualified(left: Sequence[str], places: Sequence[str], out: Container[str]) -> list[str]:
    """Return the bots of the next stage. The best other bots replace the bots in `out` (disqualified or withdrawn).

    `left` are the bots that would play the next stage, `places` all bots of this stage; both best first.
    """
    others = [bot for bot in places if bot not in left]
    return [bot for bot in (*left, *others) if bot not in out][: len(left)]
