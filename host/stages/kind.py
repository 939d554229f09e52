"""Defines `Kind`, the description of a kind of stage, and helpers that several kinds use."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from host.base.errors import closest_match
from host.base.toml_file import read_text, to_toml
from host.base.value_types import OWN_CODE, Flag, integer, integer_or_auto, matches, one_of
from host.games.engine import Game
from host.games.luck import Luck
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture, Record
from host.rating.rankings import RANKINGS, Ranking
from host.rating.results import PAIRS, Fact, Sampling
from host.stages.agenda import Agenda, Lazy, Records, Schedule
from host.stages.picture import Picture

MAX_BLOCK_TABLES = 10_000
"""Most tables in one fixture between two bots. Do not change it for speed: results would depend on it."""

SMALL_BLOCK = 50
"""Fewest tables in a fixture of a pair that plays several fixtures, whatever the languages of its bots."""

FIXTURES_AT_ONCE, FEW_FIXTURES_AT_ONCE = 16, 4
"""Fixtures of a stage that can be played at the same time: the first number if its pairs have enough tables; otherwise
fewer, at least the second number, so that starting the bots takes a small part of each fixture."""

MAX_LIST_BYTES = 16 << 20
"""Largest size of a text file that a stage names. A list of 200 000 meetings fits in it."""

BLANK = Fixture("", None, "", "", (), 0)
"""A fixture without a game, rules, bots and tables."""


# A stage in croupier.toml and in the journal.

StageName = Annotated[str, matches("[A-Za-z0-9_-]{1,40}", "name of a stage", "up to 40 letters, digits, _ and -")]
BotCount = Annotated[int, integer(1, 10_000)]
Many = Annotated[int, integer(1, 10_000_000)]
Few = Annotated[int, integer(1, 1000)]
OWN_RANKING = "[a-z][a-z0-9_]{0,30}"  # the pattern of the name of a custom ranking
RENAMED_RANKINGS = {"games": "win_rate", "hands": "total_score", "chips": "score", "points": "score"}
"""The present names of rankings, by their old names."""

Ranked = Annotated[str, one_of(lambda: RANKINGS, "way to rank", OWN_CODE, RENAMED_RANKINGS)]


@dataclass(frozen=True)
class StageConfig:
    """The keys that every [[stage]] has. Each kind adds its own keys, and restricts `kind`."""

    KIND: ClassVar["Kind[Any]"]  # set by the Kind that this class configures

    kind: str = ""
    """The kind of stage: one of those below, or `package.module:KIND` for one of your own. Every stage needs this key.
    `mixed_tables`, the word in files of earlier versions, means `mixed-tables`."""
    name: StageName = ""
    """The name of the stage in commands, standings and seeds. Default: its kind; for `mixed-tables`,
    "tables". Example: `name = "final"`"""
    rank_by: tuple[Ranked, ...] = ()
    """How the bots are ranked: by the first ranking, equal bots by the second, and so on. `package.module:RANKING` names one of
    your own."""
    mirror: Flag = False
    """`true`: the tables come in groups that share a deal, and each bot plays it from every seat."""
    min_bots: BotCount = 1
    """The fewest bots with which the stage is played. Example: `min_bots = 4`"""
    practice: Flag = False
    """`true`: the stage does not count, so a seed that everyone knows is not reported as a danger."""

    def completed(self) -> Self:
        """Return the stage with the keys filled in that depend on other keys.

        Raise ImpossibleStageError if keys contradict each other.
        """
        return self

    def with_fixture_tables(self, number: int) -> Self:
        """Return the stage with `number` as its `fixture_tables` if this key is "auto"; otherwise the same stage."""
        return self

    def as_begun(self, recorded: "StageConfig") -> Self:
        """Return the stage with the values that croupier chose when the run began.

        `recorded` is the config of this stage in the journal.
        """
        return self

    def settled(self, around: "Surroundings") -> Self:
        """Return the stage with its references to bots, files and earlier stages checked, and with its files read.

        Call it on the result of `completed`. Raise ImpossibleStageError if the stage cannot be played with them, and
        UserError if a file cannot be read.
        """
        return self


@dataclass(frozen=True)
class PairStageConfig(StageConfig):
    """The keys of a stage that divides the tables of two bots into fixtures."""

    fixture_tables: Annotated[int | str, integer_or_auto(MAX_BLOCK_TABLES, "tables", 200)] = "auto"
    """The fewest tables of a fixture, if few pairs play at the same time. Then a pair plays up to 16 fixtures, or fewer of at
    least this many tables, but four if it has 200 tables. `"auto"`: the number at which starting the bots takes at most
    5 % of a fixture, by the languages of the bots that were entered when the run began. Example: `fixture_tables = 200`"""

    def with_fixture_tables(self, number: int) -> Self:
        """Return the stage with this number instead of "auto"."""
        return replace(self, fixture_tables=number) if self.fixture_tables == "auto" else self

    def as_begun(self, recorded: StageConfig) -> Self:
        """Return the stage with the recorded `fixture_tables` instead of "auto": a new version of a bot does not change it."""
        return self.with_fixture_tables(recorded.fixture_number) if isinstance(recorded, PairStageConfig) else self

    @property
    def fixture_number(self) -> int:
        """Return the fewest tables of a fixture; 1 while `fixture_tables` is still "auto"."""
        return self.fixture_tables if isinstance(self.fixture_tables, int) else 1


class SkippedStage(NamedTuple):
    """A later stage that is not played, because only `bots` bots reach it."""

    stage: StageConfig
    bots: int

    def __str__(self) -> str:
        verb = "reaches" if self.bots == 1 else "reach"
        return f'stage "{self.stage.name}" is skipped: it needs {self.stage.min_bots} bots, and {self.bots} {verb} it'


class ImpossibleStageError(ValueError):
    """Raised by `StageConfig.completed` and `StageConfig.settled` if a stage cannot be played as configured.

    `key` is the key to change, or the path of keys to it in the stage's table: ("grades", "davey", "sure").
    """

    def __init__(self, key: str | tuple[str | int, ...], message: str, hint: str, code: str = "C013") -> None:
        super().__init__(message)
        self.key = (key,) if isinstance(key, str) else key
        self.message, self.hint, self.code = message, hint, code


class Surroundings(NamedTuple):
    """What the settings of a stage in croupier.toml may refer to: earlier stages, bots and files."""

    folder: Path  # of croupier.toml
    game: Game
    seats: int  # of a table under the rules
    earlier: Sequence[str]  # the names of the stages before
    bots: Callable[[], Sequence[str]]
    """Return the names of all bots that are entered."""
    matching: Callable[[str], Sequence[str]]
    """Return the names of the bots in the files and folders that match a pattern. Raise UserError if none exists."""

    def names_in(self, file: str) -> list[str]:
        """Return the lines of a text file in `folder`, without comments (#) and empty lines.

        Raise UserError if the file cannot be read.
        """
        text = read_text(self.folder / file, MAX_LIST_BYTES)
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return [line for line in lines if line]


def check_entered(name: str, entered: Collection[str], where: tuple[str | int, ...]) -> None:
    """Raise ImpossibleStageError if no entered bot has this name. `where` is the path of keys to the name."""
    if name not in entered:
        hint = closest_match(name, entered) or "croupier ls lists the bots"
        message = f"{where[0]} names {to_toml(name)}, and no bot has this name"
        raise ImpossibleStageError(where, message, hint, "C012")


# The arguments and results of a kind's functions.


class Field(NamedTuple):
    """The bots of a stage, and the other values that determine its fixtures.

    `bots` are best first if an earlier stage has ranked them. `seed` is the tournament's, for draws. With `stop_early`,
    a pair ends if its order is certain after one of its blocks. A bot with more than
    `max_faults` faults is disqualified when the stage is over; 0: no bot is disqualified. The bots in `withdrawn` have
    left the stage: they keep their places in its draw, but are not paired any more. If bots joined late or tables were
    added, `kept` has the number of tables of every fixture played so far, by its path. These fixtures stay as they are.
    `block` is the number of tables in a fixture of a stage outside a tournament; 0: the number that `block_size`
    returns.
    """

    bots: Sequence[str]
    seed: bytes
    stop_early: bool = False
    max_faults: int = 0
    withdrawn: Sequence[str] = ()
    kept: Mapping[str, int] = MappingProxyType({})
    block: int = 0


class Entrants(NamedTuple):
    """The data that determine the order of a stage's bots before it begins."""

    bots: Sequence[str]  # best first if an earlier stage has ranked them
    places: Mapping[str, Sequence[str]]  # of every finished stage, by its name
    seed: bytes | None  # None if it has not been drawn yet

    def drawn(self, path: str) -> list[str] | None:
        """Return the bots in an order that is drawn from the seed and a path; None if the seed is not known yet."""
        return None if self.seed is None else list(Luck(self.seed, path).shuffled(sorted(self.bots)))


class Size(NamedTuple):
    """The number of fixtures and tables of a whole stage, and how many bots play the next stage."""

    fixtures: int
    tables: int
    left: int
    bounds: str = "exactly"  # or "at least"
    about: str = ""  # a sentence about the whole stage: what it promises. It is printed before the stage


class GameCondition(NamedTuple):
    """The condition that a game must meet for a kind of stage, in words and as a function."""

    words: str
    is_met: Callable[[Game, Any], bool]
    """Return whether a game with these rules can be played."""
    is_general: bool = False
    """Whether almost every game meets it. Then other suitable kinds come first, and a stage must fill one table."""


def _two_can_play(game: Game, _rules: Any) -> bool:
    return game.seats[0] <= 2 <= game.seats[1] and game.winners is not None


TWO_BOTS = GameCondition("a game for two bots with one winner", _two_can_play)
TWO_OR_MORE = GameCondition("a game for two bots or more", lambda game, _rules: game.seats[1] >= 2)


class GradeTerms(NamedTuple):
    """The conditions under which a bot gets the points for a reference."""

    points: int
    sure: float  # 0 to 1, the certainty
    at_least: float  # 0 to 1, the share of tables that the bot wins; a draw counts half
    score: float | None = None  # the mean score of a table that the bot reaches; None: compared with the reference
    tables: int = 0  # that the bot and the reference play


class ChangePolicy(NamedTuple):
    """The corrections that a stage accepts after its first fixture has been played. Three class methods create it."""

    adaptive: bool
    """Whether the fixtures depend on results of this stage, or on the order of an earlier one. Then no new version of a
    bot can play a fixture again, and earlier stages keep their results once this stage has begun."""
    leavable: bool
    """Whether a bot can leave the stage while it runs. Its fixtures are left out."""
    closed: str
    """The reason why no other bot can join, in words. Empty: bots may join late."""
    more: tuple[str, ...] = ()
    """The keys whose numbers may be raised. The added tables must not change the seed paths of the others."""

    @classmethod
    def results_decide(cls, closed: str) -> "ChangePolicy":
        """Return the policy of a stage in which results, or the order of the stage before, decide what is played."""
        return cls(adaptive=True, leavable=False, closed=closed)

    @classmethod
    def field_decides(cls, closed: str, *, leavable: bool = False, more: tuple[str, ...] = ()) -> "ChangePolicy":
        """Return the policy of a stage whose fixtures depend on all its bots, but not on results."""
        return cls(adaptive=False, leavable=leavable, closed=closed, more=more)

    @classmethod
    def pairs_decide(cls, *more: str) -> "ChangePolicy":
        """Return the policy of a stage in which each fixture depends on its own bots alone.

        Bots may join late and leave. The other bots may influence only how tables are divided into fixtures, and there
        the schedule must keep the fixtures in `field.kept`. `more` are the keys whose numbers may be raised.
        """
        return cls(adaptive=False, leavable=True, closed="", more=more)


RESULTS_DECIDE = ChangePolicy.results_decide("its fixtures were drawn without it")
"""The policy of a kind that does not set `changes`."""


C = TypeVar("C", bound=StageConfig)


@dataclass(frozen=True)
class Kind(Generic[C]):
    """A kind of stage: one object with everything that is specific to it. All functions are pure.

    The first four fields are required. The defaults of the others describe a kind whose standings rank the bots.
    """

    name: str  # the `kind` of croupier.toml, and that of `config`
    config: type[C]
    schedule: Callable[[C, Fixture, Field, Records], Schedule]
    """Yield the fixtures that may be played now, continue when all of them have records, and end when the stage is over.

    The given fixture has the game and its rules. The records are those of all fixtures played so far.
    """
    plays: GameCondition

    seeded: Callable[[C, Entrants], list[str] | None] | None = None
    """Return the bots in the order in which the stage begins; None if it is drawn from a seed that is not known yet."""
    size: Callable[[C, Fixture, int], Size] | None = None
    """Return the size of a whole stage with this many bots. None: all its fixtures may be played at the same time."""
    places: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots in the order of their places so far. None: the standings rank them."""
    left: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots that play the next stage, best first. None: all of them do."""
    reached: Callable[[C, Sequence[str], Sequence[Record]], Mapping[str, tuple[float, ...]]] | None = None
    """Return a sort key for the progress of each bot, by its name; greater is better. Bots with equal keys share a
    place. The arguments are those of `picture`. None: the kind does not decide places."""
    awarded: Callable[[C, Sequence[str], Sequence[Record]], list[str]] | None = None
    """Return a sentence about each decision that was left to the order of the bots, because fixtures have no result. The
    arguments are those of `picture`."""
    picture: Callable[[C, Sequence[str], Sequence[Record]], Picture] | None = None
    """Return a picture of the results so far, from the bots in the order of the stage before, and from the records as the
    standings count them. None: the standings show everything."""
    references: Callable[[C], Sequence[str]] | None = None
    """Return the references, bots that all others play and that are not ranked: before `settled`, the patterns in
    croupier.toml; after it, the names of the bots."""
    grades: Callable[[C], Mapping[str, GradeTerms]] | None = None
    """Return the terms of each grade, by the name of its reference. None: the kind gives no grades."""

    drawn: bool = False  # whether the seed decides which bots meet
    own_deals: bool = False
    """Whether no two tables of a stage without `mirror` share any luck. Only then the tables of fixtures that are over may
    be shown while the stage runs. Otherwise they stay secret until the stage is over."""
    counted: Callable[[C, Sequence[Record]], list[Record]] | None = None
    """Return records as the standings count them. None: the standings count the records unchanged."""
    sampling: Sampling = field(default_factory=Sampling)
    provides: frozenset[Fact] = PAIRS
    """The facts that its results have. A ranking can rank the stage if it needs no other facts."""
    scored_tables: int = 100
    """Most tables of a fixture of which rankings read each table's score. Of a larger fixture they read the sums."""
    changes: ChangePolicy = RESULTS_DECIDE
    """The corrections that the stage accepts after its first fixture has been played."""
    usual: tuple[C, ...] = ()
    """The stages of a tournament without [[stage]]; croupier takes them from the first suitable kind that has any."""

    @property
    def tourneys(self) -> bool:
        """Whether a fixture is a whole tourney: each table depends on the previous ones, and the seed draws the seats."""
        return self.sampling.unit == "tourney"

    @property
    def all_meet(self) -> bool:
        """Whether every two bots meet. While pairs are missing, the standings use a ranking that knows the opponents."""
        return Fact.ALL_PAIRS in self.provides

    def keeps_scores(self, game: Game, fixture: Fixture) -> bool:
        """Return whether rankings read the score of each table of a fixture, not only the sums over its tables."""
        needed = len(fixture.bots) != 2 or game.winners is None
        return Fact.TABLE_SCORES in self.provides and needed and fixture.tables <= self.scored_tables

    def lacks(self, ranking: Ranking, game: Game | None = None) -> Fact | None:
        """Return a fact that a ranking needs and the results of the stage do not have; None if it can rank the stage.

        If `game` has no winners, the results do not have `Fact.WINNERS`.
        """
        has = self.provides - ({Fact.WINNERS} if game and game.winners is None else set())
        return next((fact for fact in Fact if fact in ranking.needs - has), None)

    def __post_init__(self) -> None:
        if "KIND" not in vars(self.config):  # a copy of a kind does not take its config
            self.config.KIND = self

    def agenda(self, stage: C, blank: Fixture, field: Field, records: Records) -> Agenda:
        """Return an agenda of the fixtures of the stage that have no record yet.

        Fixtures of withdrawn bots are left out, unless other fixtures depend on their results.
        """
        withdrawn = () if self.changes.adaptive else field.withdrawn
        return Agenda(self.schedule(stage, blank, field, records), records, withdrawn)

    def due(self, stage: C, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
        """Return the fixtures that may be played now, in their order; none if the stage is over.

        This is a pure function of everything played so far. A run follows an `Agenda` instead, which carries the
        state of the schedule from one record to the next.
        """
        agenda, found = self.agenda(stage, blank, field, records), list[Fixture]()
        while (due := agenda.next()) is not None:
            found.append(due.fixture)
        return found


# Shared by the kinds.


def with_plan(stage: StageConfig, blank: Fixture) -> Fixture:
    """Return a blank fixture with the plan of a stage: "mirrored" if tables share deals, otherwise "independent"."""
    return blank._replace(plan="mirrored" if stage.mirror else "independent")


def shares_deals(fixture: Fixture) -> bool:
    """Return whether tables of a fixture share deals. Then each deal has as many successive tables as the fixture has bots."""
    return fixture.plan.startswith("mirrored")


def block_size(stage: PairStageConfig, tables: int, pairs: int, least: int = SMALL_BLOCK) -> int:
    """Return the number of tables in a fixture of a pair, if `pairs` pairs play `tables` tables each at the same time.

    With few pairs the fixtures are smaller, so that all cores have work; but they have at least `least` tables. The
    number depends on the stage alone, never on the number of workers, because each fixture starts the bots again.
    """
    most, few = (-(-number // max(pairs, 1)) for number in (FIXTURES_AT_ONCE, FEW_FIXTURES_AT_ONCE))
    fixtures = min(most, max(few, tables // stage.fixture_number))
    return min(MAX_BLOCK_TABLES, max(least, -(-tables // fixtures)))


def blocks(whole: Fixture, block: int = MAX_BLOCK_TABLES) -> list[Fixture]:
    """Return the tables of a fixture divided into fixtures of at most `block` tables, in the order of the tables.

    The path of `whole` is the seed path of its bots; each part adds the number of its first table. If tables share
    deals, `block` is rounded up, so that the tables of a deal stay in one fixture.
    """
    if shares_deals(whole):
        block += -block % len(whole.bots)
    end = whole.first + whole.tables
    return [
        whole._replace(
            plan=whole.plan or "independent",
            path=f"{whole.path}/{first}",
            first=first,
            tables=min(block, end - first),
        )
        for first in range(whole.first, end, block)
    ]


class Meeting(NamedTuple):
    """Bots that share tables: their seed path, for example `league/A+B`, and the order of their seats at table 1."""

    path: str
    bots: tuple[str, ...]


def meeting_path(stage: StageConfig, bots: Iterable[str]) -> str:
    """Return the seed path of the tables that some bots share in a stage. It does not depend on their order."""
    return FixtureId(stage.name, meeting=contestants(bots)).group


class BlockPlans(NamedTuple):
    """The blocks of the meetings, as fixtures without bots. A meeting has the `usual` blocks if its path is not in `own`."""

    usual: Sequence[Fixture]
    own: Mapping[str, Sequence[Fixture]]  # by seed path, for example `league/A+B`

    def in_turn(self, number: int, meetings: Callable[[], Iterable[Meeting]]) -> Lazy:
        """Return the first block of every meeting, then the second block of every meeting, and so on.

        `number` is the number of meetings. Each call of `meetings` must return all of them in the same order. It is
        called for the first blocks, for the second blocks, and so on; and once more if `own` has blocks.
        """
        own = [self.own[each.path] for each in meetings() if each.path in self.own] if self.own else []
        more = sum(len(plan) - len(self.usual) for plan in own)
        steps = (block for nth in range(self.longest) for block in self.blocks(nth, meetings()))
        return Lazy(number * len(self.usual) + more, steps)

    @property
    def longest(self) -> int:
        """Return the largest number of blocks of a meeting."""
        return max(map(len, [self.usual, *self.own.values()]))

    def blocks(self, nth: int, meetings: Iterable[Meeting]) -> Iterator[Fixture]:
        """Yield block `nth` (from 0) of each meeting that has such a block."""
        for path, bots in meetings:
            plan = self.own.get(path, self.usual)
            if nth < len(plan):
                yield plan[nth]._replace(path=f"{path}/{plan[nth].first}", bots=bots)


def block_plans(blank: Fixture, tables: int, block: int, field: Field, seats: int = 2) -> BlockPlans:
    """Return tables 1 to `tables` of each meeting of `seats` bots, divided into blocks of at most `block` tables.

    All meetings have the same blocks, except meetings with fixtures in `field.kept`, which were played before the stage
    was changed. These fixtures stay as they are, and new fixtures fill the gaps.
    """
    played = dict[str, list[tuple[int, int]]]()
    for path, number in field.kept.items():
        place = FixtureId.parse(path)
        if place.first_table is not None:
            played.setdefault(place.group, []).append((place.first_table, number))
    whole = blank._replace(path="", bots=("",) * seats, first=1, tables=tables)
    own = {group: _around(sorted(some), whole, block) for group, some in played.items()}
    return BlockPlans(blocks(whole, block), own)


def _around(played: Sequence[tuple[int, int]], whole: Fixture, block: int) -> list[Fixture]:
    """Return fixtures for all tables of a meeting, in order: the played fixtures, and new ones for the other tables.

    `played` has the first table and the number of tables of each played fixture, in ascending order.
    """
    deal = len(whole.bots) if shares_deals(whole) else 1  # tables that share one

    def between(first: int, last: int, block: int = block) -> list[Fixture]:
        return blocks(whole._replace(first=first, tables=last - first + 1), block)

    found, start = list[Fixture](), 1
    for first, number in [*played, (whole.tables + 1, 0)]:
        even = min(start + -(start - 1) % deal, first)  # what was played may end between tables that share a deal
        found += [*between(start, even - 1), *between(even, first - 1)]
        if number:
            found += between(first, first + number - 1, number)
        start = first + number
    return found
