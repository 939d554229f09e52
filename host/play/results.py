"""Creates the record of a fixture from the tables that were played."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul

from host.bots.notes import merged
from host.bots.seat import Seat
from host.bots.values import Evidence, ModelCost, total_usage
from host.games.engine import Game
from host.play.lines import pack_lines
from host.play.match import PlayedTable
from host.play.records import Fixture, Record, Result, pack
from host.play.table_plans import TableSetup
from host.play.transcript import pack_transcript


def results_of(game: Game, played: Sequence[PlayedTable]) -> dict[str, Result]:
    """Return the result of each bot at the tables in `played`, by name of the bot."""
    scores: defaultdict[str, list[int]] = defaultdict(list)
    won: defaultdict[str, list[int]] = defaultdict(list)
    one_winner = True
    for table in played:
        winners = game.winners(table.scores) if game.winners else ()
        one_winner = one_winner and len(winners) < 2
        for seat, (bot, score) in enumerate(zip(table.table_setup.bots, table.scores, strict=True)):
            scores[bot].append(score)
            won[bot].append(seat in winners)
    together = all(len(own) == len(played) for own in scores.values())  # in a tourney bots change from table to table
    setups = [table.table_setup for table in played]
    mirrored = together and any(setup.luck and not setup.alone for setup in setups)
    deals = [setup.luck or setup.path for setup in setups] if mirrored else []
    wins_with = _products(won, deals) if deals or (together and not one_winner) else {}
    scores_with = _products(scores, deals) if together else {}
    return {
        bot: Result(
            tables=len(own),
            wins=sum(won[bot]),
            score=sum(own),
            low=min(own),
            high=max(own),
            final=own[-1],
            units=len({*deals}),
            wins_with=wins_with.get(bot, ()),
            scores_with=scores_with.get(bot, ()),
        )
        for bot, own in scores.items()
    }


def _products(results: Mapping[str, Sequence[int]], deals: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return, by bot, one sum for each bot in the order of `results`.

    The sum is the product of both bots' results in a unit, added over all units. `results` has the results of each bot,
    table by table. A unit is one table; or all tables of one deal, if `deals` has the deal of each table.
    """
    units = list(results.values())
    if deals:
        sums = [Counter[str]() for _ in units]
        for counts, own in zip(sums, units, strict=True):
            for deal, result in zip(deals, own, strict=True):
                counts[deal] += result
        units = [[counts[deal] for deal in dict.fromkeys(deals)] for counts in sums]
    # Scores are whole numbers of any size: their sums are exact, and the journal has numbers of 64 bits.
    return {
        bot: tuple(float(sum(map(mul, own, other))) for other in units) for bot, own in zip(results, units, strict=True)
    }


def recorded(game: Game, fixture: Fixture, played: Sequence[PlayedTable], seats: Mapping[str, Seat]) -> Record:
    """Return the record of a fixture, given its game, tables and seats. The seats of one bot are recorded together.

    The record has no costs of models (see `model_costs`).
    """
    own: defaultdict[str, list[Seat]] = defaultdict(list)
    for seat in seats.values():
        own[seat.bot.name].append(seat)
    faults = {name: sum((seat.faults for seat in some), Counter[str]()) for name, some in own.items()}
    return Record(
        path=fixture.path,
        results=results_of(game, played),
        faults={name: {str(kind): n for kind, n in kinds.items()} for name, kinds in faults.items() if kinds},
        usage={name: total_usage([seat.usage() for seat in some]) for name, some in own.items()},
        evidence=tuple(piece for some in own.values() for piece in _evidence(some)),
        scores=tuple(table.scores for table in played),
        answers=pack([table.answers for table in played], merged(seat.notes for seat in seats.values())),
        benched=tuple(name for name, some in own.items() if any(seat.benched for seat in some)),
        retries={name: count for name, some in own.items() if (count := sum(seat.retries for seat in some))},
        times=tuple(sorted(time for seat in seats.values() for time in seat.times)),
        banks=tuple(sorted(time for seat in seats.values() for time in seat.bank_times)),
        said=tuple((name, _stderr(some, played)) for name, some in own.items() if any(seat.stderr for seat in some)),
        seats=seats_of(fixture, (table.table_setup for table in played)),
        lines=pack_lines([table.line for table in played]),
        transcript=pack_transcript([table.transcript for table in played])
        if any(table.transcript for table in played)
        else b"",
    )


def seats_of(fixture: Fixture, setups: Iterable[TableSetup]) -> tuple[tuple[int, ...], ...]:
    """Return, for each table, the bots by seat, as indexes into the fixture's bots."""
    number = {bot: index for index, bot in enumerate(fixture.bots)}.__getitem__
    return tuple(tuple(map(number, setup.bots)) for setup in setups)


def model_costs(seats: Iterable[Seat]) -> dict[str, dict[str, ModelCost]]:
    """Return the usage and cost of each model in a fixture, by bot, then model. Models that were not used are left out."""
    costs: dict[str, dict[str, ModelCost]] = {}
    for seat in seats:
        for model, cost in seat.model_costs().items():
            own = costs.setdefault(seat.bot.name, {})
            own[model] = own.get(model, ModelCost()).plus(cost)
    return costs


def _evidence(some: Sequence[Seat]) -> Iterator[Evidence]:
    """Yield the evidence of a bot's seats: all faults, and the slowest decision last."""
    pieces = [piece for seat in some for piece in seat.all_evidence()]
    yield from (piece for piece in pieces if piece.kind != "slowest")
    slowest = [piece for piece in pieces if piece.kind == "slowest"]
    if slowest:
        yield max(slowest, key=lambda piece: piece.wall)


def _stderr(some: Sequence[Seat], played: Sequence[PlayedTable]) -> tuple[tuple[str, bytes], ...]:
    """Return the standard error of a bot's seats, in pieces.

    Each piece is a pair: the path of its table or of its question, such as `TABLE:3`, and the bytes.
    """
    return tuple(
        (played[at.table - 1].table_setup.path + (f":{at.number}" if at.number else ""), tail)
        for seat in some
        for at, tail in seat.stderr
    )
