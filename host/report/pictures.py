"""Renders the picture of a stage's results as text and as JSON. The templates for pages are in pages/sections."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from host.base.format import thousands
from host.base.safe_text import one_line
from host.rating.results import PairedRound
from host.stages.picture import Bracket, BracketRound, Group, Groups, Picture, Rounds, Tie

OPEN, BYE = "open", "bye"


class Shown(NamedTuple):
    """Names of a type of pictures: its title, and its key in JSON, which is also the id of its section on a page."""

    key: str
    title: str


PICTURES: dict[type[Picture], Shown] = {
    Bracket: Shown("bracket", "Bracket"),
    Groups: Shown("groups", "Groups"),
    Rounds: Shown("rounds", "Rounds"),
}
"""The names of each type of pictures, in the order of a page."""


def picture_lines(picture: Picture | None, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of a picture. Yield the lines of rounds only if `verbose`."""
    match picture:
        case Bracket(rounds):
            yield from _bracket_lines(rounds)
        case Groups(groups):
            yield from _group_lines(groups)
        case Rounds(rounds) if verbose:
            yield from _round_lines(rounds)


def _bracket_lines(bracket: Sequence[BracketRound]) -> Iterator[str]:
    """Yield the ties of a bracket, round by round. The winner of a tie comes first."""
    names = [one_line(bot or "") for part in bracket for tie in part.ties for bot in tie.bots]
    width = max(map(len, names), default=0)
    for part in bracket:
        yield f"{part.title}:" if not part.note else f"{part.title}; {one_line(part.note)}:"
        for tie in part.ties:
            yield f"  {_tie(tie, width)}".rstrip()


def _tie(tie: Tie, width: int) -> str:
    (one, other), (won, lost) = tie.bots, tie.sets
    if tie.winner is not None and tie.winner != one:
        one, other, won, lost = other, one, lost, won
    if one is None or other is None:
        return f"{one_line(one or other or OPEN):<{width}}  {BYE}"
    still = "" if tie.winner is not None else f"  {OPEN}"
    return f"{one_line(one):<{width}}  {won} : {lost}  {one_line(other):<{width}}{still}"


def _group_lines(groups: Sequence[Group]) -> Iterator[str]:
    """Yield the groups of each round, with the figures that order the bots of a group."""
    names = [one_line(seat.bot) for group in groups for seat in group.seats]
    width = max(map(len, names), default=0)
    for number, of_round in groupby(groups, lambda group: group.round):
        yield f"round {number}; each group is ordered by games in which a bot advanced, then by chips:"
        for nth, group in enumerate(of_round, 1):
            for place, seat in enumerate(group.seats):
                head = f"group {nth}" if place == 0 else ""
                advanced = f"{round(seat.first, 2):g} of {group.games}"
                chips = thousands(seat.chips, 0 if seat.chips == int(seat.chips) else 1)
                yield f"  {head:<9} {one_line(seat.bot):<{width}}  {advanced:>10}  {chips:>8}"


def _round_lines(rounds: Sequence[PairedRound]) -> Iterator[str]:
    """Yield the sets of each round: the points of both bots, and the games won."""
    width = max((len(one_line(bot)) for each in rounds for played in each.sets for bot in played.bots), default=0)
    for each in rounds:
        yield f"round {each.number}; points and games won:"
        for played in each.sets:
            (one, other), (ours, theirs), (won, lost) = played.bots, played.points, played.won
            games = f"{thousands(won)} : {thousands(lost)}"
            yield f"  {one_line(one):<{width}}  {ours:g} : {theirs:g}  {one_line(other):<{width}}  {games}"
        if each.bye is not None:
            yield f"  {one_line(each.bye):<{width}}  {BYE}"


def picture_json(picture: Picture | None) -> dict[str, Any]:
    """Return a picture as JSON values, by the key of its type. Always include the keys of brackets and groups."""
    found: dict[str, Any] = {PICTURES[Bracket].key: [], PICTURES[Groups].key: []}
    return found if picture is None else found | {PICTURES[type(picture)].key: [plain(part) for part in picture[0]]}


def plain(value: Any) -> Any:
    """Return a value as JSON values. A NamedTuple becomes an object with its fields as keys."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value
