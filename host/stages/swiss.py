"""The kind `swiss`: in every round bots with similar results meet, and no two bots meet twice as long as possible.

A pairing is a set of tables with alternating seats. The bot that wins more games wins the set, then the one with the
higher score; otherwise it is drawn. A won set and a bye are a point, a drawn set is half a point.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from host.base.format import counted, thousands
from host.base.grouping import grouped
from host.base.value_types import integer_or_auto
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture, Record, cause_text
from host.rating.results import PAIRS, Fact, PairedRound, PairedSet, Sampling
from host.stages import pairing
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    TWO_BOTS,
    BotCount,
    ChangePolicy,
    Entrants,
    Field,
    Kind,
    Many,
    PairStageConfig,
    Ranked,
    Size,
    block_size,
    blocks,
    with_plan,
)
from host.stages.picture import Rounds
from host.stages.swiss_pairing import SwissState, automatic_rounds, pair_round


@dataclass(frozen=True)
class Swiss(PairStageConfig):
    """In every round bots with similar results meet; no two bots meet twice."""

    kind: Literal["swiss"] = "swiss"
    rounds: Annotated[int | str, integer_or_auto(1000, "rounds", 7)] = "auto"
    """The number of rounds. `"auto"`: enough to tell the first from the rest, at most log2 of the bots plus 2."""
    tables_per_pairing: Many = 1_000
    """The number of tables of each pair in a round. Example: `tables_per_pairing = 200`"""
    rank_by: tuple[Ranked, ...] = (
        "elo",
        "sets",
        "buchholz",
    )
    min_bots: BotCount = 2


def schedule(stage: Swiss, blank: Fixture, field: Field, records: Records) -> Schedule:
    """Yield the fixtures of one round after another."""
    bots = field.bots
    met: dict[str, Counter[str]] = {bot: Counter() for bot in bots}
    scores, byes, began = dict.fromkeys(bots, 0), Counter[str](), Counter[str]()
    for number in range(1, rounds_of(stage, len(bots)) + 1):
        pairs, bye = pair_round(SwissState(scores, met, byes))
        seated = [pair if began[pair[0]] <= began[pair[1]] else (pair[1], pair[0]) for pair in pairs]
        sets = {pair: set_of(stage, blank, pair, number, len(pairs)) for pair in seated}
        yield [block for blocks_of_set in sets.values() for block in blocks_of_set]
        for pair, played in sets.items():
            began[pair[0]] += 1
            met[pair[0]][pair[1]] += 1
            met[pair[1]][pair[0]] += 1
            found = [records[block.path] for block in played]
            for bot, points in zip(pair, set_points(pair, found, bots), strict=True):
                scores[bot] += points
        if bye is not None:
            byes[bye] += 1
            scores[bye] += 2


def seeded(stage: Swiss, entrants: Entrants) -> list[str] | None:
    """Return the bots, best seed first: in the order of the stage before, or drawn by lot if no stage has ranked them.

    Return None if they are drawn from a seed that is not known yet.
    """
    return list(entrants.bots) if entrants.places else entrants.drawn(f"{stage.name}/draw")


def rounds_of(stage: Swiss, bots: int) -> int:
    """Return the number of rounds with this many bots."""
    return stage.rounds if isinstance(stage.rounds, int) else automatic_rounds(max(bots, 2))


def set_of(stage: Swiss, blank: Fixture, pair: pairing.Pair, number: int, pairs: int) -> list[Fixture]:
    """Return the fixtures of a set: `swiss/3/A+B/1` is one of round 3. The first bot of the pair has the first seat.

    `pairs` is the number of pairs in the round.
    """
    group = FixtureId(stage.name, number, contestants(pair)).group
    size = block_size(stage, stage.tables_per_pairing, pairs)
    return blocks(with_plan(stage, blank)._replace(path=group, bots=pair, tables=stage.tables_per_pairing), size)


def set_points(pair: pairing.Pair, played: Sequence[Record], order: Sequence[str]) -> tuple[int, int]:
    """Return twice the points of each bot of a set that has been played, in the order of `pair`.

    If a fixture of the set has no result, the better seed, which is earlier in `order`, gets the point.
    """
    if any(record.undecided for record in played):
        return (2, 0) if pair[0] == pairing.better_seed(pair, order) else (0, 2)
    winner = pairing.set_winner(*pairing.set_result(pair, played))
    return (1, 1) if winner is None else (2, 0) if winner == 0 else (0, 2)


def size(stage: Swiss, blank: Fixture, bots: int) -> Size:
    """Return the size of a whole stage with this number of bots."""
    pairs = bots // 2
    sets = rounds_of(stage, bots) * pairs
    fixtures = len(set_of(stage, blank, ("", ""), 1, pairs))
    return Size(sets * fixtures, sets * stage.tables_per_pairing, bots, about=about(stage, bots))


def about(stage: Swiss, bots: int) -> str:
    """Return the numbers of rounds and pairings in words."""
    rounds, bye = rounds_of(stage, bots), " and a bye" if bots % 2 else ""
    pairs = f"{counted(bots // 2, 'pairing')}{bye}"
    again = "" if rounds <= automatic_rounds(max(bots, 2)) else "; rematches may be necessary"
    return f"{counted(rounds, 'round')} of {pairs}, {thousands(stage.tables_per_pairing)} tables each{again}"


def awarded(stage: Swiss, order: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return a sentence about each set that the better seed won because a fixture has no result."""
    found = {FixtureId.parse(record.path).group: record for record in records if record.undecided}
    return [
        f"{one} against {other}, round {FixtureId.parse(path).round}: undecided, because {cause_text([record.undecided])}; "
        f"{pairing.better_seed((one, other), order)} gets the point as the better seed"
        for path, record in sorted(found.items())
        for one, other in [sorted(record.results)]
    ]


def picture(_stage: Swiss, order: Sequence[str], records: Sequence[Record]) -> Rounds:
    """Return the rounds so far, each with its sets. The bye of a round is None until all other bots have a set in it."""
    places = ((FixtureId.parse(record.path), record) for record in records)
    sets = grouped(((place.round or 0, place.group), record) for place, record in places)
    everybody = sorted({bot for record in records for bot in record.results})
    last = max((number for number, _ in sets), default=0)
    found = []
    for number in range(1, last + 1):
        of_round = [_paired_set(sets[key], order) for key in sorted(sets) if key[0] == number]
        playing = {bot for each in of_round for bot in each.bots}
        out = [bot for bot in everybody if bot not in playing]
        found.append(PairedRound(number, tuple(of_round), out[0] if len(out) == 1 else None))
    return Rounds(tuple(found))


def _paired_set(played: Sequence[Record], order: Sequence[str]) -> PairedSet:
    one, other = sorted(played[0].results)
    wins, _ = pairing.set_result((one, other), played)
    tables = sum(record.results[one].tables for record in played)
    points = set_points((one, other), played, order)
    return PairedSet((one, other), (points[0] / 2, points[1] / 2), wins, tables)


SWISS = Kind(
    name="swiss",
    config=Swiss,
    schedule=schedule,
    plays=TWO_BOTS,
    seeded=seeded,
    size=size,
    drawn=True,
    own_deals=True,
    sampling=Sampling(key="tables_per_pairing"),
    picture=picture,
    awarded=awarded,
    changes=ChangePolicy.results_decide("its rounds are under way, and each pairs bots by their results so far"),
    provides=PAIRS | {Fact.ROUNDS},
)
