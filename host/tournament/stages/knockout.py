"""The kind `knockout`: a bracket of sets that decides every place (the Pazaak Cup)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from host.play.records import Fixture
from host.tournament import pairing
from host.tournament.stages.kind import (
    BLANK,
    BotCount,
    Bracket,
    Few,
    Field,
    Kind,
    Many,
    Records,
    Size,
    StageConfig,
    Tie,
    blocks,
    contestants,
    rankings,
    two_can_play,
    unplayed,
    with_plan,
)


@dataclass(frozen=True)
class Knockout(StageConfig):
    """A bracket of sets. The bot that first wins `first_to` sets wins the tie."""

    kind: Literal["knockout"] = "knockout"
    set: Many = 100_000
    first_to: Few = 4
    rank_by: tuple[Annotated[str, rankings("games", "hands", "elo")], ...] = ("games", "hands")
    min_bots: BotCount = 8


def due(stage: Knockout, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return the next set of every open tie (full placement bracket, sets first to `first_to`)."""
    return [
        block
        for tie in pairing.knockout(field.bots, lambda pair: tie_winner(stage, pair, records)).due
        for block in unplayed(set_of(stage, blank, tie, len(sets_won(stage, tie, records)) + 1), records)
    ]


def size(stage: Knockout, blank: Fixture, bots: int) -> Size:
    """Return the size of a bracket in which the winner of each tie wins all its sets."""
    sets = pairing.tie_count(bots) * stage.first_to
    return Size(sets * len(set_of(stage, blank, ("", ""), 1)), sets * stage.set, bots, "at least")


def set_of(stage: Knockout, blank: Fixture, tie: pairing.Pair, number: int) -> list[Fixture]:
    """Return the blocks of one set of a tie; sets are numbered from 1."""
    pair = tuple(sorted(tie))
    return blocks(with_plan(stage, blank), f"{stage.name}/{contestants(pair)}/set {number}", pair, stage.set)


def sets_won(stage: Knockout, tie: pairing.Pair, records: Records) -> list[str | None]:
    """Return the winner of each complete set; None for a set that does not count (PZ-CUPTIE)."""
    won: list[str | None] = []
    while True:
        played = [records.get(block.path) for block in set_of(stage, BLANK, tie, len(won) + 1)]
        if None in played:
            return won
        games, hands = (
            tuple(sum(getattr(record.results[bot], what) for record in played if record) for bot in tie)
            for what in ("wins", "score")
        )
        winner = pairing.set_winner((games[0], games[1]), (hands[0], hands[1]))
        won.append(None if winner is None else tie[winner])


def tie_winner(stage: Knockout, tie: pairing.Pair, records: Records) -> str | None:
    """Return the winner of a tie; None if it is still open."""
    return pairing.match_winner(sets_won(stage, tie, records), stage.first_to)


def places(stage: Knockout, field: Field, records: Records) -> list[str]:
    """Return the bots by place. Open places are filled, in seeding order, with the bots that still play."""
    decided = pairing.knockout(field.bots, lambda pair: tie_winner(stage, pair, records)).places
    playing = iter([bot for bot in field.bots if bot not in decided])
    return [next(playing) if bot is None else bot for bot in decided]


def bracket(stage: Knockout, order: Sequence[str], records: Records) -> tuple[Bracket, ...]:
    """Return the rounds whose ties are known so far. Follows the recursion of pairing.placement."""
    found: list[Bracket] = []

    def follow(group: list[str | None], number: int, first: int, real: bool) -> None:
        if len(group) < 2 or not any(group):
            return
        ties, winners, losers = [], list[str | None](), list[str | None]()
        for one, two in pairing.ties(group):
            winner, sets = one or two, (0, 0)
            if one is not None and two is not None:
                won = sets_won(stage, (one, two), records)
                sets, winner = (won.count(one), won.count(two)), tie_winner(stage, (one, two), records)
            ties.append(Tie((one, two), sets, winner))
            winners.append(winner)
            losers.append(None if winner is None else two if winner == one else one)
        last = min(first + len(group) - 1, len(order))
        if any(None not in tie.bots for tie in ties):
            found.append(Bracket(number, first, last, tuple(tie for tie in ties if any(tie.bots))))
        if all(tie.winner is not None or not any(tie.bots) for tie in ties) and real:
            follow(winners, number + 1, first, real)
            follow(losers, number + 1, first + len(group) // 2, real)

    follow(pairing.padded(order), 1, 1, True)
    return tuple(sorted(found, key=lambda part: (part.round, part.first)))


KNOCKOUT = Kind(
    name="knockout",
    config=Knockout,
    due=due,
    suits=two_can_play,
    needs="a game for two bots with one winner",
    template="""\
[[stage]]                      # needs eight bots
name     = "cup"
kind     = "knockout"          # a bracket that plays out every place
set      = {tables:<19} # tables in one set
first_to = 4                   # sets
min_bots = 8
""",
    places=places,
    size=size,
    comparison="none",
    bracket=bracket,
)
