"""Decides what a round of a season plays: a pure function of the versions and of the sums of all earlier rounds.

A round is planned in four steps, as long as it has tables left:

1. *Placement*: versions with fewer than FIRST_TABLES get their first tables at once.
2. *Floor*: part of the round goes to versions in their first YOUNG_ROUNDS, and then to those that have played least: at least
   LIFE_TABLES over a version's life, and a meeting a round as far as it goes.
3. *Contest*: the rest goes to candidates for the first places, and to neighbours whose order is not sure. A candidate is
   a version whose rating may be, at its upper bound, above the lower bound of the last of the first places. To spend on
   those that are first *now* would be sure and wrong: a version that was unlucky early would never be found.
4. *Spread*: in every fifth round the rest is spread evenly over all versions instead, and so is what a contest leaves over.

No version gets more than its cap, however uncertain its rating is. A round spends time: a table of a slow version counts as
many, and a version that costs more than its share gets fewer tables, or plays in some rounds only. A version whose last
fixtures ended in crashes gets one meeting a round, and none after a series of them, until its author acts. Versions of one
author never meet. Every meeting has a multiple of its seats in tables, so each version has every seat equally often.

Nothing depends on the order of the arguments or on the alphabet: where two versions are equal, a hash of the round's number
and of the label decides.
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
"""Tables that a version gets in its first round at once, and then in each of its first rounds, as far as a floor allows.

So a version that comes late has 150 tables after five rounds. With 60 its rating would be known to ± 85 Elo only."""

LIFE_TABLES = 60
"""Tables that every version gets, however it plays, before a floor gives the others more than a meeting."""

FLOOR_SHARE = 0.25
"""The part of a round, after the first tables of new versions, that goes to whoever has played least."""

SLOW_COST = 4.0
"""The cost of a table from which a version gets fewer tables than others. Less may be a busy machine."""

UNIFORM_EVERY = 5
"""Rounds of which one is spread evenly over the field."""

RESTS_AFTER = 3
"""Fixtures in a row that ended with a version benched, after which it is not paired any more."""

NEIGHBOUR_WEIGHT = 0.1
"""The weight of two neighbours in rank that are not both candidates."""

NEIGHBOURS = 2
"""Distance in rank up to which versions are neighbours."""

CANDIDATE_WEIGHT = 0.1
"""The weight of two candidates that hardly belong to the first places; of one that surely does, it is 1."""

MOST_COST = 1000.0
"""More than any cost of an opponent."""

DIGITS = 9
"""Of what a meeting is worth."""

GROUP = 16
"""Versions whose sandboxes a worker keeps while they meet those of another group (host/stages/pairing.py)."""

DISTANCE_ELO = 200
"""The distance of two versions at which a floor avoids a meeting as much as at an unlucky lot."""


class Player(NamedTuple):
    """A version that may play a round. `since` is the number of the first round that it may play."""

    label: str
    author: str
    since: int
    cost: float = 1.0  # how long a table takes with it, in the time of a version in the middle of the field


class RoundTerms(NamedTuple):
    """What a round may spend, in tables, and which places matter."""

    number: int  # of the round, from 1
    seats: int  # of a table
    tables: int  # of the whole round, if every version were as slow as one in the middle of the field
    places: int = 8  # the first places that the season has to find
    meeting: int = 10  # tables of a meeting, rounded up to a multiple of its seats
    fewest: int = 2  # seats of a table of the game at least, if too few authors take part

    @property
    def uniform(self) -> bool:
        """Whether the tables of the round are spread over the whole field."""
        return is_uniform(self.number)


class Meeting(NamedTuple):
    """Versions that play some tables with each other in a round, in every seat equally often."""

    labels: tuple[str, ...]
    tables: int


class Sums(NamedTuple):
    """The results of all earlier rounds.

    `orders` counts how often the versions of a table ended in each order, best first, in groups of equal versions, as
    host/rating/strength.py has them.
    """

    orders: Mapping[tuple[tuple[str, ...], ...], float]
    tables: Mapping[str, int]  # by label, over the life of the version
    crashes: Mapping[str, int]  # fixtures in a row that ended with the version benched, by label


def is_uniform(number: int) -> bool:
    """Return whether the round of a number spreads its tables over the whole field."""
    return number % UNIFORM_EVERY == 0


def next_round(players: Sequence[Player], sums: Sums, terms: RoundTerms) -> tuple[Meeting, ...]:
    """Return the meetings of a round; none if no two versions of different authors can meet."""
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
    """Return for each version whether it may belong to the first places, of which each author has one."""
    lower, best = elo - Z * errors, dict[str, float]()
    for author, bound in zip(authors, lower.tolist(), strict=True):
        best[author] = max(bound, best.get(author, bound))
    bounds = sorted(best.values(), reverse=True)
    if len(bounds) <= places:
        return np.ones(len(elo), bool)
    found: BoolArray = elo + Z * errors >= bounds[places - 1]
    return found


def _lot(number: int, text: str) -> int:
    """Return a number of 64 bits that a round draws for a label."""
    return int.from_bytes(hashlib.sha256(f"{number}/{text}".encode()).digest()[:8], "big")


def _mixed(one: Lots, other: Lots) -> FloatArray:
    """Return a number from 0 to 1 for each two lots, whatever their order (the finaliser of SplitMix64)."""
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
        self._nearness = 0.0  # what an Elo point of distance costs
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
        """Let versions that cost more than a share of the round play fewer tables.

        One whose share is less than a meeting plays the smallest meeting, and pauses in some rounds. Nobody pauses if too few
        authors would be left for a meeting: a round without a meeting is never played, and neither is any round after it.
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
        """Return how many tables every two players have shared in earlier rounds."""
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
        """Give new versions their first tables."""
        self._serve(np.maximum(FIRST_TABLES - self._life, 0), self._left)

    def serve_young(self) -> None:
        """Give part of the round to versions in their first rounds."""
        self._nearness, self._floor_end = 1 / DISTANCE_ELO, self._left - int(self._left * FLOOR_SHARE)
        rounds = self._terms.number - np.array([each.since for each in self._players]) + 1
        due = np.where(rounds <= YOUNG_ROUNDS, np.clip(FIRST_TABLES * rounds - self._life, 0, FIRST_TABLES), 0)
        self._serve(due, self._left - self._floor_end)
        self._nearness = 0.0

    def serve_floor(self) -> None:
        """Give what is left of that part to those that have played least."""
        self._nearness = 1 / DISTANCE_ELO
        due = np.maximum(np.minimum(LIFE_TABLES - self._life, FIRST_TABLES), self.size)
        self._serve(due, self._left - self._floor_end)
        self._nearness = 0.0

    def spread(self) -> None:
        """Spread what is left evenly over all versions."""
        self._serve(self._cap, self._left, first_by_round=1e6)

    def _serve(self, wanted: IntArray, tables: int, first_by_round: float = 1.0) -> None:
        """Give meetings to versions that have fewer tables in this round than wanted; first to those with the fewest.

        Tables of this round count `first_by_round` times as much as those of a version's life before it.
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
        """Return how little each version suits as an opponent of another: far, met already, or not in need of tables.

        A version that has a meeting more than others in this round suits less than any that have met before.
        """
        far = np.nan_to_num(np.abs(self._elo - self._elo[first])) * self._nearness
        often = 2.0 * self._pairs[first] / self.size + np.log1p(self._met[first])
        lot = _mixed(self._lots, np.full_like(self._lots, self._lots[first]))
        found: FloatArray = far + often + lot + 0.5 * ~open_ones + 10.0 * self._planned / self.size
        return found

    def _joined(self, group: list[int], cost: FloatArray) -> tuple[int, ...]:
        """Return a group with the cheapest others until a table is full; none if too few are allowed."""
        while len(group) < self._terms.seats:
            allowed = (self._planned + self._sizes <= self._cap) & ~np.isin(self._authors, self._authors[group])
            if not allowed.any():
                return ()
            group = [*group, int(np.argmin(np.where(allowed, cost, np.inf)))]
        return tuple(sorted(group))

    def _meet(self, group: tuple[int, ...]) -> None:
        """Plan a meeting."""
        members = np.array(group)
        size = int(self._sizes[members].min())
        self._found[group] = self._found.get(group, 0) + size
        # A meeting that takes longer than a share is rare enough to take no more than one on average of the rounds.
        self._left -= math.ceil(min(size * self._costs[members].mean(), max(size, self._share)))
        self._planned[members] += size
        self._pairs[np.ix_(members, members)] += size

    def contest(self) -> None:
        """Let candidates for the first places meet, and neighbours whose order is not sure: the least sure first."""
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
        """Return a pair of a contest with others at its table; none if one of them may not play any more."""
        one, other = able[pair[0]], able[pair[1]]
        if (self._planned[[one, other]] + self.size > self._cap[[one, other]]).any():
            return ()
        if self._terms.seats == 2:
            return tuple(sorted((one, other)))
        cost = self._cost(one, np.ones(len(self._players), bool))
        cost[able] -= MOST_COST * contest.worth(pair)
        return self._joined([one, other], cost)

    def meetings(self) -> tuple[Meeting, ...]:
        """Return the planned meetings, ordered so that those of the same versions follow each other.

        Those of slow versions come first: one that began last would be played on when the round is otherwise over.
        """

        def place(group: tuple[int, ...]) -> tuple[object, ...]:
            return self._costs[[*group]].max() < SLOW_COST, tuple(nth // GROUP for nth in group), group

        return tuple(
            Meeting(tuple(self._players[nth].label for nth in group), self._found[group])
            for group in sorted(self._found, key=place)
        )


class _ContestField:
    """How unsure the order of each two versions is, and how much it matters."""

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
        """Let pairs that have met often say less, if pairs have strengths of their own (host/season/rounds/fit.py)."""
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
        """Return for each two versions how much a number of tables would say about an order that matters."""
        said = self.variance * self.known * tables
        found: FloatArray = self.weight * _below(self.ahead, np.sqrt(self.variance)) * said / (1 + said)
        return found

    def add(self, one: int, other: int, tables: int) -> float:
        """Count tables of two versions that are planned; return what as many more would be worth."""
        variance, known = float(self.variance[one, other]), float(self.known[one, other])
        variance /= 1 + variance * known * tables
        self.variance[one, other] = self.variance[other, one] = variance
        said, ahead = variance * known * tables, self.ahead[one, other]
        return float(self.weight[one, other] * _below(ahead, np.sqrt(variance)) * said / (1 + said))


def _below(ahead: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the probability that a normal value is below 0, from its mean and deviation; within 0.01."""
    found: FloatArray = 1 / (1 + np.exp(np.minimum(1.702 * ahead / deviation, 500)))
    return found


class _Contest:
    """The pairs of a contest, the most worthwhile first. Its versions are numbered among themselves."""

    def __init__(self, field: _ContestField, lots: Lots, size: int, meetings: int) -> None:
        self._field, self._size = field, size
        worth = np.triu(field.worth(size).round(DIGITS), 1)
        self._worth = worth + worth.T
        one, other = np.nonzero(worth)
        # More pairs than this cannot be asked for, because a pair that meets often becomes less worthwhile.
        first = np.lexsort((_mixed(lots[one], lots[other]), -worth[one, other]))[: 4 * meetings + len(lots)]
        one, other = one[first], other[first]
        columns = (-worth[one, other], _mixed(lots[one], lots[other]), one, other)
        self._heap: list[tuple[float, float, int, int]] = [*zip(*(each.tolist() for each in columns), strict=True)]
        heapify(self._heap)

    def next(self) -> tuple[int, int] | None:
        """Return the most worthwhile pair; None if there is none left."""
        if not self._heap:
            return None
        self._now = heappop(self._heap)
        return self._now[2], self._now[3]

    def worth(self, pair: tuple[int, int]) -> FloatArray:
        """Return how worthwhile each version is as a third at the table of a pair."""
        found: FloatArray = self._worth[[*pair]].sum(axis=0)
        return found

    def met(self, group: Sequence[int], pair: tuple[int, int]) -> None:
        """Count a planned meeting; without a group, the pair of `next` cannot meet any more."""
        for nth, one in enumerate(group):
            for other in group[nth + 1 :]:
                worth = round(self._field.add(one, other, self._size), DIGITS)
                self._worth[one, other] = self._worth[other, one] = worth
        if group:
            heappush(self._heap, (-self._worth[pair], *self._now[1:]))
