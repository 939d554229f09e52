"""Decides which meetings a round of a season plays: a pure function of the versions and of the sums of earlier rounds.

A round is planned in four steps, as long as it has tables left:

1. *Placement*: a version with fewer than FIRST_TABLES tables gets the missing ones in this round.
2. *Floor*: a part of the round (FLOOR_SHARE) goes to versions in their first YOUNG_ROUNDS rounds, and then to the
   versions that have played least: LIFE_TABLES over the life of each, and one meeting per round while this part lasts.
3. *Contest*: the remaining tables go to candidates for the first places, and to neighbours whose order is uncertain. A
   candidate is a version whose upper bound of the rating is above the lower bound of the last version on the first
   places. It would be wrong to spend tables only on versions that are first *now*: a good version that was unlucky
   early would never be found.
4. *Spread*: the tables that the contest leaves over are spread evenly over all versions. In every fifth round, a
   *uniform* round, there is no contest, and only versions in their first rounds get tables from the floor.

No version begins another meeting when it has as many tables as its cap, even if its rating is very uncertain. The
budget of a round is a time: a table of a slow version counts as several tables. A version whose cost is at least
SLOW_COST gets fewer tables, or plays only in some rounds. A version that crashed in its last fixture gets one meeting
per round. After RESTS_AFTER such fixtures in a row it gets none, until its author acts. Versions of one author never
meet. The tables of a meeting are a multiple of its seats, so each version has every seat equally often.

Nothing depends on the order of the arguments or on the alphabet: if two versions are equal, a hash of the round's
number and of the label decides.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.rating.statistics import ELO, Z
from host.rating.strength_of_many import FloatArray
from host.season.rounds.fit import BoolArray, Fit, IntArray, fitted

Lots = NDArray[np.uint64]

FIRST_TABLES, YOUNG_ROUNDS = 30, 5
"""The number of tables that a version gets in its first round, and the number of its first rounds in which the floor
gives it tables, until it has this number for each of its rounds so far.

So a version that comes late has 150 tables after five rounds. With 60 tables its rating would be known only to ± 85
Elo."""

LIFE_TABLES = 60
"""A version with fewer tables over its life gets up to FIRST_TABLES tables from the floor in a round.

A version with this number of tables, or more, gets one meeting."""

FLOOR_SHARE = 0.25
"""The share (0 to 1) of a round, after its placement, for new versions and for the versions that have played least."""

SLOW_COST = 4.0
"""A version whose tables cost at least this gets fewer tables than others.

A cost between 1 and this may be an error of measurement on a busy machine."""

UNIFORM_EVERY = 5
"""One round in this many is uniform: its tables are spread evenly over the field."""

RESTS_AFTER = 3
"""A version that crashed in this number of fixtures in a row gets no meetings, and is off the ladder, until its author acts."""

NEIGHBOUR_WEIGHT = 0.1
"""The weight of a pair of neighbours in rank that are not both candidates."""

NEIGHBOURS = 2
"""The greatest difference in rank at which versions are neighbours."""

CANDIDATE_WEIGHT = 0.1
"""The weight of a pair of candidates that hardly belong to the first places; it is 1 if one of them surely does."""

MOST_COST = 1000.0
"""A cost that is greater than the cost of any opponent (`_cost`)."""

DIGITS = 9
"""Decimal places of the worth of a meeting."""

GROUP = 16
"""The number of versions whose sandboxes a worker keeps while they meet another such group (host/stages/pairing.py)."""

DISTANCE_ELO = 200
"""The distance of two ratings, in Elo, that adds as much to the cost of an opponent in the floor as the highest lot."""


class Player(NamedTuple):
    """A version that may play a round. `since` is the number of the first round that it may play."""

    label: str
    author: str
    since: int
    cost: float = 1.0  # how long a table takes with it, in the time of a version in the middle of the field


class RoundTerms(NamedTuple):
    """The terms of a round: its budget in tables, the sizes of tables and meetings, and the places that matter."""

    number: int  # of the round, from 1
    seats: int  # of a table
    tables: int  # of the whole round, if every version were as slow as one in the middle of the field
    places: int = 8  # the number of first places that the season has to find
    meeting: int = 10  # tables of a meeting, rounded up to a multiple of its seats
    fewest: int = 2  # the fewest seats of a table that the game allows, for rounds in which few authors take part

    @property
    def uniform(self) -> bool:
        """Return whether the tables of the round are spread evenly over the whole field."""
        return is_uniform(self.number)


class Meeting(NamedTuple):
    """Versions that play some tables with each other in a round. Each version has every seat equally often."""

    labels: tuple[str, ...]
    tables: int


class Sums(NamedTuple):
    """The results of all earlier rounds.

    `orders` counts how often tables ended in each order. An order has the versions of a table, best first, in groups of
    equal versions (host/rating/strength.py).
    """

    orders: Mapping[tuple[tuple[str, ...], ...], float]
    tables: Mapping[str, int]  # by label, over the life of the version
    crashes: Mapping[str, int]  # the last fixtures in a row in which the version crashed, by label


def is_uniform(number: int) -> bool:
    """Return whether the round with this number spreads its tables evenly over the whole field."""
    return number % UNIFORM_EVERY == 0


def next_round(players: Sequence[Player], sums: Sums, terms: RoundTerms) -> tuple[Meeting, ...]:
    """Return the meetings of a round in the order in which they are played.

    Return an empty tuple if too few authors can play, or if the round has fewer tables than a table has seats.
    """
    able = [each for each in players if each.since <= terms.number and sums.crashes.get(each.label, 0) < RESTS_AFTER]
    seats = min(terms.seats, len({each.author for each in able}))
    if seats < max(2, terms.fewest) or terms.tables < seats:
        return ()
    plan = _Plan(able, sums, terms._replace(seats=seats))
    plan.place()
    plan.serve_young()
    if not terms.uniform:
        plan.serve_floor()
        plan.contest()
    plan.spread()
    return plan.meetings()


def candidates(elo: FloatArray, errors: FloatArray, authors: Sequence[str], places: int) -> BoolArray:
    """Return an array with one element for each version: whether the version may belong to the first `places` ranks.

    `elo`, `errors` and `authors` have one element for each version, too. Each author can have only one of these ranks.
    """
    lower, best = elo - Z * errors, dict[str, float]()
    for author, bound in zip(authors, lower.tolist(), strict=True):
        best[author] = max(bound, best.get(author, bound))
    bounds = sorted(best.values(), reverse=True)
    if len(bounds) <= places:
        return np.ones(len(elo), bool)
    found: BoolArray = elo + Z * errors >= bounds[places - 1]
    return found


def _lot(number: int, text: str) -> int:
    """Return the lot of a label in a round: 64 bits of a hash of the round's number and the label."""
    return int.from_bytes(hashlib.sha256(f"{number}/{text}".encode()).digest()[:8], "big")


def _mixed(one: Lots, other: Lots) -> FloatArray:
    """Return a pseudo-random number from 0 to 1 for each pair of lots (the finaliser of SplitMix64).

    The number is the same if `one` and `other` are exchanged.
    """
    mixed = (one + other) ^ ((one ^ other) * np.uint64(0x9E3779B97F4A7C15))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    found: FloatArray = (mixed ^ (mixed >> np.uint64(31))) / 2.0**64
    return found


class _Plan:
    """A round that is being planned. Versions are numbered in the order of their lots."""

    def __init__(self, players: Sequence[Player], sums: Sums, terms: RoundTerms) -> None:
        self._terms, lots = terms, {each.label: _lot(terms.number, each.label) for each in players}
        self._players = sorted(players, key=lambda each: (lots[each.label], each.label))
        self._lots = np.array([lots[each.label] for each in self._players], np.uint64)
        self._lots_of_life = [_lot(0, each.label) % 1_000_003 for each in self._players]
        authors = {author: nth for nth, author in enumerate(sorted({each.author for each in players}))}
        self._authors = np.array([authors[each.author] for each in self._players])
        self._life = np.array([sums.tables.get(each.label, 0) for each in self._players])
        self._fit = fitted(sums.orders)
        self._row = np.array([self._fit.number.get(each.label, -1) for each in self._players])
        self._elo = np.append(self._fit.elo, np.nan)[self._row]  # nan: not rated yet
        self._nearness = 0.0  # the cost of one Elo point of distance
        self._planned = np.zeros(len(players), np.int64)
        self._pairs = np.zeros((len(players), len(players)), np.int64)  # tables that two share in this round
        self._found: dict[tuple[int, ...], int] = {}
        self._left = terms.tables
        self.size = terms.seats * max(1, min(-(-terms.meeting // terms.seats), terms.tables // terms.seats))
        mean, share = terms.tables * terms.seats / len(players), terms.tables * terms.seats / (2 * terms.places)
        crashed = np.array([sums.crashes.get(each.label, 0) > 0 for each in self._players])
        self._costs = np.array([each.cost for each in self._players])
        self._sizes = np.full(len(players), self.size)  # tables of a meeting of each version
        self._cap = np.where(crashed, self.size, int(max(2 * self.size, 2 * mean, share)))
        self._share = mean
        self._limit_slow()
        self._met = self._met_before(sums)

    def _limit_slow(self) -> None:
        """Give slow versions (SLOW_COST) a lower cap: the tables for which an equal share of the round's time suffices.

        The cap of a slow version is at most one meeting of the usual size.

        If the share does not suffice for the smallest meeting, the version plays the smallest meeting and pauses in
        some rounds. No version pauses if too few authors would be left for a meeting: the season would wait for ever,
        because a round without a meeting is never played, nor is any round after it.
        """
        seats, pausing = self._terms.seats, np.zeros(len(self._players), bool)
        for nth in np.nonzero(self._costs >= SLOW_COST)[0]:
            tables = self._share / self._costs[nth]
            pause = math.ceil(seats / tables)
            pausing[nth] = tables < seats and (self._terms.number + int(self._lots_of_life[nth])) % pause
            self._sizes[nth] = min(self.size, max(seats, int(tables) // seats * seats))
            self._cap[nth] = min(self._cap[nth], self._sizes[nth])
        if len({*self._authors[~pausing].tolist()}) >= seats:
            self._cap[pausing] = 0

    def _met_before(self, sums: Sums) -> FloatArray:
        """Return the number of tables that each two players have shared in earlier rounds, as a symmetric matrix."""
        number = {each.label: nth for nth, each in enumerate(self._players)}
        found = np.zeros((len(number), len(number)))
        for order, times in sums.orders.items():
            seen = [number[label] for equal in order for label in equal if label in number]
            for nth, one in enumerate(seen):
                for other in seen[nth + 1 :]:
                    found[one, other] += times
                    found[other, one] += times
        return found

    # The steps.

    def place(self) -> None:
        """Give versions with fewer than FIRST_TABLES tables the missing ones."""
        self._serve(np.maximum(FIRST_TABLES - self._life, 0), self._left)

    def serve_young(self) -> None:
        """Give a part of the round (FLOOR_SHARE) to versions in their first YOUNG_ROUNDS rounds.

        A version gets the tables that it lacks of FIRST_TABLES for each of its rounds, but at most FIRST_TABLES.
        """
        self._nearness, self._floor_end = 1 / DISTANCE_ELO, self._left - int(self._left * FLOOR_SHARE)
        rounds = self._terms.number - np.array([each.since for each in self._players]) + 1
        due = np.where(rounds <= YOUNG_ROUNDS, np.clip(FIRST_TABLES * rounds - self._life, 0, FIRST_TABLES), 0)
        self._serve(due, self._left - self._floor_end)
        self._nearness = 0.0

    def serve_floor(self) -> None:
        """Give the tables of the floor that `serve_young` has left over to the versions that have played least."""
        self._nearness = 1 / DISTANCE_ELO
        due = np.maximum(np.minimum(LIFE_TABLES - self._life, FIRST_TABLES), self.size)
        self._serve(due, self._left - self._floor_end)
        self._nearness = 0.0

    def spread(self) -> None:
        """Spread the remaining tables of the round evenly over all versions."""
        self._serve(self._cap, self._left, first_by_round=1e6)

    def _serve(self, wanted: IntArray, tables: int, first_by_round: float = 1.0) -> None:
        """Plan meetings for versions that have fewer tables in this round than `wanted`, until `tables` are spent.

        The version with the fewest tables comes first. In this comparison a table of this round counts `first_by_round`
        times as much as a table of an earlier round.
        """
        end = self._left - tables
        stuck = np.zeros(len(self._players), bool)
        while self._left - self.size >= end:
            open_ones = (self._planned < np.minimum(wanted, self._cap)) & ~stuck
            if not open_ones.any():
                return
            fewest = self._planned * first_by_round + self._life
            first = int(np.argmin(np.where(open_ones, fewest, np.inf)))
            group = self._joined([first], self._cost(first, open_ones))
            if group:
                self._meet(group)
            else:
                stuck[first] = True

    def _cost(self, first: int, open_ones: BoolArray) -> FloatArray:
        """Return the cost of each version as an opponent of the version `first`; the lowest cost is best.

        The cost rises with the distance of the two ratings, with the number of tables that the two versions have
        shared, and most with the number of tables that the version already has in this round. It is higher by 0.5 if
        the version needs no tables (False in `open_ones`). A pseudo-random lot decides between equal costs.
        """
        far = np.nan_to_num(np.abs(self._elo - self._elo[first])) * self._nearness
        often = 2.0 * self._pairs[first] / self.size + np.log1p(self._met[first])
        lot = _mixed(self._lots, np.full_like(self._lots, self._lots[first]))
        found: FloatArray = far + often + lot + 0.5 * ~open_ones + 10.0 * self._planned / self.size
        return found

    def _joined(self, group: list[int], cost: FloatArray) -> tuple[int, ...]:
        """Return the versions of a full table, in ascending order: `group`, and others with the lowest `cost`.

        Return an empty tuple if too few other versions may play with the group.
        """
        while len(group) < self._terms.seats:
            allowed = (self._planned + self._sizes <= self._cap) & ~np.isin(self._authors, self._authors[group])
            if not allowed.any():
                return ()
            group = [*group, int(np.argmin(np.where(allowed, cost, np.inf)))]
        return tuple(sorted(group))

    def _meet(self, group: tuple[int, ...]) -> None:
        """Plan a meeting of a group of versions, and subtract its cost from the tables that are left."""
        members = np.array(group)
        size = int(self._sizes[members].min())
        self._found[group] = self._found.get(group, 0) + size
        # A version whose meeting takes longer than a share pauses in other rounds: on average it takes a share a round.
        self._left -= math.ceil(min(size * self._costs[members].mean(), max(size, self._share)))
        self._planned[members] += size
        self._pairs[np.ix_(members, members)] += size

    def contest(self) -> None:
        """Plan meetings of candidates for the first places, and of neighbours in rank whose order is uncertain.

        The pair whose tables say most about an important order comes first.
        """
        able = [nth for nth, row in enumerate(self._row) if row >= 0 and self._cap[nth] > self.size]
        able = [nth for nth in able if self._life[nth] >= min(FIRST_TABLES, self.size)]
        if len(able) < 2:
            return
        met = self._met[np.ix_(able, able)] + self._pairs[np.ix_(able, able)]
        field = _ContestField(self._fit, self._row[able], self._authors[able], self._terms.places)
        field.repeat(met, self.size)
        contest = _Contest(field, self._lots[able], self.size, self._left // self.size)
        while self._left >= self.size and (pair := contest.next()) is not None:
            group = self._with_others(able, pair, contest)
            if group:
                self._meet(group)
            contest.met([able.index(nth) for nth in group if nth in able], pair)

    def _with_others(self, able: Sequence[int], pair: tuple[int, int], contest: "_Contest") -> tuple[int, ...]:
        """Return the versions of a table at which a pair of the contest meets, in ascending order.

        Return an empty tuple if the pair, or too few other versions, may play. `pair` has positions in `able`.
        """
        one, other = able[pair[0]], able[pair[1]]
        if (self._planned[[one, other]] + self.size > self._cap[[one, other]]).any():
            return ()
        if self._terms.seats == 2:
            return tuple(sorted((one, other)))
        cost = self._cost(one, np.ones(len(self._players), bool))
        cost[able] -= MOST_COST * contest.worth(pair)
        return self._joined([one, other], cost)

    def meetings(self) -> tuple[Meeting, ...]:
        """Return the planned meetings in the order in which they are played.

        Meetings of the same groups of GROUP versions follow each other, because workers keep the sandboxes of these
        versions. Meetings of slow versions come first: if one began last, the round would wait for it alone.
        """

        def place(group: tuple[int, ...]) -> tuple[object, ...]:
            return self._costs[[*group]].max() < SLOW_COST, tuple(nth // GROUP for nth in group), group

        return tuple(
            Meeting(tuple(self._players[nth].label for nth in group), self._found[group])
            for group in sorted(self._found, key=place)
        )


class _ContestField:
    """Matrices with a value for each two versions: the uncertainty of their order, and its importance."""

    def __init__(self, fit: Fit, rows: IntArray, authors: IntArray, places: int) -> None:
        elo, errors = fit.elo[rows], fit.errors[rows]
        covariance = fit.covariance[np.ix_(rows, rows)]
        own = covariance.diagonal()
        self.variance = np.maximum(own[:, None] + own[None, :] - 2 * covariance, 1e-9)
        self.ahead = np.abs(elo[:, None] - elo[None, :])
        even = 1 / (1 + np.exp(-self.ahead / ELO))
        self.known = even * (1 - even) / ELO**2  # information of a table, in 1 / Elo²
        self.spread = fit.residuals.spread
        self.weight = self._weights(elo, errors, authors, places)

    def repeat(self, met: FloatArray, tables: int) -> None:
        """Lower the information of pairs that have met often, if pairs have their own strengths (fit.py).

        `met` is the number of tables that each two versions have shared; `tables` is the number of tables of a meeting.
        """
        own = self.known * self.spread**2
        self.known = self.known / ((1 + met * own) * (1 + (met + tables) * own))

    def _weights(self, elo: FloatArray, errors: FloatArray, authors: IntArray, places: int) -> FloatArray:
        may = candidates(elo, errors, authors.tolist(), places)
        best = np.sort(elo)[::-1]
        cut = best[: places + 1][-2:].mean()
        belongs = 1 - _below(elo - cut, np.maximum(errors, 1e-6))
        both = np.maximum(belongs[:, None], belongs[None, :])
        weight = np.where(may[:, None] & may[None, :], CANDIDATE_WEIGHT + (1 - CANDIDATE_WEIGHT) * both, 0.0)
        rank = np.empty(len(elo), int)
        rank[np.argsort(-elo, kind="stable")] = np.arange(len(elo))
        close = np.abs(rank[:, None] - rank[None, :]) <= NEIGHBOURS
        weight = np.maximum(weight, np.where(close, NEIGHBOUR_WEIGHT, 0.0))
        found: FloatArray = np.where(authors[:, None] == authors[None, :], 0.0, weight)
        return found

    def worth(self, tables: int) -> FloatArray:
        """Return a matrix with the worth of `tables` tables between each two versions: what they say about the order.

        The worth is higher if the order of the two versions is important (`weight`) and uncertain.
        """
        said = self.variance * self.known * tables
        found: FloatArray = self.weight * _below(self.ahead, np.sqrt(self.variance)) * said / (1 + said)
        return found

    def add(self, one: int, other: int, tables: int) -> float:
        """Record that `tables` more tables of two versions are planned. Return the worth of as many further tables."""
        variance, known = float(self.variance[one, other]), float(self.known[one, other])
        variance /= 1 + variance * known * tables
        self.variance[one, other] = self.variance[other, one] = variance
        said, ahead = variance * known * tables, self.ahead[one, other]
        return float(self.weight[one, other] * _below(ahead, np.sqrt(variance)) * said / (1 + said))


def _below(ahead: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the probability that a normal variable is below 0, with an error of at most 0.01.

    `ahead` is the mean of the variable, and `deviation` is its standard deviation.
    """
    found: FloatArray = 1 / (1 + np.exp(np.minimum(1.702 * ahead / deviation, 500)))
    return found


class _Contest:
    """The pairs of a contest, the most worthwhile pair first. Only the versions of the contest are numbered, from 0."""

    def __init__(self, field: _ContestField, lots: Lots, size: int, meetings: int) -> None:
        self._field, self._size = field, size
        worth = np.triu(field.worth(size).round(DIGITS), 1)
        self._worth = worth + worth.T
        one, other = np.nonzero(worth)
        # The contest never asks for more pairs than these, because a pair that meets often becomes less worthwhile.
        first = np.lexsort((_mixed(lots[one], lots[other]), -worth[one, other]))[: 4 * meetings + len(lots)]
        one, other = one[first], other[first]
        columns = (-worth[one, other], _mixed(lots[one], lots[other]), one, other)
        self._heap: list[tuple[float, float, int, int]] = [*zip(*(each.tolist() for each in columns), strict=True)]
        heapify(self._heap)

    def next(self) -> tuple[int, int] | None:
        """Remove the most worthwhile pair from the queue, and return its two versions; None if no pair is left."""
        if not self._heap:
            return None
        self._now = heappop(self._heap)
        return self._now[2], self._now[3]

    def worth(self, pair: tuple[int, int]) -> FloatArray:
        """Return the worth of each version as a further player at the table of `pair`, in the order of the numbers.

        It is the sum of the worths of a meeting with each version of the pair.
        """
        found: FloatArray = self._worth[[*pair]].sum(axis=0)
        return found

    def met(self, group: Sequence[int], pair: tuple[int, int]) -> None:
        """Count a planned meeting of `group`. `pair` is the pair that `next` returned last.

        The pair goes back into the queue with its new worth. If the group is empty, the pair cannot meet in this round,
        and does not go back.
        """
        for nth, one in enumerate(group):
            for other in group[nth + 1 :]:
                worth = round(self._field.add(one, other, self._size), DIGITS)
                self._worth[one, other] = self._worth[other, one] = worth
        if group:
            heappush(self._heap, (-self._worth[pair], *self._now[1:]))
