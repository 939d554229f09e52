"""The kind `groups`: random groups of three to five bots; the best of each advance, until `until` bots are left.

Source: the README of Banksalad Hold'em (random groups of five, two advance, repeated until five finalists). It does not
define some cases. HE-GROUPS: groups are as equal as possible; if a round would leave fewer than five bots, the best third
places by chips advance too. HE-TOP2: equal bots are ranked by a lot from the seed. HE-FEWER2 is in the scores
(games/holdem.py).

With several games per group, bots are ranked by how often they advanced, then by chips. Every draw has its own seed
path: the groups of a round, the lot of a round, the lot of a game.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple

from host.games.engine import Game, Scores
from host.games.luck import Luck, Shuffler
from host.play.fixture_id import FixtureId, contestants, group_of
from host.play.records import Fixture, Record, Result, cause_text
from host.rating.results import Fact, Sampling
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    BotCount,
    ChangePolicy,
    Few,
    Field,
    GameCondition,
    ImpossibleStageError,
    Kind,
    Many,
    Ranked,
    Size,
    StageConfig,
    with_plan,
)
from host.stages.picture import Group, GroupSeat
from host.stages.picture import Groups as Picture

FEWEST, MOST = 3, 5  # bots in a group
FINALISTS, ADVANCE = 5, 2

Members = tuple[str, ...]


class GroupMember(NamedTuple):
    """A bot in the final order of its group: its mean chips, and the number of games in which it advanced."""

    bot: str
    chips: float
    advanced: int = 0


# Pure functions on groups and scores.


def groups_of(entrants: int) -> tuple[int, ...]:
    """Return group sizes: as few groups as possible, as equal as possible. Raise ValueError for fewer than three bots.

    Six to ten entrants make two groups, which leave five finalists. Up to five make one group, which is the final.
    """
    if entrants < FEWEST:
        raise ValueError(f"{entrants} entrants: a group has {FEWEST} to {MOST} seats")
    groups = -(-entrants // MOST)
    size, larger = divmod(entrants, groups)
    return (size + 1,) * larger + (size,) * (groups - larger)


def drawn(bots: Sequence[str], luck: Shuffler) -> list[Members]:
    """Return the bots divided into random groups."""
    order = luck.shuffled(bots)
    return [tuple(islice(order, size)) for size in groups_of(len(bots))]


def placing(scores: Scores, lot: Iterable[int]) -> list[int]:
    """Return the seats of a table, best score first. Equal seats are in the order of `lot`, which has all seats."""
    return sorted(lot, key=scores.__getitem__, reverse=True)


def shares(scores: Scores, advance: int = ADVANCE) -> list[float]:
    """Return the probability that each seat advances, by seat: 1 or 0, or between them if a lot decides.

    The sum is `advance`. Statistics use the probabilities: their mean over many games is the rate of advancing, without
    the luck of the lots.
    """
    last = sorted(scores, reverse=True)[:advance][-1]
    sure, tied = sum(score > last for score in scores), scores.count(last)
    return [1.0 if score > last else (advance - sure) / tied if score == last else 0.0 for score in scores]


def in_order(groups: Sequence[Sequence[GroupMember]], lot: Sequence[str]) -> list[str]:
    """Return all bots of several groups: all first places, then all second places, and so on.

    In each of `groups` the best bot is first. Bots in the same place are ordered by mean chips, most first; bots with
    equal chips are in the order of `lot`, a random order of all bots.
    """
    ranked = [
        (nth, -place.chips, lot.index(place.bot), place.bot) for group in groups for nth, place in enumerate(group)
    ]
    return [bot for *_, bot in sorted(ranked)]


def going_on(groups: int, entrants: int, advance: int, until: int) -> int:
    """Return the number of bots that advance from a round: fewer than entered it, but enough for the next round.

    A single group is the last round; it leaves `until` bots. From each of several groups `advance` bots advance, or
    fewer, so that the smallest group eliminates at least one bot. At least `until` bots and at least FEWEST advance in
    total.
    """
    if groups == 1:
        return until
    return max(groups * min(advance, entrants // groups - 1), until, FEWEST)


# The stage.


@dataclass(frozen=True)
class Groups(StageConfig):
    """Random groups; the best of each advance, until `until` bots are left. The final is a stage with `advance = 1`."""

    kind: Literal["groups"] = "groups"
    advance: Few = 2
    """The number of bots of each group that advance to the next round. Example: `advance = 1`"""
    repeat: Many = 1
    """The number of games of each group. Example: `repeat = 10`"""
    until: Few = 0
    """The number of bots at which the stage ends. Default: 5, or 1 if only one bot advances. Example: `until = 3`"""
    rank_by: tuple[Ranked, ...] = (
        "advances",
        "score",
    )
    min_bots: BotCount = 3

    def completed(self) -> "Groups":
        """Return the stage with `until` filled in.

        Raise ImpossibleStageError if it is less than the number of bots that advance from each group.
        """
        stage = replace(self, until=self.until or (FINALISTS if self.advance > 1 else 1))
        if stage.until < stage.advance:
            message = f"until = {stage.until} cannot be reached: {stage.advance} of each group advance"
            raise ImpossibleStageError("until", message, f"advance = {stage.until}")
        return stage


def games(stage: Groups, entrants: int) -> tuple[int, int]:
    """Return the number of games of a whole stage with this many bots, and the number of bots that it leaves."""
    played = 0
    while entrants > stage.until:
        count = len(groups_of(entrants))
        played += count * stage.repeat
        entrants = going_on(count, entrants, stage.advance, stage.until)
    return played, entrants


class GroupsContest(NamedTuple):
    """A stage of groups: its config, its bots, the seed of the tournament, and the records so far by path."""

    stage: Groups
    bots: Sequence[str]
    seed: bytes
    records: Records

    def luck(self, number: int, draw: str) -> Luck:
        """Return the luck for one draw of round `number`. `draw` is the name of the draw in the seed path."""
        return Luck(self.seed, f"{self.stage.name}/{number}/{draw}")


class GroupsRound(NamedTuple):
    """One round of groups.

    `order` has its bots in the order that decides which of them advance; None until all games have been played.
    """

    number: int
    groups: list[Members]
    order: list[str] | None
    ahead: list[str]  # the bots that advance


def paths(contest: GroupsContest, number: int, group: Members) -> list[str]:
    """Return the paths of a group's games: `groups/1/A+B+C+D+E/1`."""
    games = range(1, contest.stage.repeat + 1)
    return [str(FixtureId(contest.stage.name, number, contestants(group), game)) for game in games]


def round_of(contest: GroupsContest, number: int, entrants: Sequence[str]) -> GroupsRound:
    """Return round `number` between these bots, with the results so far."""
    groups = drawn(sorted(entrants), contest.luck(number, "draw"))
    order = ranked(contest, number, groups)
    count = going_on(len(groups), len(entrants), contest.stage.advance, contest.stage.until)
    return GroupsRound(number, groups, order, order[:count] if order else [])


def rounds(contest: GroupsContest) -> list[GroupsRound]:
    """Return the rounds up to the one that is being played; none if no bot has to be eliminated."""
    so_far: list[GroupsRound] = []
    entrants = contest.bots
    while len(entrants) > contest.stage.until:
        so_far.append(round_of(contest, len(so_far) + 1, entrants))
        if so_far[-1].order is None:
            break
        entrants = so_far[-1].ahead
    return so_far


def ranked(contest: GroupsContest, number: int, groups: Sequence[Members]) -> list[str] | None:
    """Return all bots of a round, best first; None while a game of the round has no record."""
    if any(path not in contest.records for group in groups for path in paths(contest, number, group)):
        return None
    lot = list(contest.luck(number, "lot").shuffled(sorted(bot for group in groups for bot in group)))
    return in_order([places_of(contest, number, group, lot) for group in groups], lot)


def places_of(contest: GroupsContest, number: int, group: Members, lot: Sequence[str]) -> list[GroupMember]:
    """Return the members of a group that has played all its games, best place first.

    Games that have no result, because they failed, are left out. If no game has a result, the better seeds are first.
    """
    advanced, chips, score = Counter[str](), Counter[str](), Counter[str]()
    games = {path: record for path in paths(contest, number, group) if not (record := contest.records[path]).undecided}
    if not games:
        return [GroupMember(bot, 0.0) for bot in sorted(group, key=list(contest.bots).index)]
    for path, record in games.items():
        final = {bot: result.final for bot, result in record.results.items()}
        seats = Luck(contest.seed, f"{path}/lot").shuffled(range(len(group)))
        first = placing(tuple(final[bot] for bot in group), seats)[: contest.stage.advance]
        advanced.update(group[seat] for seat in first)
        for bot in group:
            chips[bot] += max(final[bot], 0)
            score[bot] += final[bot]
    order = sorted(group, key=lambda bot: (-advanced[bot], -chips[bot], -score[bot], lot.index(bot)))
    return [GroupMember(bot, chips[bot] / len(games), advanced[bot]) for bot in order]


def contest_of(stage: Groups, field: Field, records: Records) -> GroupsContest:
    """Return a stage with all data that determine its fixtures."""
    return GroupsContest(stage, field.bots, field.seed, records)


def schedule(stage: Groups, blank: Fixture, field: Field, records: Records) -> Schedule:
    """Yield the fixtures of each round, one round at a time: one fixture for each game of each group."""
    contest, blank = contest_of(stage, field, records), with_plan(stage, blank)
    entrants, number = field.bots, 0
    while len(entrants) > stage.until:
        number += 1
        groups = round_of(contest, number, entrants).groups
        games = (
            blank._replace(path=path, bots=group, first=game, tables=1)
            for group in groups
            for game, path in enumerate(paths(contest, number, group), 1)
        )
        yield Lazy(len(groups) * stage.repeat, games)
        entrants = round_of(contest, number, entrants).ahead


def places(stage: Groups, field: Field, records: Records) -> list[str]:
    """Return all bots, best first: bots not yet eliminated, then bots eliminated in the last round, and so on."""
    order = list(field.bots)
    for played in rounds(contest_of(stage, field, records)):
        if played.order:
            order[: len(played.order)] = played.order
    return order


def left(stage: Groups, field: Field, records: Records) -> list[str]:
    """Return the bots that play the next stage, best first; while this stage is played, the bots not yet eliminated."""
    still_in = list(field.bots)
    for played in rounds(contest_of(stage, field, records)):
        still_in = played.ahead or still_in
    return still_in


def size(stage: Groups, _blank: Fixture, bots: int) -> Size:
    """Return the size of a whole stage: each fixture is one table."""
    played, left = games(stage, bots)
    return Size(played, played, left)


def counted(stage: Groups, records: Sequence[Record]) -> list[Record]:
    """Return the records as the standings count them: advancing is a win, and negative scores count as 0 chips.

    Equal bots share the last places from which bots advance, so a win can be a fraction. The luck of a lot does not
    count.
    """
    return [record._replace(results=_advanced(record.results, stage.advance)) for record in records]


def _advanced(results: Mapping[str, Result], advance: int) -> dict[str, Result]:
    shared = shares(tuple(result.final for result in results.values()), advance)
    return {
        bot: result._replace(wins=share, score=max(result.final, 0))
        for (bot, result), share in zip(results.items(), shared, strict=True)
    }


def awarded(_stage: Groups, _order: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return a sentence about each group in which no game has a result."""
    failed = {group_of(record.path) for record in records if record.undecided}
    left = failed - {group_of(record.path) for record in records if not record.undecided}
    why = {group: cause_text(each.undecided for each in records if group_of(each.path) == group) for group in left}
    return [f"{group}: undecided, because {why[group]}; the better seeds go on" for group in sorted(left)]


def picture(_stage: Groups, order: Sequence[str], records: Sequence[Record]) -> Picture:
    """Return the groups of all rounds. Games without a result are left out."""
    found: dict[str, dict[str, list[Result]]] = {}
    place = {bot: number for number, bot in enumerate(order)}
    for record in records:
        for bot in sorted(record.results, key=lambda bot: place.get(bot, len(place))):
            games = found.setdefault(group_of(record.path), {}).setdefault(bot, [])
            if not record.undecided:
                games.append(record.results[bot])
    rounds = {name: FixtureId.parse(name).round or 0 for name in found}
    went = {
        bot: max(rounds[name] for name, sat in found.items() if bot in sat) for sat in found.values() for bot in sat
    }
    groups = []
    for name in sorted(found, key=lambda name: (rounds[name], name)):
        seats = [
            GroupSeat(
                bot=bot,
                chips=sum(result.score for result in games) / max(len(games), 1),
                first=sum(result.wins for result in games),
                on=went[bot] > rounds[name],
                score=sum(result.final for result in games) / max(len(games), 1),
            )
            for bot, games in found[name].items()
        ]
        seats.sort(key=lambda seat: seat.merit, reverse=True)
        groups.append(Group(name, rounds[name], max(map(len, found[name].values())), tuple(seats)))
    return Picture(tuple(groups))


def reached(stage: Groups, order: Sequence[str], records: Sequence[Record]) -> Mapping[str, tuple[float, ...]]:
    """Return a sort key for each bot, by its name: its last round, minus its place in its group, and its mean chips.

    Among bots with the same place in different groups, only their chips decide. Equal bots of a group share a place.
    """
    found: dict[str, tuple[float, ...]] = dict.fromkeys(order, (0.0, 0.0, 0.0))
    for group in picture(stage, order, records).groups:  # the rounds in their order
        for seat in group.seats:
            better = sum(other.merit > seat.merit for other in group.seats)
            found[seat.bot] = (group.round, -better, seat.chips)
    return found


def suits(game: Game, _rules: Any) -> bool:
    """Return whether a game has chips, and tables of three, four and five bots."""
    return game.seats[0] <= FEWEST and game.seats[1] >= MOST and game.chips != "none"


GROUPS = Kind(
    name="groups",
    config=Groups,
    schedule=schedule,
    plays=GameCondition("a game of chips for three to five", suits),
    usual=(Groups(name="groups", until=FINALISTS), Groups(name="final", advance=1, until=1)),
    places=places,
    left=left,
    size=size,
    drawn=True,
    own_deals=True,
    counted=counted,
    sampling=Sampling("fixture", "repeat", compare="shared"),
    picture=picture,
    awarded=awarded,
    reached=reached,
    changes=ChangePolicy.results_decide("its groups were drawn without it"),
    provides=frozenset({Fact.MEETINGS, Fact.ADVANCING}),
)
