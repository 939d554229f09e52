"""Creates the record of a fixture from the tables that were played."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from host.bots.seat import Seat
from host.bots.values import Evidence, Usage
from host.games.engine import Game
from host.play.lines import pack_lines
from host.play.match import PlayedTable
from host.play.records import Fixture, Record, Result, pack
from host.play.table_plans import TableSetup
from host.play.transcript import pack_transcript


def results_of(game: Game, played: Iterable[PlayedTable]) -> dict[str, Result]:
    """Return the result of each bot at some tables."""
    scores: defaultdict[str, list[int]] = defaultdict(list)
    wins: Counter[str] = Counter()
    deals: defaultdict[str, Counter[str]] = defaultdict(Counter)  # wins by bot and shared luck
    for table in played:
        bots = table.table_setup.bots
        luck = "" if table.table_setup.alone else table.table_setup.luck
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


def recorded(game: Game, fixture: Fixture, played: Sequence[PlayedTable], seats: Mapping[str, Seat]) -> Record:
    """Return the record of a fixture, given its game, tables and seats. The seats of one bot are recorded as one."""
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
        answers=pack(table.answers for table in played),
        benched=tuple(name for name, some in own.items() if any(seat.benched for seat in some)),
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
    """Return the bots by seat at each table, as indexes into the fixture's bots."""
    number = {bot: index for index, bot in enumerate(fixture.bots)}.__getitem__
    return tuple(tuple(map(number, setup.bots)) for setup in setups)


def total_usage(some: Sequence[Usage]) -> Usage:
    """Return the usage of a bot's seats in a fixture as one: the sums, but the largest of `slowest` and `memory`."""
    if len(some) == 1:
        return some[0]
    return Usage(
        questions=sum(usage.questions for usage in some),
        wall=sum(usage.wall for usage in some),
        slowest=max(usage.slowest for usage in some),
        cpu=sum(usage.cpu for usage in some),
        memory=max(usage.memory for usage in some),
        starts=sum(usage.starts for usage in some),
        walls=tuple(map(sum, zip(*(usage.walls for usage in some), strict=True))),
        waited=sum(usage.waited for usage in some),
        pauses=sum(usage.pauses for usage in some),
        pondered=sum(usage.pondered for usage in some),
    )


def _evidence(some: Sequence[Seat]) -> Iterator[Evidence]:
    """Yield the evidence of a bot's seats: all faults, and the slowest decision last."""
    pieces = [piece for seat in some for piece in seat.all_evidence()]
    yield from (piece for piece in pieces if piece.kind != "slowest")
    slowest = [piece for piece in pieces if piece.kind == "slowest"]
    if slowest:
        yield max(slowest, key=lambda piece: piece.wall)


def _stderr(some: Sequence[Seat], played: Sequence[PlayedTable]) -> tuple[tuple[str, bytes], ...]:
    """Return what a bot's seats wrote to standard error. Each piece has the path of its table, or of its question: `TABLE:3`."""
    return tuple(
        (played[at.table - 1].table_setup.path + (f":{at.number}" if at.number else ""), tail)
        for seat in some
        for at, tail in seat.stderr
    )
