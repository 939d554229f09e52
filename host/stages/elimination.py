"""Brackets: pure generators of the rounds of single and double elimination. They play nothing.

A bracket yields the rounds that may be played next, and the caller sends it the winners and the losers of each round.
It has no other state: to resume a bracket, the caller follows a new one from the beginning.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from host.stages import pairing

Bots = Sequence[str | None]
"""Bots in the order of a bracket; None is a bye."""

UNBEATEN, BEATEN = "unbeaten", "beaten"
"""The two sides of a double elimination: bots that have lost no tie, and those that have lost one."""

Standing = tuple[int, int]
"""Progress of a bot as a sort key: minus the best place that it can still reach, and minus its defeats."""


class Ties(NamedTuple):
    """One round of ties, which are played at the same time: place i of `group` against place i + n/2."""

    title: str
    number: int
    first: int  # the best place that is played for
    last: int  # the worst place
    group: Bots
    won: Standing  # of each winner
    lost: Standing  # of each loser
    note: str = ""
    side: str = ""  # of a double elimination: UNBEATEN or BEATEN


class RoundSet(NamedTuple):
    """Rounds that are played at the same time. After them, the caller sends the bracket the `Halves` of each round."""

    rounds: Sequence[Ties]


class Branches(NamedTuple):
    """Parts of a bracket that do not wait for each other. The plan that yields them has no steps after them."""

    branches: Sequence["BracketPlan"]


class Placed(NamedTuple):
    """Bots that have left the bracket: n bots, not counting byes, share the n places that begin with `first`."""

    bots: Bots
    first: int


Halves = tuple[Bots, Bots]  # the winners and the losers of a round
BracketStep = RoundSet | Branches | Placed
BracketPlan = Generator[BracketStep, Sequence[Halves], None]


def single(ranked: Sequence[str], *, every_place: bool) -> BracketPlan:
    """Return a bracket of single elimination: a bot that loses a tie can no longer take the first place.

    With `every_place`, it plays on for the places that it can still reach. Otherwise it has left the bracket.
    """
    return (
        _for_places(pairing.padded(ranked), 1, 1) if every_place else _winners_only(pairing.best_with_byes(ranked), 1)
    )


def _for_places(group: Bots, number: int, first: int) -> BracketPlan:
    """Yield the ties of a group that plays for the places that begin with `first`, then the brackets of its two halves."""
    half, last = len(group) // 2, first + _real(group) - 1
    if not half or not any(group):
        yield Placed(group, first)
        return
    title = f"round {number} for places {first} to {last}"
    if last - first <= 1:
        title = "final" if first == 1 else f"for places {first} and {last}"
    ((winners, losers),) = yield RoundSet([Ties(title, number, first, last, group, (-first, 0), (-first - half, 0))])
    yield Branches([_for_places(winners, number + 1, first), _for_places(losers, number + 1, first + half)])


def _winners_only(group: Bots, number: int) -> BracketPlan:
    """Yield the ties of a group, then the ties of its winners. Bots that lose in the same round share a place."""
    half, last = len(group) // 2, _real(group)
    if not half:
        yield Placed(group, 1)
        return
    title = "final" if half == 1 else "semi-finals" if half == 2 else f"round {number}"
    ((winners, losers),) = yield RoundSet([Ties(title, number, 1, last, group, (-1, 0), (-half - 1, 0))])
    yield Placed(losers, half + 1)
    yield from _winners_only(winners, number + 1)


def double(ranked: Sequence[str], *, every_place: bool) -> BracketPlan:
    """Yield the steps of a bracket in which a bot is out after two lost ties.

    The final is between the unbeaten bot and the best bot that has lost once. If the unbeaten bot loses it, both have
    lost once, and one more final decides (the bracket reset). With `every_place`, bots that are out play on for their
    places.
    """
    group = pairing.best_with_byes(ranked)
    if len(group) < 2:
        yield Placed(group, 1)
        return
    start = Ties("round 1 of the unbeaten", 1, 1, len(ranked), group, (-1, 0), (-1, -1), side=UNBEATEN)
    ((unbeaten, beaten),) = yield RoundSet([start])
    yield from _second_chance(unbeaten, beaten, 2, every_place)


def _second_chance(unbeaten: Bots, beaten: Bots, number: int, every_place: bool) -> BracketPlan:
    """Yield the next steps of a double elimination. `unbeaten` bots have lost no tie, `beaten` bots have lost one.

    The beaten play two rounds while the unbeaten play one. In the second round they meet the bots that have just lost
    their first tie.
    """
    if len(unbeaten) == 1:
        yield from _finals(unbeaten[0], beaten[0], number)
        return
    left = _real(unbeaten) + _real(beaten)
    title, after = "round {} of the beaten", left - len(pairing.open_ties(beaten))
    first, last = 2 * number - 3, 2 * number - 2
    (unbeaten, fallen), (beaten, first_out) = yield RoundSet(
        [
            Ties(f"round {number} of the unbeaten", last, 1, left, unbeaten, (-1, 0), (-1, -1), side=UNBEATEN),
            Ties(title.format(first), last, 1, left, beaten, (-1, -1), (-after - 1, 0), side=BEATEN),
        ]
    )
    group, left = [*beaten, *crossed(fallen, number)], after
    after = left - len(pairing.open_ties(group))
    last_round = Ties(title.format(last), last + 1, 1, left, group, (-1, -1), (-after - 1, 0), side=BEATEN)
    ((beaten, then_out),) = yield RoundSet([last_round])
    rest = _second_chance(unbeaten, beaten, number + 1, every_place)
    if every_place:
        groups = [(then_out, after + 1), (first_out, left + 1)]
        places = [_for_places(pairing.padded(_without_byes(bots)), last + 2, place) for bots, place in groups]
        yield Branches([rest, *places])
        return
    yield Placed(then_out, after + 1)
    yield Placed(first_out, left + 1)
    yield from rest


def _finals(unbeaten: str | None, beaten: str | None, number: int) -> BracketPlan:
    """Yield the final, and a second one if the unbeaten bot loses the first."""
    pair, at = [unbeaten, beaten], 2 * number - 2
    ((winners, losers),) = yield RoundSet([Ties("final", at, 1, 2, pair, (-1, 0), (-1, -1))])
    if winners[0] != unbeaten:
        note = f"{beaten} has won the final, so both bots have lost one tie; this tie decides"
        title = "second final (bracket reset)"
        ((winners, losers),) = yield RoundSet([Ties(title, at + 1, 1, 2, pair, (-1, 0), (-2, 0), note)])
    yield Placed(winners, 1)
    yield Placed(losers, 2)


def crossed(fallen: Bots, number: int) -> Bots:
    """Return the losers of a round of the unbeaten bots, in an order that postpones rematches among the beaten bots.

    `number` is the number of the round.
    """
    if number % 2 == 0:
        return fallen[::-1]
    half = len(fallen) // 2
    return [*fallen[half:], *fallen[:half]]


def _without_byes(bots: Bots) -> list[str]:
    return [bot for bot in bots if bot is not None]


def _real(bots: Bots) -> int:
    """Return the number of bots that are not byes."""
    return len(_without_byes(bots))


# Following a bracket.


class BracketOutcome(NamedTuple):
    """State of a bracket: its rounds whose bots are known, and its bots that have a final place."""

    rounds: Sequence[Ties]
    placed: Sequence[Placed]


def followed(bracket: BracketPlan, winner: Callable[[pairing.Pair], str | None]) -> BracketOutcome:
    """Follow a bracket until it reaches open ties, and return its state.

    `winner` returns the winner of a tie, or None if the tie is open. It is called once for each tie, in the order of
    the rounds.
    """
    rounds, placed = list[Ties](), list[Placed]()

    def follow(branch: BracketPlan) -> None:
        step = next(branch, None)
        while step is not None:
            halves = list[Halves]()
            match step:
                case RoundSet(due):
                    rounds.extend(due)
                    halves = played(due, winner)
                    if len(halves) < len(due):
                        return
                case Branches(branches):
                    for each in branches:
                        follow(each)
                case Placed():
                    placed.append(step)
            step = resumed(branch, halves)

    follow(bracket)
    return BracketOutcome(rounds, placed)


def played(rounds: Sequence[Ties], winner: Callable[[pairing.Pair], str | None]) -> list[Halves]:
    """Return the winners and the losers of each round in which every tie is decided.

    The list is shorter than `rounds` if a tie is open.
    """
    found = list[Halves]()
    for each in rounds:
        won = {tie: winner(tie) for tie in pairing.open_ties(each.group)}
        if all(won.values()):
            found.append(pairing.halves(each.group, won.__getitem__))
    return found


def resumed(bracket: BracketPlan, results: Sequence[Halves]) -> BracketStep | None:
    """Return the next step of a bracket, given the results of its rounds; None if it has ended."""
    try:
        return bracket.send(results) if results else next(bracket)
    except StopIteration:
        return None
