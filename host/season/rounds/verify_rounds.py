"""Computes the meetings of each round of a season again, and compares them with the stored ones.

The scheduler is pure, so everybody computes the same meetings.
"""

from collections.abc import Iterable
from typing import NamedTuple

from host.base.format import counted
from host.season.rounds.scheduler import Meeting, Player, RoundTerms, Sums, next_round


class PlannedRound(NamedTuple):
    """A round as it was stored: the input of the scheduler, and the meetings that were played."""

    players: tuple[Player, ...]
    sums: Sums
    terms: RoundTerms
    meetings: tuple[Meeting, ...]


def first_difference(rounds: Iterable[PlannedRound]) -> str:
    """Return a sentence that says how the first wrong round differs from the scheduler's plan; empty if none is wrong.

    A round that is missing is wrong, too. `rounds` must be in ascending order of their numbers. It may be a generator
    that computes the sums of a round from the rounds before it.
    """
    due = 1
    for each in rounds:
        number = each.terms.number
        if number != due:
            return f"round {due} is missing: round {number} follows on round {due - 1}"
        if found := _difference(each.meetings, next_round(each.players, each.sums, each.terms)):
            return f"round {number}: {found}"
        due += 1
    return ""


def _difference(stored: tuple[Meeting, ...], computed: tuple[Meeting, ...]) -> str:
    if stored == computed:
        return ""
    ours, theirs = ({each.labels: each.tables for each in some} for some in (computed, stored))
    if len(theirs) < len(stored):
        twice = next(
            each.labels for nth, each in enumerate(stored) if each.labels in {one.labels for one in stored[:nth]}
        )
        return f"the list has the meeting of {_names(twice)} twice"
    for labels in [*theirs, *ours]:
        if labels not in ours:
            return f"the list has {counted(theirs[labels], 'table')} of {_names(labels)}, which the scheduler does not plan"
        if labels not in theirs:
            return f"the list lacks {counted(ours[labels], 'table')} of {_names(labels)}, which the scheduler plans"
        if ours[labels] != theirs[labels]:
            planned, listed = counted(ours[labels], "table"), counted(theirs[labels], "table")
            return f"the list has {listed} of {_names(labels)}, and the scheduler plans {planned}"
    return "the list has the same meetings in another order"


def _names(labels: tuple[str, ...]) -> str:
    return " and ".join(labels)
