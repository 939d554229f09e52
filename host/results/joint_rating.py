"""Rates bots over several tournaments: one strength in Elo for each name, in which each game has the same weight.

The model is that of Bradley and Terry, and of Plackett and Luce for tables of more bots (host/rating/strength.py). A result
is a table; where the units of a stage are tourneys or games of a group, it is one of these. All games count as many results
as the one with the fewest: each result of a game with k times as many counts 1/k. No weight is above 1, so the intervals
never follow from more than what was played: they are at most too wide.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

from host.base.format import counted, thousands
from host.base.safe_text import one_line
from host.rating.rankings import Estimate, elo_of
from host.rating.strength import Ratings, TableOrder, ratings
from host.rating.units import evidence, orders
from host.results.course import Position
from host.results.standings import comparisons
from host.stages import as_counted_by, results_of

MAX_NAMED = 5  # bots or pairs in one sentence


@dataclass
class Orders:
    """How often the bots of a game ended in each order, and the same as evidence (host/rating/units.py)."""

    orders: Counter[TableOrder] = field(default_factory=Counter)
    evidence: Counter[TableOrder] = field(default_factory=Counter)

    @property
    def total(self) -> float:
        """How many results the orders are of."""
        return math.fsum(self.orders.values())


class Tournament(NamedTuple):
    """What a rating takes from one tournament."""

    place: str  # as it was named
    name: str
    game: str
    finished: bool
    programs: Mapping[str, str]  # the SHA-256 of each bot
    tables: Mapping[str, int]  # of each bot
    without_winners: Sequence[str]  # stages whose tables of two bots nobody wins
    orders: Orders


class RatedBot(NamedTuple):
    """A bot in a rating; `elo` is in points above the mean of all bots, with its 95 % interval."""

    rank: int  # from 1
    bot: str
    elo: Estimate
    tables: int
    games: Sequence[str]


def taken_from(place: str, positions: Sequence[Position]) -> Tournament:
    """Return what a rating takes from a tournament: the tables that count in its standings, of all stages and all bots."""
    run, found, tables = positions[0].tournament.run, Orders(), Counter[str]()
    without_winners = []
    for position in positions:
        records = as_counted_by(position.config, position.recorded)
        results = results_of(position.config, records, position.tournament.bots, position.shown_bots)
        tables.update({bot: sums.tables for bot, sums in results.sums.items()})
        pairs = [record for record in results.records if len(record.results) == 2]
        if pairs and not any(result.wins for record in pairs for result in record.results.values()):
            without_winners.append(position.state.name)
            continue
        found.orders.update(orders(results))
        found.evidence.update(evidence(results))
    programs = {name: bot.sha256 for name, bot in positions[0].tournament.bots.items()}
    return Tournament(place, run.name, run.game, run.finished, programs, tables, without_winners, found)


@dataclass(frozen=True)
class JointRating:
    """One rating of all bots of some tournaments."""

    tournaments: Sequence[Tournament]

    @cached_property
    def games(self) -> Mapping[str, Orders]:
        """The orders of each game."""
        found: dict[str, Orders] = {}
        for each in self.tournaments:
            of_game = found.setdefault(each.game, Orders())
            of_game.orders.update(each.orders.orders)
            of_game.evidence.update(each.orders.evidence)
        return {game: orders for game, orders in found.items() if orders.total}

    @cached_property
    def counted_as(self) -> float:
        """How many results each game counts as: those of the game with the fewest."""
        return min((each.total for each in self.games.values()), default=0.0)

    def weight(self, game: str) -> float:
        """Return how much a result of a game counts (0 to 1)."""
        return self.counted_as / self.games[game].total

    def _weighted(self, name: str) -> dict[TableOrder, float]:
        found = defaultdict[TableOrder, float](float)
        for game, of_game in sorted(self.games.items()):
            for order, times in getattr(of_game, name).items():
                found[order] += times * self.weight(game)
        return found

    @cached_property
    def ratings(self) -> Ratings:
        """The strengths of all bots."""
        return ratings(self._weighted("orders"), self._weighted("evidence"))

    @cached_property
    def rows(self) -> list[RatedBot]:
        """All bots, best first."""
        points = {bot: elo.points for bot, elo in self.ratings.elo.items()}
        return [
            RatedBot(
                rank=1 + sum(other > points[bot] for other in points.values()),
                bot=bot,
                elo=elo_of(self.ratings, bot),
                tables=sum(each.tables.get(bot, 0) for each in self.tournaments),
                games=[game for game, of_game in self.games.items() if bot in _bots(of_game.orders)],
            )
            for bot in sorted(points, key=lambda bot: (-points[bot], bot))
        ]

    @cached_property
    def groups(self) -> list[list[str]]:
        """Bots that a chain of tables connects, each group best first; one group if all are connected."""
        left, found = [row.bot for row in self.rows], list[list[str]]()
        tables = [{*chain.from_iterable(order)} for order in self._weighted("orders")]
        while left:
            group, grows = {left[0]}, True
            while grows:
                reached = group.union(*(bots for bots in tables if bots & group))
                group, grows = reached, len(reached) > len(group)
            found.append([bot for bot in left if bot in group])
            left = [bot for bot in left if bot not in group]
        return found

    @cached_property
    def sure(self) -> list[str]:
        """Sentences about how sure the order is, within each group."""
        return [each for group in self.groups for each in comparisons(group, self.ratings.sure_ahead)]

    @cached_property
    def missing(self) -> list[str]:
        """Sentences about what the rating does not know."""
        return [*self._of_tournaments(), *self._of_bots()]

    def _of_tournaments(self) -> Iterator[str]:
        for each in self.tournaments:
            if not each.finished:
                yield f"{one_line(each.place)} is not finished: it counts as far as it has been played"
            for stage in each.without_winners:
                yield f"{one_line(each.place)}, stage {stage}: nobody wins its tables of two bots, so they do not count"

    def _of_bots(self) -> Iterator[str]:
        if len(self.groups) > 1:
            named = " | ".join(_named(group) for group in self.groups)
            yield f"no tables connect these bots, so nothing compares those of one group with those of another: {named}"
        for game in self.games:
            if without := [row.bot for row in self.rows if game not in row.games]:
                yield f"without tables of {game}: {_named(without)}"
        pairs = len(self.rows) * (len(self.rows) - 1) // 2
        met = {pair for order in self._weighted("orders") for pair in combinations(sorted(chain(*order)), 2)}
        if len(met) < pairs:
            yield f"{thousands(len(met))} of {counted(pairs, 'pair')} have met at a table"
        other = [row.bot for row in self.rows if len(set(self._programs(row.bot))) > 1]
        if other:
            yield f"another program in another tournament, rated as one bot: {_named(other)}"

    def _programs(self, bot: str) -> list[str]:
        return [each.programs[bot] for each in self.tournaments if bot in each.programs]


def _bots(of: Iterable[TableOrder]) -> set[str]:
    return {bot for order in of for equal in order for bot in equal}


def _named(bots: Collection[str]) -> str:
    """Return the names of some bots, or of the first ones and how many more there are."""
    names = [one_line(bot) for bot in bots]
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
