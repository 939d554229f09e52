"""The kind `knockout`: a bracket of sets, of single or double elimination (the Pazaak Cup plays out every place)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from host.base.toml_file import to_toml
from host.base.value_types import Text, TextOrNothing, integer, one_of
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture, Record, cause_text
from host.rating.results import Sampling
from host.stages import elimination, pairing
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    BLANK,
    TWO_BOTS,
    BotCount,
    ChangePolicy,
    Entrants,
    Few,
    Field,
    ImpossibleStageError,
    Kind,
    Many,
    PairStageConfig,
    Ranked,
    Size,
    Surroundings,
    block_size,
    blocks,
    check_entered,
    with_plan,
)
from host.stages.picture import Bracket, BracketRound, Tie

BestOf = Annotated[int, integer(0, 1999)]

ALL, FIRST = "all", "first"
SINGLE, DOUBLE = "single", "double"
DRAWN_TIE = "drawn"  # seeding by lot

MOST_UNDECIDED_SETS = 3
"""After this many sets without a result, because the game failed, the better seed of a tie goes on."""

MOST_DRAWN_SETS = 20
"""After this many sets without a winner, the better seed of a tie goes on. Equal bots at mirrored tables would never end."""


@dataclass(frozen=True)
class Knockout(PairStageConfig):
    """A bracket of sets. The bot that first wins `first_to` sets wins the tie."""

    kind: Literal["knockout"] = "knockout"
    set: Many = 100_000
    """The number of tables in a set. Example: `set = 1_000`"""
    first_to: Few = 4
    """The number of sets that a bot must win to win the tie. Example: `first_to = 2`"""
    best_of: BestOf = 0
    """The same in other words: `best_of = 7` is `first_to = 4`. It must be odd; 0 leaves it to `first_to`.
    Example: `best_of = 3`"""
    elimination: Annotated[str, one_of(lambda: (SINGLE, DOUBLE), "kind of elimination")] = SINGLE
    """After how many lost ties a bot no longer plays for the first place: `"single"`, one; `"double"`, two."""
    places: Annotated[str, one_of(lambda: (ALL, FIRST), "choice of places")] = ALL
    """`"all"`: every place is played out. `"first"`: only the first place; bots that lose in the same round share a place."""
    seeding: TextOrNothing = ""
    """Which bots meet first: the order of an earlier stage, by its name; `"drawn"`, a lot from the tournament's seed; or a
    text file next to croupier.toml with a bot's name in each line, best first. Default: the order of the stage before, or
    of the entries. Example: `seeding = "drawn"`"""
    seeds: tuple[Text, ...] = ()
    """The names of the bots in the order of the bracket, best first. `seeding` with a file sets it. Bots without a seed
    follow in their usual order. Example: `seeds = ["davey", "neptr"]`"""
    rank_by: tuple[Ranked, ...] = ("win_rate", "total_score")
    min_bots: BotCount = 8

    def completed(self) -> "Knockout":
        """Return the stage with `first_to` filled in from `best_of`.

        Raise ImpossibleStageError if they contradict each other, or if `best_of` is even.
        """
        if not self.best_of:
            return self
        first_to = self.best_of // 2 + 1
        if self.best_of % 2 == 0:
            message = f"best_of = {self.best_of} is even, so both bots could win {self.best_of // 2} sets"
            raise ImpossibleStageError("best_of", message, f"best_of = {self.best_of + 1}")
        if self.first_to not in (first_to, Knockout.first_to):
            message = f"best_of = {self.best_of} is won with {first_to} sets, and first_to = {self.first_to}"
            raise ImpossibleStageError("best_of", message, "leave out one of the two")
        return replace(self, first_to=first_to)

    def settled(self, around: Surroundings) -> "Knockout":
        """Return the stage with the names in the file of seeds, if it has one, as `seeds`.

        Raise ImpossibleStageError if `seeding` or `seeds` names something that does not exist, if a bot is named twice,
        or if both of them order the bots. Raise UserError if the file cannot be read.
        """
        key, seeds = "seeds", self.seeds
        if self.seeding and self.seeding not in (DRAWN_TIE, *around.earlier):
            if not (around.folder / self.seeding).is_file():
                stages = "".join(f'"{name}", ' for name in around.earlier)
                message = f'seeding = "{self.seeding}" is neither a stage before this one nor a file'
                raise ImpossibleStageError(
                    "seeding", message, f'one of {stages}"{DRAWN_TIE}", or a text file of names', "C008"
                )
            key, seeds = "seeding", tuple(around.names_in(self.seeding))
        if seeds and self.seeding in (DRAWN_TIE, *around.earlier):
            message = f'seeding = "{self.seeding}" and seeds both order the bots'
            raise ImpossibleStageError("seeds", message, "leave out one of the two")
        for number, name in enumerate(seeds):
            check_entered(name, around.bots(), (key,))
            if name in seeds[:number]:
                raise ImpossibleStageError(key, f"{key} names {to_toml(name)} twice", "leave out one of the two")
        return replace(self, seeds=seeds)


def seeded(stage: Knockout, entrants: Entrants) -> list[str] | None:
    """Return the bots in the order of the bracket; None if it is drawn from a seed that is not known yet."""
    if stage.seeding == DRAWN_TIE:
        return entrants.drawn(f"{stage.name}/seeding")
    order = stage.seeds or entrants.places.get(stage.seeding, ())
    place = {bot: number for number, bot in enumerate(order)}
    return sorted(entrants.bots, key=lambda bot: place.get(bot, len(place)))


def bracket_of(stage: Knockout, bots: Sequence[str]) -> elimination.BracketPlan:
    """Return the bracket of a stage from its beginning. `bots` are in the order of the seeds, best first."""
    rounds = elimination.double if stage.elimination == DOUBLE else elimination.single
    return rounds(bots, every_place=stage.places == ALL)


class KnockoutContest:
    """The results of the ties of a stage so far. Call `end` for the ties in the order of the rounds.

    Two bots can meet more than once in a double elimination. Then the numbers of their sets continue.
    """

    def __init__(self, stage: Knockout, order: Sequence[str], records: Records) -> None:
        self._stage, self._order, self._records = stage, order, records
        self._sets: dict[pairing.Pair, int] = {}  # that a pair has played in its ties so far

    def first_set(self, tie: pairing.Pair) -> int:
        """Return the number of the first set of a tie. It is 1 if the two bots have not met before."""
        return self._sets.get(_pair(tie), 0) + 1

    def sets_of(self, tie: pairing.Pair) -> list[str | None]:
        """Return the winner of each complete set of a tie; None for a set that does not count (PZ-CUPTIE).

        A set whose game has failed is `pairing.UNDECIDED`. It does not count either.
        """
        won: list[str | None] = []
        while self.won_by(tie, won) is None:
            sets = set_of(self._stage, BLANK, tie, self.first_set(tie) + len(won))
            if any(block.path not in self._records for block in sets):
                break
            won.append(set_winner(tie, [self._records[block.path] for block in sets]))
        return won

    def won_by(self, tie: pairing.Pair, won: Sequence[str | None]) -> str | None:
        """Return the winner of a tie, given the results of its sets (see `sets_of`); None if the tie is open."""
        if (winner := pairing.match_winner(won, self._stage.first_to)) is not None:
            return winner
        by_seed = won.count(None) >= MOST_DRAWN_SETS or self.is_undecided(won)
        return min(tie, key=self._order.index) if by_seed else None

    @staticmethod
    def is_undecided(won: Sequence[str | None]) -> bool:
        """Return whether the better seed goes on because MOST_UNDECIDED_SETS sets of a tie have no result."""
        return won.count(pairing.UNDECIDED) >= MOST_UNDECIDED_SETS

    def end(self, tie: pairing.Pair) -> str | None:
        """Return the winner of a tie; None if the tie is open.

        The next tie of the same bots continues the numbers of the sets of a decided tie.
        """
        won = self.sets_of(tie)
        if (winner := self.won_by(tie, won)) is not None:
            self._sets[_pair(tie)] = self.first_set(tie) - 1 + len(won)
        return winner


def schedule(stage: Knockout, blank: Fixture, field: Field, records: Records) -> Schedule:
    """Yield the sets of every tie, one after another until it is decided. The ties of a round do not wait for each other."""
    contest = KnockoutContest(stage, field.bots, records)

    def branch(bracket: elimination.BracketPlan) -> Schedule:
        step = next(bracket, None)
        while step is not None:
            halves = list[elimination.Halves]()
            match step:
                case elimination.RoundSet(rounds):
                    yield [sets(tie) for each in rounds for tie in pairing.open_ties(each.group)]
                    halves = elimination.played(rounds, contest.end)
                case elimination.Branches(branches):
                    yield [branch(each) for each in branches]
            step = elimination.resumed(bracket, halves)

    def sets(tie: pairing.Pair) -> Schedule:
        won: list[str | None] = []
        while contest.won_by(tie, won) is None:
            blocks = set_of(stage, blank, tie, contest.first_set(tie) + len(won))
            yield blocks
            won.append(set_winner(tie, [records[block.path] for block in blocks]))

    yield [branch(bracket_of(stage, field.bots))]


def size(stage: Knockout, blank: Fixture, bots: int) -> Size:
    """Return the size of a bracket in which the better seed of each tie wins every set."""
    names = [str(number) for number in range(bots)]
    rounds = elimination.followed(bracket_of(stage, names), lambda tie: tie[0]).rounds
    sets = sum(len(pairing.open_ties(each.group)) for each in rounds) * stage.first_to
    return Size(sets * len(set_of(stage, blank, ("", ""), 1)), sets * stage.set, bots, "at least")


def _pair(tie: pairing.Pair) -> pairing.Pair:
    one, other = sorted(tie)
    return one, other


def set_of(stage: Knockout, blank: Fixture, tie: pairing.Pair, number: int) -> list[Fixture]:
    """Return the blocks of one set of a tie; sets are numbered from 1."""
    pair = _pair(tie)
    size = block_size(stage, stage.set, stage.min_bots // 2)  # all ties of a round are played at the same time
    group = FixtureId(stage.name, meeting=f"{contestants(pair)}/set {number}").group
    return blocks(with_plan(stage, blank)._replace(path=group, bots=pair, tables=stage.set), size)


def set_winner(tie: pairing.Pair, played: Sequence[Record]) -> str | None:
    """Return the winner of a complete set; None if the set does not count (PZ-CUPTIE), UNDECIDED if it has no result."""
    if any(record.undecided for record in played):
        return pairing.UNDECIDED
    winner = pairing.set_winner(*pairing.set_result(tie, played))
    return None if winner is None else tie[winner]


def places(stage: Knockout, field: Field, records: Records) -> list[str]:
    """Return the bots by place. Open places are filled, in seeding order, with the bots that still play."""
    contest = KnockoutContest(stage, field.bots, records)
    placed = elimination.followed(bracket_of(stage, field.bots), contest.end).placed
    decided: dict[int, str] = {}
    for some in placed:
        decided |= dict(enumerate((bot for bot in some.bots if bot is not None), some.first))
    still_in = dict.fromkeys(field.bots).keys() - decided.values()
    playing = iter([bot for bot in field.bots if bot in still_in])
    return [decided[place] if place in decided else next(playing) for place in range(1, len(field.bots) + 1)]


def _ties(
    stage: Knockout, order: Sequence[str], records: Records
) -> Iterator[tuple[elimination.Ties, tuple[Tie, ...]]]:
    """Yield the rounds whose ties are known so far, each with its ties and their results, in the bracket's order."""
    contest, played = KnockoutContest(stage, order, records), list[Tie]()

    def ended(pair: pairing.Pair) -> str | None:
        sets = contest.sets_of(pair)
        won = sets.count(pair[0]), sets.count(pair[1])
        by_seed = contest.is_undecided(sets)
        played.append(Tie(pair, won, contest.won_by(pair, sets), contest.first_set(pair), by_seed))
        return contest.end(pair)

    rounds = elimination.followed(bracket_of(stage, order), ended).rounds
    ties = iter(played)  # in the order of the rounds
    for each in rounds:
        yield (
            each,
            tuple(
                next(ties) if None not in (one, two) else Tie((one, two), (0, 0), one or two)
                for one, two in pairing.ties(each.group)
            ),
        )


def picture(stage: Knockout, order: Sequence[str], records: Sequence[Record]) -> Bracket:
    """Return the rounds whose ties are known so far."""
    found = [
        BracketRound(
            of.number, of.first, of.last, tuple(tie for tie in ties if any(tie.bots)), of.title, of.note, of.side
        )
        for of, ties in _ties(stage, order, {record.path: record for record in records})
        if any(None not in tie.bots for tie in ties)
    ]
    return Bracket(tuple(sorted(found, key=lambda part: (part.round, part.first))))


def awarded(stage: Knockout, order: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return a sentence about each tie that the better seed won because too many sets have no result."""
    return [
        f"{tie.bots[0]} against {tie.bots[1]}, {of.title}: undecided, because "
        f"{cause_text(record.undecided for record in records if record.results.keys() == {*tie.bots})} in "
        f"{MOST_UNDECIDED_SETS} sets; {tie.winner} goes on as the better seed"
        for of, ties in _ties(stage, order, {record.path: record for record in records})
        for tie in ties
        if tie.by_seed
    ]


def reached(stage: Knockout, order: Sequence[str], records: Sequence[Record]) -> Mapping[str, tuple[float, ...]]:
    """Return a sort key for each bot, by its name: minus the best place that it can still reach, and minus its defeats.

    So bots that play for the same places with equally many defeats are equal.
    """
    best = dict.fromkeys(order, (-1, 0))
    for of, ties in _ties(stage, order, {record.path: record for record in records}):
        for tie in ties:
            for bot in tie.bots:
                if bot is not None:
                    best[bot] = of.lost if tie.winner not in (None, bot) else of.won
    return best


KNOCKOUT = Kind(
    name="knockout",
    config=Knockout,
    schedule=schedule,
    plays=TWO_BOTS,
    seeded=seeded,
    places=places,
    size=size,
    own_deals=True,
    sampling=Sampling(compare="none"),
    picture=picture,
    reached=reached,
    awarded=awarded,
    changes=ChangePolicy.results_decide("its bracket is under way"),
)
