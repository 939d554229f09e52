"""The kinds of stage: each a pure function from what has been played to what may be played now."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from host.record import Fixture, Record
from host.tournament import pairing

BLOCK = 10_000
"""Tables of one fixture between two bots; never less for speed's sake, or results would depend on it."""

Records = Mapping[str, Record]
"""What has been played in a stage, by path."""

Due = Callable[[Any, Fixture, Sequence[str], Records], list[Fixture]]
"""(stage, a fixture with the cup's game and rules, the bots best first, what has been played) → what may be played."""


def contestants(bots: Sequence[str]) -> str:
    """Return how a seed path names who plays: sorted, so that the order of entry decides nothing."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


def due_tables(stage: Any, blank: Fixture, bots: Sequence[str], records: Records) -> list[Fixture]:
    """Return every tourney that has not been played: each starts anew, so all may be played at once."""
    tourneys = (
        blank._replace(plan="tourney", path=f"{stage.name}/{number}", bots=tuple(sorted(bots)), tables=stage.rounds)
        for number in range(1, stage.tourneys + 1)
    )
    return [tourney for tourney in tourneys if tourney.path not in records]


def blocks(blank: Fixture, group: str, bots: Sequence[str], tables: int) -> list[Fixture]:
    """Return a number of tables between the same bots as fixtures of at most BLOCK tables."""
    return [
        blank._replace(
            plan="independent",
            path=f"{group}/{first}",
            bots=tuple(bots),
            first=first,
            tables=min(BLOCK, tables - first + 1),
        )
        for first in range(1, tables + 1, BLOCK)
    ]


def due_round_robin(stage: Any, blank: Fixture, bots: Sequence[str], records: Records) -> list[Fixture]:
    """Return every pair's blocks that have not been played."""
    return [
        block
        for pair in pairing.round_robin(sorted(bots))
        for block in blocks(blank, f"{stage.name}/{contestants(pair)}", pair, stage.tables_per_pair)
        if block.path not in records
    ]


STAGES: Mapping[str, Due] = {"tables": due_tables, "round-robin": due_round_robin}
