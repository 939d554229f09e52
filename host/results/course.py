"""Says stage by stage where a tournament stands, from what its run knows and from its records.

Run, dry run, verify, corrections, standings and pages ask this module; none of them goes through the stages by itself.
Everything follows from the given values. Each value is computed when it is first used, and only once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunState, StageState
from host.play.records import Fixture, Record
from host.results.disqualification import disqualified, last, qualified
from host.results.standings import Row, StageStandings, stage_standings, standings
from host.results.withdrawal import counting
from host.stages import as_counted_by, kind_of, references_of
from host.stages.agenda import Agenda, Records
from host.stages.kind import Entrants, Field, Kind, StageConfig


class Played(NamedTuple):
    """What has been played: functions that return the records of a stage, and the tables of each of its fixtures ever."""

    records: Callable[[str], Records]
    sizes: Callable[[str], Mapping[str, int]]


NOTHING = Played(lambda _stage: {}, lambda _stage: {})


class StageOutcome(NamedTuple):
    """The outcome of a stage: the bots in the order of their places, and the bots of the next stage, best first."""

    places: Sequence[str]
    advancing: Sequence[str]


@dataclass(frozen=True)
class CourseInput:
    """What a course follows from. `entered` are the bots without guests, in the order in which the first stage gets them.

    With a `blank` fixture, which has the game and its rules, what is left to play counts too: a finished stage to which
    fixtures were added is not over, and the number of bots that a stage will leave is known before its end.
    """

    run: RunState
    bots: Mapping[str, RecordedBot]
    seed: bytes | None  # None if it is not known
    played: Played
    entered: Sequence[str]
    blank: Fixture | None = None


@dataclass(frozen=True)
class Position:
    """Where a tournament stands in one stage. `before` is the position in the stage before; None in the first one."""

    tournament: CourseInput
    state: StageState
    before: "Position | None"

    @property
    def config(self) -> StageConfig:
        """The stage as configured."""
        return self.state.config

    @property
    def kind(self) -> Kind[Any]:
        """The kind of the stage."""
        return kind_of(self.config)

    @cached_property
    def records(self) -> Records:
        """What has been played of the stage."""
        return self.tournament.played.records(self.state.name)

    # Which bots begin the stage.

    @property
    def decided(self) -> bool:
        """Whether the stages before are over, so that it is known which bots reach this one."""
        return self.before is None or (self.before.decided and (self.before.skipped or self.before.over))

    @cached_property
    def reaching(self) -> Sequence[str]:
        """The bots that are still in the tournament, best first if a stage has ranked them; also references and the
        withdrawn. Unless `decided`, only their number means something."""
        if self.before is None:
            return self.tournament.entered
        before = self.before
        if before.skipped:
            return before.reaching
        references = {*before.reaching} & {*references_of(before.config)}
        return [*before.advancing, *sorted(references)]

    @cached_property
    def seeded(self) -> list[str] | None:
        """The bots that reach the stage in the order in which it begins; None if that depends on a seed that is unknown."""
        if self.kind.seeded is None:
            return self._entrants
        places = {each.state.name: each.places for each in self._earlier if not each.skipped}
        order: list[str] | None = self.kind.seeded(self.config, Entrants(self._entrants, places, self.tournament.seed))
        return order

    @cached_property
    def bots(self) -> list[str]:
        """The bots that begin the stage. They are as recorded if they cannot be known: a stage before it was opened again,
        or the seed is unknown. The dry run looks ahead instead."""
        looks_ahead = self.decided or self.tournament.blank is not None
        order = self.seeded if self.seeded is not None and looks_ahead else self.state.field or self._entrants
        return [bot for bot in order if bot not in self.state.withdrawn.before]

    @property
    def _entrants(self) -> list[str]:
        references = references_of(self.config)
        return [bot for bot in self.reaching if bot not in references]

    @property
    def _earlier(self) -> Iterator["Position"]:
        position = self.before
        while position is not None:
            yield position
            position = position.before

    @property
    def skipped(self) -> bool:
        """Whether too few bots reach the stage. The first stage is played in any case."""
        return self.before is not None and len(self.bots) < self.config.min_bots

    @cached_property
    def field(self) -> Field:
        """What the schedule of the stage starts from."""
        run, bots = self.tournament.run, self.bots
        return Field(
            bots=bots,
            seed=self.tournament.seed or b"",
            stop_early=run.stop_early,
            max_faults=run.max_faults,
            withdrawn=tuple(bot for bot in bots if bot in self.state.withdrawn.during),
            kept=self.tournament.played.sizes(self.state.name),
        )

    # What is played, and what follows from it.

    def agenda(self, blank: Fixture, records: Records | None = None) -> Agenda:
        """Return what is left to play, after the given records or those of the stage."""
        return self.kind.agenda(self.config, blank, self.field, self.records if records is None else records)

    @cached_property
    def due(self) -> list[Fixture]:
        """The fixtures that may be played now. Empty without `blank`, and for a finished stage that takes no additions."""
        blank = self.tournament.blank
        if blank is None or self.skipped or (self.state.over and self.kind.changes.adaptive):
            return []
        return self.kind.due(self.config, blank, self.field, self.records)

    @property
    def over(self) -> bool:
        """Whether the stage has been played to its end."""
        return self.state.over and not self.due

    @cached_property
    def disqualified(self) -> dict[str, int]:
        """The bots with too many faults in the stage, with their faults."""
        return disqualified(self.records.values(), self.field.max_faults)

    @cached_property
    def outcome(self) -> StageOutcome:
        """The outcome of the stage if it ends now, from its records alone."""
        kind, field = self.kind, self.field
        if kind.places:
            places = kind.places(self.config, field, self.records)
        else:
            inside = {name: bot for name, bot in self.tournament.bots.items() if name in field.bots}
            counted = counting(self.config, self.records.values(), field.withdrawn)
            counted = [record for record in counted if not record.undecided]
            places = [row.bot for row in standings(self.config, as_counted_by(self.config, counted), inside)]
        return StageOutcome(last(places, self._out), self._qualified(places))

    @property
    def _out(self) -> set[str]:
        """The bots of the stage that do not play the next one, whatever their place."""
        return {*self.disqualified, *self.field.withdrawn}

    def _qualified(self, places: Sequence[str]) -> list[str]:
        left = self.kind.left(self.config, self.field, self.records) if self.kind.left else places
        return qualified(left, places, self._out)

    @cached_property
    def places(self) -> Sequence[str]:
        """The bots in the order of their places. Of a running stage: the bots that would play the next one."""
        if not self.over:
            return self.advancing
        return self.state.places or self.outcome.places

    @cached_property
    def advancing(self) -> Sequence[str]:
        """The bots that play the next stage, best first. Before the end of the stage, only their number means something."""
        if self.over:
            return self._qualified(self.state.places) if self.state.places else self.outcome.advancing
        bots, blank = [bot for bot in self.bots if bot not in self.field.withdrawn], self.tournament.blank
        size = self.kind.size(self.config, blank, len(bots)) if self.kind.size and blank else None
        return bots[: size.left] if size else bots

    # What pages show.

    @cached_property
    def shown_order(self) -> Sequence[str]:
        """The bots of the stage as recorded. Until they are, those of the stage before in the order of their places."""
        if self.state.field:
            return self.state.field
        return (
            list(self.tournament.bots) if self.before is None else self.before.state.places or self.before.shown_order
        )

    @property
    def shown_bots(self) -> list[str]:
        """The bots that take part as recorded. Until they are, all bots."""
        return list(self.state.field or self.tournament.bots)

    @property
    def staying(self) -> list[str]:
        """Those of them that are not withdrawn."""
        return [bot for bot in self.shown_bots if bot not in self.tournament.run.withdrawn]

    @cached_property
    def counted(self) -> list[Record]:
        """The records that count now. Those of withdrawn bots do not, unless they have decided who met whom."""
        return [record for record in self.recorded if not record.undecided]

    @cached_property
    def recorded(self) -> list[Record]:
        """The same records, and those of fixtures without a result: both decide what was played after them."""
        return counting(self.config, self.records.values(), self.tournament.run.withdrawn)

    @cached_property
    def standings(self) -> StageStandings:
        """The standings of the stage. Stages before it are read only if they rank bots that are out."""
        run, bots = self.tournament.run, self.tournament.bots
        earlier: Sequence[Row] = ()
        if self.before is not None and set(bots) - set(self.shown_bots):
            earlier = self.before.standings.rows
        return stage_standings(run, self.state, self.recorded, bots, earlier)


def course(
    run: RunState,
    bots: Mapping[str, RecordedBot],
    seed: bytes | None,
    played: Played,
    blank: Fixture | None = None,
) -> list[Position]:
    """Return the position of a tournament in each of its stages.

    `bots` are all bots in the order in which they were entered. The other arguments are those of `CourseInput`.
    """
    entered = [name for name in bots if name not in run.guests]
    tournament = CourseInput(run, bots, seed, played, entered, blank)
    positions = list[Position]()
    for state in run.stages:
        positions.append(Position(tournament, state, positions[-1] if positions else None))
    return positions


def positions_of(journal: Journal) -> list[Position]:
    """Return the position in each stage of a run without its seed. The records of a stage are read when they are needed."""

    def read(name: str) -> Records:
        played = {record.path: record for _, record in journal.records(name)}
        return played | {each.path: each.record for each in journal.undecided(name)}

    return course(journal.state(), journal.bots(), None, Played(read, journal.sizes))
