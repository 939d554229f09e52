"""The kinds of stage: each a pure function from what has been played to what may be played now."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from host.play.records import Fixture, Record
from host.tournament import groups, pairing
from host.tournament.statistics import sequential

BLOCK = 10_000
"""Tables of one fixture between two bots; never less for speed's sake, or results would depend on it."""

SHARES = 16
"""Fixtures that a friendly game is cut into, whatever the workers, so that all of them have work."""

Records = Mapping[str, Record]
"""What has been played in a stage, by path."""


CERTAIN = (-5.0, 5.0)
"""Elo between which a pair's order is not worth knowing: the bounds of the test that may end it early."""


class Field(NamedTuple):
    """Who plays a stage: the bots, best first where an earlier stage has ranked them, and the cup's seed for draws.

    With `stop_early` a pair ends when its order is certain, told from its blocks one after another.
    """

    bots: Sequence[str]
    seed: bytes
    stop_early: bool = False


class Size(NamedTuple):
    """How much a whole stage plays, and how many bots go on from it."""

    fixtures: int
    tables: int
    left: int
    bounds: str = "exactly"  # or "at least"


class Kind(NamedTuple):
    """A kind of stage. `due` gives what may be played now, nothing when the stage is over.

    `places` gives the bots in the order of what they have reached so far; None where standings alone rank them. `left`
    gives those who play the next stage, best first; None where all do. `size` counts a whole stage of so many bots; None
    where all fixtures are due at once. `drawn` says that the seed decides who meets whom.
    """

    due: Callable[[Any, Fixture, Field, Records], list[Fixture]]  # (stage, cup's game and rules, who, played)
    places: Callable[[Any, Field, Records], list[str]] | None = None
    left: Callable[[Any, Field, Records], list[str]] | None = None
    size: Callable[[Any, Fixture, int], Size] | None = None  # (stage, cup's game and rules, bots)
    drawn: bool = False


def contestants(bots: Sequence[str]) -> str:
    """Return how a seed path names who plays: sorted, so that the order of entry decides nothing."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


def planning(stage: Any, blank: Fixture) -> Fixture:
    """Return a blank fixture whose tables follow from each other as a stage has it."""
    return blank._replace(plan="mirrored" if getattr(stage, "mirror", False) else "independent")


def blocks(
    blank: Fixture, group: str, bots: Sequence[str], tables: int, block: int = BLOCK, start: int = 1
) -> list[Fixture]:
    """Return a number of tables between the same bots as fixtures of at most so many; those before `start` left out.

    No deal that tables share is cut in two.
    """
    if blank.plan == "mirrored":
        block += -block % len(bots)
    return [
        blank._replace(
            plan=blank.plan or "independent",
            path=f"{group}/{first}",
            bots=tuple(bots),
            first=first,
            tables=min(block, tables - first + 1),
        )
        for first in range(start, tables + 1, block)
    ]


def unplayed(fixtures: Sequence[Fixture], records: Records) -> list[Fixture]:
    """Return the fixtures that have no record yet."""
    return [fixture for fixture in fixtures if fixture.path not in records]


def due_tables(stage: Any, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return every tourney that has not been played: each starts anew, so all may be played at once."""
    plan = "mirrored tourney" if stage.mirror else "tourney"
    tourney = blank._replace(plan=plan, bots=tuple(sorted(field.bots)), tables=stage.rounds)
    numbers = range(1, stage.tourneys + 1)
    return unplayed([tourney._replace(path=f"{stage.name}/{number}", first=number) for number in numbers], records)


def due_round_robin(stage: Any, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return every pair's blocks that have not been played; one at a time where a pair may end early."""
    due = []
    for pair in pairing.round_robin(sorted(field.bots)):
        planned = blocks(planning(stage, blank), f"{stage.name}/{contestants(pair)}", pair, stage.tables_per_pair)
        left = unplayed(planned, records)
        if field.stop_early and left:
            played = [records[block.path] for block in planned[: planned.index(left[0])]]
            left = [] if certain(played, pair) else left[:1]
        due += left
    return due


def certain(played: Sequence[Record], pair: pairing.Pair) -> bool:
    """Return whether it is certain who of a pair is the better: a sequential test has decided, either way."""
    one, two = (sum(record.results[bot].wins for record in played) for bot in pair)
    tables = sum(record.results[pair[0]].tables for record in played)
    return bool(sequential(one, tables - one - two, two, CERTAIN).accepted)


def due_independent(stage: Any, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return the blocks of a friendly game: the bots in the given order at table 1, changing seats from then on."""
    share = min(BLOCK, -(-stage.tables // SHARES))
    group = f"{stage.name}/{contestants(field.bots)}"
    return unplayed(blocks(planning(stage, blank), group, field.bots, stage.tables, share), records)


def due_knockout(stage: Any, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return the next set of every tie that may be played (the Pazaak Cup: full placement, sets first to `first_to`)."""
    return [
        block
        for tie in pairing.knockout(field.bots, lambda pair: tie_winner(stage, pair, records)).due
        for block in unplayed(set_of(stage, blank, tie, len(sets_won(stage, tie, records)) + 1), records)
    ]


def knockout_size(stage: Any, blank: Fixture, bots: int) -> Size:
    """Return the size of a cup in which the winner of each tie wins all its sets."""
    sets = pairing.tie_count(bots) * stage.first_to
    return Size(sets * len(set_of(stage, blank, ("", ""), 1)), sets * stage.set, bots, "at least")


def set_of(stage: Any, blank: Fixture, tie: pairing.Pair, number: int) -> list[Fixture]:
    """Return the blocks of a tie's set 1, 2, 3 …"""
    pair = tuple(sorted(tie))
    return blocks(planning(stage, blank), f"{stage.name}/{contestants(pair)}/set {number}", pair, stage.set)


def sets_won(stage: Any, tie: pairing.Pair, records: Records) -> list[str | None]:
    """Return who won each set that has been played whole; None for one that does not count (PZ-CUPTIE)."""
    won: list[str | None] = []
    nothing = Fixture("", None, "", "", (), 0)
    while True:
        played = [records.get(block.path) for block in set_of(stage, nothing, tie, len(won) + 1)]
        if None in played:
            return won
        games, hands = (
            tuple(sum(getattr(record.results[bot], what) for record in played if record) for bot in tie)
            for what in ("wins", "score")
        )
        winner = pairing.set_winner((games[0], games[1]), (hands[0], hands[1]))
        won.append(None if winner is None else tie[winner])


def tie_winner(stage: Any, tie: pairing.Pair, records: Records) -> str | None:
    """Return who has won a tie; None while nobody has."""
    return pairing.match_winner(sets_won(stage, tie, records), stage.first_to)


def knockout_places(stage: Any, field: Field, records: Records) -> list[str]:
    """Return the places a cup has decided, then those who still play for theirs, in the order of their seeding."""
    decided = pairing.knockout(field.bots, lambda pair: tie_winner(stage, pair, records)).places
    playing = iter([bot for bot in field.bots if bot not in decided])
    return [next(playing) if bot is None else bot for bot in decided]


def contest(stage: Any, field: Field, records: Records) -> groups.Contest:
    """Return a stage of groups as groups.py sees it."""
    return groups.Contest(stage, field.bots, field.seed, records, contestants)


def groups_size(stage: Any, _blank: Fixture, bots: int) -> Size:
    """Return the size of a stage of groups: each fixture is one table."""
    games, left = groups.games(stage, bots)
    return Size(games, games, left)


STAGES: Mapping[str, Kind] = {
    "tables": Kind(due_tables),
    "round-robin": Kind(due_round_robin),
    "knockout": Kind(due_knockout, knockout_places, size=knockout_size),
    "groups": Kind(
        lambda stage, blank, field, records: groups.due(contest(stage, field, records), planning(stage, blank)),
        lambda stage, field, records: groups.places(contest(stage, field, records)),
        lambda stage, field, records: groups.left(contest(stage, field, records)),
        groups_size,
        drawn=True,
    ),
    "independent": Kind(due_independent),
}
