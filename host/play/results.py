"""Creates the record of a fixture from the tables that were played."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from host.bots.seat import Seat
from host.games import GAMES
from host.games.engine import Game
from host.play.match import PlayedTable
from host.play.records import Fixture, Record, Result, pack


def results_of(game: Game, played: Iterable[PlayedTable]) -> dict[str, Result]:
    """Return the result of each bot at some tables."""
    scores: defaultdict[str, list[int]] = defaultdict(list)
    wins: Counter[str] = Counter()
    deals: defaultdict[str, Counter[str]] = defaultdict(Counter)  # wins by bot and shared luck
    for table in played:
        bots, luck = table.sitting.bots, table.sitting.luck
        for bot, score in zip(bots, table.scores, strict=True):
            scores[bot].append(score)
        for seat in game.winners(table.scores) if game.winners else ():
            wins[bots[seat]] += 1
            if luck:
                deals[bots[seat]][luck] += 1
    return {
        bot: Result(
            tables=len(own),
            wins=wins[bot],
            score=sum(own),
            low=min(own),
            high=max(own),
            final=own[-1],
            squares=sum(count * count for count in deals[bot].values()),
        )
        for bot, own in scores.items()
    }


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
