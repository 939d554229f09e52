"""Disqualifies the bots with more faults in a stage than `[limits] max_faults`, from the records of the stage alone."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from host.base.format import counted, thousands
from host.play.records import Record


def rule(max_faults: int) -> str:
    """Return the rule as a sentence."""
    faults = counted(max_faults, "fault")
    return f"a bot with more than {faults} in a stage is disqualified: ranked last there, and not in the next stage"


def excess(faults: int, max_faults: int) -> str:
    """Return why a bot is disqualified."""
    return f"{thousands(faults)} faults, more than max_faults = {max_faults}"


def disqualified(records: Iterable[Record], max_faults: int) -> dict[str, int]:
    """Return the bots with more faults than that, with their faults; none if `max_faults` is 0."""
    faults = Counter[str]()
    if max_faults:
        for record in records:
            for bot, kinds in record.faults.items():
                faults[bot] += sum(kinds.values())
    return {bot: count for bot, count in faults.items() if count > max_faults}


def last(places: Sequence[str], out: Container[str]) -> list[str]:
    """Return the bots in the order of their places, the disqualified ones last."""
    return [bot for bot in places if bot not in out] + [bot for bot in places if bot in out]


def qualified(left: Sequence[str], places: Sequence[str], out: Container[str]) -> list[str]:
    """Return the bots of the next stage. The best other bots take the places of the disqualified ones.

    `left` are the bots that would play the next stage, `places` all bots of this stage, best first.
    """
    others = [bot for bot in places if bot not in left]
    return [bot for bot in (*left, *others) if bot not in out][: len(left)]
