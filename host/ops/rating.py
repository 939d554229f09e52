"""Rates bots over several tournaments: one strength for each name, in which each game has the same weight.

Bots that no chain of tables connects are rated in separate groups, because no result compares them. Within a group, a
table has the weight w = (all tables) / (games · tables of its game). So the sum of all weights is the number of tables.
"""

import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from math import comb, fsum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from host.base.errors import Problem, UserError, nothing_played, wrong_usage
from host.base.format import counted, plural, thousands
from host.base.grouping import grouped
from host.base.safe_text import one_line
from host.ops.journals import open_journal
from host.play.records import Record
from host.rating.rankings import RANKINGS, Estimate, elo_of
from host.rating.results import Fact
from host.rating.strength import TableOrder, weighted_ratings
from host.rating.units import evidence, orders
from host.report.listings import Listing
from host.report.terminal import Column, Part, Sentences, Table, shortened
from host.results.course import Position, positions_of
from host.results.standings import comparisons, ranked_bots
from host.stages import as_counted_by, results_of

MAX_NAMED = 5  # bots or pairs in one sentence
Key = TypeVar("Key", bound=Hashable)

COLUMNS = ("group", "rank", "bot", "elo", "elo_low", "elo_high", "tables", "games")


@dataclass(frozen=True)
class _Tournament:
    """Data of one tournament that a rating uses.

    `orders` has the number of tables in which the bots ended in an order, by order. `noise` has the variances of these
    numbers, by order, in tables. `missing` has sentences about results that do not count.
    """

    folder: Path
    name: str
    game: str
    status: str
    seed: str  # its SHA-256
    hashes: Mapping[str, str]  # of the bots
    orders: dict[TableOrder, float] = field(default_factory=dict)
    noise: dict[TableOrder, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def tables(self) -> float:
        """Return the number of tables with an order. A tourney, which ranks its bots once, counts as one table."""
        return sum(self.orders.values())

    @property
    def bots(self) -> set[str]:
        """Return the bots of all tables with an order."""
        return {bot for order in self.orders for bot in _bots_of(order)}

    def json(self) -> dict[str, Any]:
        """Return the values for JSON output, by key."""
        known = {"folder": str(self.folder), "run": self.name, "game": self.game, "state": self.status}
        return {**known, "tables": round(self.tables)}


class _Row(NamedTuple):
    """A bot of the rating. Groups and ranks within a group are counted from 1."""

    group: int
    rank: int
    bot: str
    elo: Estimate
    tables: int
    games: int

    def cells(self) -> dict[str, Any]:
        """Return the values of the row, by the keys of JSON and CSV."""
        return dict(zip(COLUMNS, (*self[:3], *self.elo, *self[4:]), strict=True))


def rate(folders: Sequence[Path]) -> Listing:
    """Return the rating of all bots of these tournaments. Raise UserError if no two bots have met."""
    twice = [folder for folder, times in Counter(each.resolve() for each in folders).items() if times > 1]
    if twice:
        raise wrong_usage(f"{twice[0]} is named twice, and its tables would count twice: name it once")
    read = [_read(folder) for folder in folders]
    orders = {order for each in read for order in each.orders}
    groups = _groups(orders)
    if not groups:
        reasons = "; ".join(chain.from_iterable(each.missing for each in read))
        message = "no table that counts has two bots, and strengths follow from bots that met"
        hint = "croupier run in a tournament of two bots or more"
        raise UserError([Problem("R006", ", ".join(map(str, folders)), message, reasons, hint)], 3)
    rated = [_rated(number, bots, read) for number, bots in enumerate(groups, 1)]
    rows, sure = [row for each in rated for row in each.rows], [line for each in rated for line in each.sure]
    missing = [
        *chain.from_iterable(each.missing for each in read),
        *chain.from_iterable(each.missing for each in rated),
        *_unconnected(groups),
        *_pairs_missing(orders, groups),
        *_games_missing(read),
        *_seeds(read),
        *_bytes(read),
    ]
    listed = [game for each in rated for game in each.games]
    facts = {
        "tournaments": [each.json() for each in read],
        "games": listed,
        "rows": [row.cells() for row in rows],
        "sure": sure,
        "missing": missing,
    }
    text = partial(_text, listed, rows, sure, missing)
    return Listing("rating", facts, COLUMNS, [row.cells() for row in rows], text)


class _Rated(NamedTuple):
    """The rating of a group of bots that a chain of tables connects: its games with their weights, and its rows."""

    games: Sequence[Mapping[str, Any]]
    rows: Sequence[_Row]
    sure: Sequence[str]
    missing: Sequence[str]


def _rated(number: int, bots: Sequence[str], read: Sequence[_Tournament]) -> _Rated:
    """Return the rating of one group of connected bots, from the tables among these bots alone."""
    tables = _sums((each.game, fsum(_among(bots, each.orders).values())) for each in read)
    played = {game: round(of_game) for game, of_game in tables.items() if of_game}
    weights = {game: sum(played.values()) / len(played) / of_game for game, of_game in played.items()}
    orders = _sums(
        (order, weights[each.game] * times) for each in read for order, times in _among(bots, each.orders).items()
    )
    noise = _sums(
        (order, weights[each.game] ** 2 * times) for each in read for order, times in _among(bots, each.noise).items()
    )
    rated = weighted_ratings(orders, noise)
    elo, points = elo_of(rated), {bot: rated.elo[bot].points for bot in bots}
    best_first = sorted(bots, key=lambda bot: (-elo[bot].merit, -points[bot], bot))
    merits = [(elo[bot].merit, points[bot]) for bot in best_first]
    rows = [
        _Row(
            group=number,
            rank=merits.index(merit) + 1,  # equal bots share a rank
            bot=bot,
            elo=elo[bot],
            tables=round(
                fsum(times for each in read for order, times in each.orders.items() if bot in _bots_of(order))
            ),
            games=len({each.game for each in read if bot in each.bots}),
        )
        for bot, merit in zip(best_first, merits, strict=True)
    ]
    prior = (
        f"{_some(best_first)}: a part of these bots has never finished behind or level with the rest, so their "
        "strengths count one drawn table more of each bot with a bot of average strength"
    )
    games = [
        {
            "group": number,
            "game": game,
            "tournaments": sum(each.game == game and not each.bots.isdisjoint(bots) for each in read),
            "tables": of_game,
            "weight": weights[game],
        }
        for game, of_game in played.items()
    ]
    return _Rated(games, rows, comparisons(best_first, rated.sure_ahead), [prior] if rated.prior else [])


def _read(folder: Path) -> _Tournament:
    """Return the data of a folder's tournament that a rating uses. Raise UserError if it has not been played."""
    journal = folder / "run" / "run.sqlite"
    if not journal.exists():
        if not (folder / "croupier.toml").exists():
            message = "is not the folder of a tournament: it has no croupier.toml and no run/run.sqlite"
            hint = "name the folders in which croupier run has played"
            raise UserError([Problem("C011", str(folder), message, hint=hint)], 3)
        raise nothing_played(folder, hint=f"croupier -C {shlex.quote(str(folder))} run")
    with open_journal(folder, journal) as book:
        run, bots = book.state(), book.bots()
        hashes = {name: bot.sha256 for name, bot in bots.items() if bot.sha256}
        found = _Tournament(folder, run.name, run.game, run.status, run.seed_sha256, hashes)
        title = f"{one_line(run.name)} ({one_line(str(folder))})"
        for position in positions_of(book):
            _add(found, position, f"stage {position.state.name} of {title}")
    if not run.finished:
        found.missing.append(f"{title} is {run.status}: only its finished fixtures count")
    return found


def _add(found: _Tournament, position: Position, title: str) -> None:
    """Add the tables of a stage to `found`, or the reason why they do not count."""
    stage, run = position.config, position.tournament.run
    if undecided := sum(record.undecided is not None for record in position.recorded):
        found.missing.append(f"{title} has {counted(undecided, 'fixture')} without a result")
    counting = as_counted_by(stage, position.counted)
    if not counting:
        return
    if Fact.MEETINGS not in position.kind.provides:
        found.missing.append(f"{title} does not count: bots do not play each other in the kind {stage.kind}")
    elif _only_scores(counting):
        found.missing.append(f"{title} does not count: its tables of two have scores and no winner")
    else:
        results = results_of(stage, counting, ranked_bots(run, stage, position.tournament.bots))
        worth = evidence(results)
        for order, times in orders(results).items():
            if times:
                found.orders[order] = found.orders.get(order, 0.0) + times
                found.noise[order] = found.noise.get(order, 0.0) + times**2 / worth[order]


def _only_scores(records: Iterable[Record]) -> bool:
    """Return whether bots at tables of two have different scores, although no such table has a winner."""
    of_two = [tuple(record.results.values()) for record in records if len(record.results) == 2]
    return not any(one.wins or other.wins for one, other in of_two) and any(
        one.score != other.score for one, other in of_two
    )


def _bots_of(order: TableOrder) -> list[str]:
    return sorted(chain.from_iterable(order))


def _groups(found: Iterable[TableOrder]) -> list[list[str]]:
    """Return the groups of bots that a chain of tables connects, the largest group first."""
    of_bot: dict[str, set[str]] = {}
    for order in found:
        joined = {*_bots_of(order)}.union(*(of_bot.get(bot, ()) for bot in _bots_of(order)))
        of_bot |= dict.fromkeys(joined, joined)
    distinct = {id(group): sorted(group) for group in of_bot.values()}
    return sorted(distinct.values(), key=lambda group: (-len(group), group))


def _among(bots: Iterable[str], found: Mapping[TableOrder, float]) -> dict[TableOrder, float]:
    inside = {*bots}
    return {order: times for order, times in found.items() if inside.issuperset(_bots_of(order))}


def _sums(amounts: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Return the sum of the amounts, by key."""
    return {key: fsum(several) for key, several in grouped(amounts).items()}


# What is missing.


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(one_line, names[:MAX_NAMED])) + more


def _unconnected(groups: Sequence[Sequence[str]]) -> Iterator[str]:
    if len(groups) > 1:
        parts = " | ".join(map(_some, groups[:MAX_NAMED])) + (" | …" if len(groups) > MAX_NAMED else "")
        yield (
            f"no table connects these {len(groups)} groups of bots: {parts}; each group is measured from its own mean, so "
            "strengths of different groups cannot be compared"
        )


def _pairs_missing(found: Iterable[TableOrder], groups: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a sentence about the pairs of bots in one group that have never met, if there are any."""
    met = {pair for order in found for pair in combinations(_bots_of(order), 2)}
    due = sum(comb(len(group), 2) for group in groups)
    if len(met) < due:
        never = (pair for group in groups for pair in combinations(group, 2) if pair not in met)
        named = [f"{one} and {other}" for (one, other), _ in zip(never, range(MAX_NAMED), strict=False)]
        more = f" and {thousands(due - len(met) - len(named))} more" if due - len(met) > len(named) else ""
        pairs = f"{thousands(due - len(met))} of {thousands(due)} pairs never met"
        yield f"{pairs}: {one_line(', '.join(named))}{more}; their results against others compare them"


def _games_missing(read: Sequence[_Tournament]) -> Iterator[str]:
    played = {each.game for each in read if each.orders}
    games = {bot: {*of} for bot, of in grouped((bot, each.game) for each in read for bot in each.bots).items()}
    some = [f"{bot} ({', '.join(sorted(of))})" for bot, of in sorted(games.items()) if len(of) < len(played)]
    if some:
        yield f"{counted(len(some), 'bot')} played in some of the {len(played)} games only: {_some(some)}"


def _seeds(read: Sequence[_Tournament]) -> Iterator[str]:
    """Yield a sentence for each set of tournaments of one game that have the same seed."""
    for folders in grouped(((each.game, each.seed), str(each.folder)) for each in read).values():
        if len(folders) > 1:
            yield f"{_some(folders)} have one seed: tables with equal chance count as independent, so intervals are too narrow"


def _bytes(read: Sequence[_Tournament]) -> Iterator[str]:
    """Yield a sentence about the bots whose bytes differ between tournaments, if there are any."""
    found = grouped((bot, sha256) for each in read for bot, sha256 in each.hashes.items())
    if different := sorted(bot for bot, hashes in found.items() if len({*hashes}) > 1):
        yield f"a name is one bot here, but its bytes differ between tournaments (sha256): {_some(different)}"


def _text(
    games: Sequence[Mapping[str, Any]], rows: Sequence[_Row], sure: Sequence[str], missing: Sequence[str]
) -> Iterator[Part]:
    """Yield the text of a rating: weights of the games, rows, certainty of the order, and missing results."""
    several = rows[-1].group > 1
    for each in games:
        number = counted(each["tournaments"], "tournament")
        tables = f"{thousands(each['tables'])} {plural(each['tables'], 'table')}"
        group = f"group {each['group']} · " if several else ""
        yield f"{group}{one_line(each['game'])} · {number} · {tables} · a table counts {each['weight']:.2f}"
    ranking = RANKINGS["elo"]
    yield Table(
        [
            *([Column("group", [str(row.group) for row in rows])] if several else []),
            Column("#", [str(row.rank) for row in rows]),
            Column("bot", [shortened(row.bot) for row in rows], right=False),
            Column(ranking.title, [ranking.spelled(row.elo) for row in rows]),
            Column("±", [ranking.half_width(row.elo) for row in rows]),
            Column("tables", [thousands(row.tables) for row in rows]),
            Column("games", [f"{row.games} of {len({each['game'] for each in games})}" for row in rows]),
        ]
    )
    yield Sentences(sure)
    yield from (f"missing: {each}" for each in missing)
