"""Creates the record of a fixture from the tables that were played."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from host.bots.seat import Seat
from host.games import GAMES
from host.games.engine import Game
from host.play.match import PlayedTable
from host.play.records import Fixture, Record, Result, pack


def results_of(game: Game, played: Iterable[PlayedTable]) -> dict[str, Result]:
    """Return the result of each bot at some tables."""
    winners = game.winners
    results: dict[str, Result] = {}
    deals: dict[str, Counter[str]] = {}
    for table in played:
        won = winners(table.scores) if winners else ()
        for seat, bot in enumerate(table.sitting.bots):
            score, wins = table.scores[seat], int(seat in won)
            if wins and table.sitting.luck:
                deals.setdefault(bot, Counter())[table.sitting.luck] += 1
            before = results.get(bot)
            if before is None:
                results[bot] = Result(1, wins, score, score, score, score)
            else:
                results[bot] = Result(
                    tables=before.tables + 1,
                    wins=before.wins + wins,
                    score=before.score + score,
                    low=min(before.low, score),
                    high=max(before.high, score),
                    final=score,
                )
    for bot, counts in deals.items():
        results[bot] = results[bot]._replace(squares=sum(count * count for count in counts.values()))
    return results


def recorded(fixture: Fixture, played: Sequence[PlayedTable], seats: Mapping[str, Seat]) -> Record:
    """Return the record of a fixture, given its tables and seats."""
    return Record(
        path=fixture.path,
        results=results_of(GAMES[fixture.game], played),
        faults={name: {str(kind): n for kind, n in seat.faults.items()} for name, seat in seats.items() if seat.faults},
        usage={name: seat.usage() for name, seat in seats.items()},
        evidence=tuple(piece for seat in seats.values() for piece in seat.all_evidence()),
        scores=tuple(table.scores for table in played),
        answers=pack(table.answers for table in played),
        benched=tuple(name for name, seat in seats.items() if seat.benched),
        times=tuple(sorted(time for seat in seats.values() for time in seat.times)),
        said=tuple(
            (name, tuple((played[table - 1].sitting.path, said) for table, said in seat.stderr))
            for name, seat in seats.items()
            if seat.stderr
        ),
    )
