"""Pairs the bots of one round of a Swiss system: bots with similar scores, without rematches as long as possible.

The rules, as docs/formats.md promises them:

SW-ONCE      every bot plays one opponent in a round; of an odd number, one bot has a bye
SW-BYE       no bot has a second bye before all have had one; the bye goes to the last such bot whose absence allows a
             round without rematches
SW-REMATCH   a round has as few rematches as possible for the bots that play it
SW-SCORES    no two pairs can exchange opponents, without a rematch, such that the squared differences of scores decrease
SW-FOLD      bots with equal scores are paired first half against second half, as far as the other rules allow

A round without rematches is a perfect matching of the bots that have not met. Pairs within score groups are a first
matching; augmenting paths complete it (Edmonds, "Paths, trees, and flowers", 1965).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import floor, log2
from typing import NamedTuple

from host.stages.pairing import Pair

MAX_BYES_TRIED = 16

SeedPair = tuple[int, int]
"""Two bots, by their seeds."""


class SwissRound(NamedTuple):
    """The pairs of a round, each with its better bot first, and the bot that has a bye."""

    pairs: list[Pair]
    bye: str | None


class SwissState(NamedTuple):
    """The results so far that decide the next pairs, by bot: scores, numbers of meetings by opponent, numbers of byes.

    `scores` has all bots, best seed first. Scores are twice the points, so that they are whole numbers: a win is 2, a
    draw 1, a bye 2.
    """

    scores: Mapping[str, int]
    met: Mapping[str, Mapping[str, int]]
    byes: Mapping[str, int]


def automatic_rounds(bots: int) -> int:
    """Return the number of rounds that separates the first bot from the others: log2 of the bots, rounded down, plus 2.

    A small field has fewer rounds. In this number of rounds no rematch is ever needed: before the last one, each bot
    has met so few others that every two bots that have not met have enough common choices (Dirac, "Some theorems on
    abstract graphs", 1952).
    """
    even = bots + bots % 2
    return min(floor(log2(bots)) + 2, even - 1 if even <= 4 else even // 2)


def pair_round(state: SwissState) -> SwissRound:
    """Return the pairs of the next round, and the bot with a bye."""
    seeds = list(state.scores)
    order = sorted(range(len(seeds)), key=lambda bot: (-state.scores[seeds[bot]], bot))
    number = {bot: nth for nth, bot in enumerate(seeds)}
    field = _Field(
        [state.scores[bot] for bot in seeds], [{number[other] for other in state.met.get(bot, {})} for bot in seeds]
    )
    if len(seeds) % 2:
        order, bye, pairs = _with_bye(field, order, [state.byes.get(bot, 0) for bot in seeds])
    else:
        bye, pairs = None, field.pairs(order)
    rank = {bot: place for place, bot in enumerate(order)}
    named = sorted((tuple(sorted(pair, key=rank.__getitem__)) for pair in pairs), key=lambda pair: rank[pair[0]])
    return SwissRound([(seeds[one], seeds[other]) for one, other in named], None if bye is None else seeds[bye])


def _with_bye(field: "_Field", order: Sequence[int], byes: Sequence[int]) -> tuple[list[int], int, list[SeedPair]]:
    """Return the bots that play, in the given order, then the bot that has a bye, and the pairs (SW-BYE)."""
    fewest = min(byes)
    candidates = [bot for bot in reversed(order) if byes[bot] == fewest]
    found = list[tuple[int, int, list[int], int, list[SeedPair]]]()
    for bye in candidates[:MAX_BYES_TRIED]:
        rest = [bot for bot in order if bot != bye]
        pairs = field.pairs(rest)
        rematches = sum(other in field.met[one] for one, other in pairs)
        if not rematches:
            return rest, bye, pairs
        found.append((rematches, len(found), rest, bye, pairs))
    _, _, rest, bye, pairs = min(found)
    return rest, bye, pairs


class _Field:
    """The bots by number: their scores, and the bots that each has met."""

    def __init__(self, scores: Sequence[int], met: Sequence[set[int]]) -> None:
        self.scores, self.met = scores, met

    def pairs(self, order: Sequence[int]) -> list[SeedPair]:
        """Return the pairs of an even number of bots, given best first."""
        mate = self._by_groups(order)
        matching = _Matching(order, self.met, mate)
        for bot in order:
            if bot not in mate:
                matching.augment(bot)
        left = [bot for bot in order if bot not in mate]
        while left:  # they have all met each other
            mate[left[0]], mate[left[-1]] = left[-1], left[0]
            left = left[1:-1]
        self._exchange(order, mate)
        return [(bot, mate[bot]) for bot in order if bot < mate[bot]]

    def _by_groups(self, order: Sequence[int]) -> dict[int, int]:
        """Return the opponent of each bot that can be paired within a group of equal scores, by bot.

        A bot without an opponent moves down to the next group.
        """
        mate: dict[int, int] = {}
        down: list[int] = []
        for _, group in groupby(order, key=self.scores.__getitem__):
            members = list(group)
            for bot in down:  # it meets the best bot of this group that it has not met
                self._join(mate, bot, members)
            down = [bot for bot in down if bot not in mate]
            members = [bot for bot in members if bot not in mate]
            half = len(members) // 2
            for place, bot in enumerate(members):
                if bot not in mate:
                    at = max(half + place, place + 1) if place < half else place + 1
                    self._join(mate, bot, [*members[at:], *reversed(members[place + 1 : at])])
            down += [bot for bot in members if bot not in mate]
        return mate

    def _join(self, mate: dict[int, int], bot: int, others: Sequence[int]) -> None:
        for other in others:
            if other not in mate and other not in self.met[bot]:
                mate[bot], mate[other] = other, bot
                return

    def _exchange(self, order: Sequence[int], mate: dict[int, int]) -> None:
        """Exchange opponents as long as this reduces the differences of scores without a new rematch (SW-SCORES)."""
        changed = True
        while changed:
            changed = False
            for one in order:
                if self.scores[one] > self.scores[mate[one]] and (better := self._better(one, order, mate)):
                    (first, second), ours = better, mate[one]
                    mate[one], mate[first] = first, one
                    mate[ours], mate[second] = second, ours
                    changed = True

    def _better(self, one: int, order: Sequence[int], mate: Mapping[int, int]) -> tuple[int, int] | None:
        """Return a pair that should exchange opponents with `one` and the opponent of `one`; None if there is none.

        The first bot of the pair should meet `one`, the second the present opponent of `one`.
        """
        ours = mate[one]
        for first in order:
            second = mate[first]
            if first in (one, ours) or first in self.met[one] or second in self.met[ours]:
                continue
            if self._gap(one, first) + self._gap(ours, second) < self._gap(one, ours) + self._gap(first, second):
                return first, second
        return None

    def _gap(self, one: int, other: int) -> int:
        return (self.scores[one] - self.scores[other]) ** 2


class _Matching:
    """A matching of bots that have not met. It grows along augmenting paths, and contracts odd cycles (blossoms)."""

    def __init__(self, order: Sequence[int], met: Sequence[set[int]], mate: dict[int, int]) -> None:
        self.order, self.met, self.mate = order, met, mate

    def augment(self, root: int) -> None:
        """Match the bot `root`, by an augmenting path to another bot without a mate. Match nothing if there is no such path."""
        self.parent: dict[int, int] = {}
        self.base = {bot: bot for bot in self.order}
        reached, queue = {root}, [root]
        for bot in queue:
            for other in self.order:
                if other == bot or other in self.met[bot] or self.base[bot] == self.base[other]:
                    continue
                if self.mate.get(bot) == other:
                    continue
                if other == root or (other in self.mate and self.mate[other] in self.parent):
                    self._contract(bot, other, reached, queue)
                elif other not in self.parent:
                    self.parent[other] = bot
                    if other not in self.mate:
                        self._flip(other)
                        return
                    reached.add(self.mate[other])
                    queue.append(self.mate[other])

    def _flip(self, end: int) -> None:
        bot: int | None = end
        while bot is not None:
            before = self.parent[bot]
            following = self.mate.get(before)
            self.mate[bot], self.mate[before] = before, bot
            bot = following

    def _contract(self, one: int, other: int, reached: set[int], queue: list[int]) -> None:
        """Contract the odd cycle that an edge between two reached bots closes (a blossom of Edmonds' algorithm) to one vertex."""
        top = self._common(one, other)
        circle: set[int] = set()
        self._mark(one, top, other, circle)
        self._mark(other, top, one, circle)
        for bot in self.order:
            if self.base[bot] in circle:
                self.base[bot] = top
                if bot not in reached:
                    reached.add(bot)
                    queue.append(bot)

    def _mark(self, bot: int, top: int, child: int, circle: set[int]) -> None:
        while self.base[bot] != top:
            circle.update((self.base[bot], self.base[self.mate[bot]]))
            self.parent[bot] = child
            child = self.mate[bot]
            bot = self.parent[child]

    def _common(self, one: int, other: int) -> int:
        """Return the base in which the paths of two bots to the root meet."""
        above = set(self._bases(one))
        return next(base for base in self._bases(other) if base in above)

    def _bases(self, bot: int) -> Iterator[int]:
        while True:
            yield self.base[bot]
            if self.base[bot] not in self.mate or self.mate[self.base[bot]] not in self.parent:
                return
            bot = self.parent[self.mate[self.base[bot]]]
