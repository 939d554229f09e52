"""Pairs bots: pure functions from what has been played to what is played next."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

Pair = tuple[str, str]
Tie = tuple[str | None, str | None]
"""Two bots that meet in a round of a knockout; None is a bye."""


# Pairs: the Simple Pazaak league.


def round_robin(bots: Sequence[str]) -> list[Pair]:
    """Return every pair once, in the order of the list."""
    return list(combinations(bots, 2))


# The knockout of Pazaak: matches of sets, and a full placement bracket.


def set_winner(games: tuple[int, int], hands: tuple[int, int]) -> int | None:
    """Return which side won a set, 0 or 1: more games, else more hands; None if the set does not count (PZ-CUPTIE)."""
    one, two = (games[0], hands[0]), (games[1], hands[1])
    if one == two:
        return None
    return 0 if one > two else 1


def match_winner(set_winners: Sequence[str | None], first_to: int) -> str | None:
    """Return the bot that first won `first_to` sets; None if there is none yet. None is a set without a winner (PZ-CUPSETS)."""
    sets: dict[str, int] = {}
    for bot in set_winners:
        if bot is None:
            continue
        sets[bot] = sets.get(bot, 0) + 1
        if sets[bot] == first_to:
            return bot
    return None


def padded(ranked: Sequence[str]) -> list[str | None]:
    """Return the places of a bracket, filled with byes at the end up to a power of two."""
    size = 1 << max(len(ranked) - 1, 0).bit_length()
    return [*ranked, *(None,) * (size - len(ranked))]


def ties(group: Sequence[str | None]) -> list[Tie]:
    """Return the ties of a group: i against i + n/2 (PZ-CUPSEED)."""
    half = len(group) // 2
    return list(zip(group[:half], group[half:], strict=True))


class Cup(NamedTuple):
    """The state of a knockout: the matches due, and all places; None is a place that is still open."""

    due: list[Pair]
    places: list[str | None]


def knockout(ranked: Sequence[str], winner: Callable[[Pair], str | None]) -> Cup:
    """Return what a full placement bracket plays next. `winner` returns the winner of a match, None if it is open.

    Winners meet winners and losers meet losers until every place is decided; a bye always loses.
    """
    state = placement(padded(ranked), winner)
    return Cup(state.due, state.places[: len(ranked)])


def tie_count(bots: int) -> int:
    """Return the number of ties in a full placement bracket of this many bots, without byes."""

    def count(bots: int, size: int) -> int:
        half = size // 2
        ties = max(bots - half, 0)
        return ties + count(bots - ties, half) + count(ties, half) if bots > 1 else 0

    return count(bots, len(padded([""] * bots)))


def placement(group: Sequence[str | None], winner: Callable[[Pair], str | None]) -> Cup:
    """Return the matches due in a group that plays for its places, and the places decided so far."""
    if len(group) == 1:
        return Cup([], list(group))
    due: list[Pair] = []
    winners: list[str | None] = []
    losers: list[str | None] = []
    for one, two in ties(group):
        first = one if two is None else two if one is None else winner((one, two))
        if one is not None and two is not None and first is None:
            due.append((one, two))
        winners.append(first)
        losers.append(two if first == one else one)
    if due:
        return Cup(due, [None] * len(group))
    above, below = placement(winners, winner), placement(losers, winner)
    return Cup(above.due + below.due, above.places + below.places)
