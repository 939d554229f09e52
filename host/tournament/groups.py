"""From any number of bots to five finalists: groups of three to five, the first two of each go on.

Source: the README of Banksalad Hold'em (random groups of five, two advance, repeated until five finalists). Where it is
silent: HE-GROUPS groups are as equal as possible; a stage that would leave fewer than five also takes the best third
places by chips · HE-TOP2 equals are ranked by a lot drawn from the seed · HE-FEWER2 is in the scores (games/holdem.py).
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from host.games.engine import Scores
from host.games.luck import Shuffler

FEWEST, MOST = 3, 5  # bots in a group
FINALISTS, ADVANCE = 5, 2


class Place(NamedTuple):
    """A bot where it came in its group, with its chips: a mean of several games, perhaps."""

    bot: str
    chips: float


def groups_of(entrants: int) -> tuple[int, ...]:
    """Return the sizes of as few and as equal groups as possible; raise ValueError below three.

    Six to ten entrants make two groups, and so five finalists; up to five are one group, which is the final.
    """
    if entrants < FEWEST:
        raise ValueError(f"{entrants} entrants: a group has {FEWEST} to {MOST} seats")
    groups = -(-entrants // MOST)
    size, larger = divmod(entrants, groups)
    return (size + 1,) * larger + (size,) * (groups - larger)


def drawn(bots: Sequence[str], luck: Shuffler) -> list[tuple[str, ...]]:
    """Return random groups of the bots."""
    order = luck.shuffled(bots)
    return [tuple(islice(order, size)) for size in groups_of(len(bots))]


def placing(scores: Scores, lot: Iterable[int]) -> list[int]:
    """Return the seats of a table, the best first, equals in the order of the lot (all seats, as drawn)."""
    return sorted(lot, key=scores.__getitem__, reverse=True)


def advancing(groups: Sequence[Sequence[Place]], lot: Sequence[str]) -> list[str]:
    """Return who goes on from several groups, each given best first: at least five.

    Third places go on by their chips, equals in the order of the lot (all bots, as drawn).
    """
    ahead = [place.bot for group in groups for place in group[:ADVANCE]]
    thirds = sorted((group[ADVANCE] for group in groups), key=lambda third: (-third.chips, lot.index(third.bot)))
    return ahead + [third.bot for third in thirds[: max(0, FINALISTS - len(ahead))]]
