"""Pairs bots: pure functions that return the next pairs, or the winners, from the results so far."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from host.play.records import BOTS_AT_ONCE, Record

Pair = tuple[str, str]
PairOrBye = tuple[str | None, str | None]
"""Two bots that meet in a round of a knockout; None is a bye."""


UNDECIDED = ""
"""Stands for the winner of a set that has no result, because its game has failed."""


# Pairs: the Simple Pazaak league.


def round_robin(bots: Sequence[str]) -> Iterator[Pair]:
    """Yield every pair once. In a pair, the bot that is earlier in `bots` comes first.

    The order gives early standings about equally many results of every bot. A worker keeps the sandboxes of
    BOTS_AT_ONCE bots. Up to that many bots meet in rounds in which each bot plays once. More bots are divided into
    groups. The groups meet in such rounds, and while two groups meet, each bot of one plays each bot of the other: n²
    pairs need 2 n sandboxes. Before its first meeting with another group, a group plays its own pairs.
    """
    number = -(-len(bots) // (BOTS_AT_ONCE // 2)) if len(bots) > BOTS_AT_ONCE else 1
    ends = [len(bots) * nth // number for nth in range(number + 1)]
    groups = [bots[start:end] for start, end in pairwise(ends)]
    if number == 1:
        yield from ((bots[one], bots[other]) for one, other in _circle(len(bots)))
    new = {*range(number)}
    for meeting in _circle(number):
        for each in (each for each in meeting if each in new):
            yield from ((groups[each][one], groups[each][other]) for one, other in _circle(len(groups[each])))
        new -= {*meeting}
        few, many = sorted((groups[each] for each in meeting), key=len)
        for turn in range(len(many)):
            for nth, bot in enumerate(few):
                pair = bot, many[(nth + turn) % len(many)]
                yield pair if few is groups[meeting[0]] else (pair[1], pair[0])


def _circle(count: int) -> Iterator[tuple[int, int]]:
    """Yield every pair of the numbers below `count`, in rounds that have each number once. The smaller number is first.

    The circle method: the number at the first place stays, and the others move on by one place from round to round.
    """
    places = [*range(count), *(None,) * (count % 2)]
    half = len(places) // 2
    for _ in places[1:]:
        for one, other in zip(places[:half], reversed(places[half:]), strict=True):
            if one is not None and other is not None:
                yield min(one, other), max(one, other)
        places.insert(1, places.pop())


# The knockout of Pazaak: matches of sets, and a full placement bracket.


Won = tuple[int | float, int | float]
"""The games that each of two bots has won."""


def set_result(bots: Pair, played: Sequence[Record]) -> tuple[Won, tuple[int, int]]:
    """Return the games won by two bots in a set, and their scores: the arguments of `set_winner`.

    Both are in the order of `bots`. `played` has the records of the whole set, all with a result.
    """
    ours, theirs = ([record.results[bot] for record in played] for bot in bots)
    games = sum(each.wins for each in ours), sum(each.wins for each in theirs)
    return games, (sum(each.score for each in ours), sum(each.score for each in theirs))


def set_winner(games: Won, scores: tuple[int, int]) -> int | None:
    """Return the index (0 or 1) of the bot that won a set: more games won, or with equal games the higher score.

    Return None if both are equal. Then the set does not count (PZ-CUPTIE).
    """
    one, two = (games[0], scores[0]), (games[1], scores[1])
    if one == two:
        return None
    return 0 if one > two else 1


def match_winner(set_winners: Sequence[str | None], first_to: int) -> str | None:
    """Return the bot that first won `first_to` sets; None if there is none yet.

    A set without a winner (PZ-CUPSETS) is None, and one without a result is UNDECIDED.
    """
    sets: dict[str, int] = {}
    for bot in set_winners:
        if not bot:
            continue
        sets[bot] = sets.get(bot, 0) + 1
        if sets[bot] == first_to:
            return bot
    return None


def padded(ranked: Sequence[str]) -> list[str | None]:
    """Return the places of a bracket: the ranked bots, then byes (None) up to a power of two (PZ-CUPSEED)."""
    size = 1 << max(len(ranked) - 1, 0).bit_length()
    return [*ranked, *(None,) * (size - len(ranked))]


def best_with_byes(ranked: Sequence[str]) -> list[str | None]:
    """Return the places of a bracket, a power of two, in an order in which the best bots meet the byes (None)."""
    size = len(padded(ranked))
    return [*ranked[: size // 2], *(None,) * (size - len(ranked)), *ranked[size // 2 :]]


def better_seed(pair: Pair, order: Sequence[str]) -> str:
    """Return the bot of a pair that comes first in `order`; the first bot of the pair if `order` has neither."""
    return next((bot for bot in order if bot in pair), pair[0])


def ties(group: Sequence[str | None]) -> list[PairOrBye]:
    """Return the ties of a group of n places: place i against place i + n/2 (PZ-CUPSEED)."""
    half = len(group) // 2
    return list(zip(group[:half], group[half:], strict=True))


def open_ties(group: Sequence[str | None]) -> list[Pair]:
    """Return the ties of a group that must be played: those without a bye."""
    return [(one, two) for one, two in ties(group) if one is not None and two is not None]


def halves(
    group: Sequence[str | None], winner: Callable[[Pair], str | None]
) -> tuple[list[str | None], list[str | None]]:
    """Return the winners and the losers of a group, in the order of its ties; a bye always loses.

    `winner` returns the winner of a tie between two bots.
    """
    winners: list[str | None] = []
    losers: list[str | None] = []
    for one, two in ties(group):
        first = one if two is None else two if one is None else winner((one, two))
        winners.append(first)
        losers.append(two if first == one else one)
    return winners, losers
