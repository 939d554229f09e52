"""Computes stage by stage the progress of a tournament, from the state of its run and from its records.

Run, dry run, verify, corrections, standings and pages ask this module; none of them goes through the stages by itself.
Everything follows from the given values. Each value is computed when it is first used, and only once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """What has been played, as two functions that take the name of a stage.

    `records` returns the records of the stage, by path. `sizes` returns the number of tables of every fixture that the
    stage has ever had, by path.
    """

    records: Callable[[str], Records]
    sizes: Callable[[str], Mapping[str, int]]


NOTHING = Played(lambda _stage: {}, lambda _stage: {})


class StageOutcome(NamedTuple):
    """Outcome of a stage: its bots in the order of their places, and the bots of the next stage, best first."""

    places: Sequence[str]
    advancing: Sequence[str]


@dataclass(frozen=True)
class CourseInput:
    """Input of a course. `entered` are the bots without guests, in the order in which the first stage gets them.

    `blank` is a fixture with the game and its rules, from which the fixtures that are left to play can be made. With
    it, a finished stage to which fixtures were added is not over, and the number of bots that a stage leaves is known
    before its end. If it is None, only what has been played counts.
    """

    run: RunState
    bots: Mapping[str, RecordedBot]
    seed: bytes | None  # None if it is not known
    played: Played
    entered: Sequence[str]
    blank: Fixture | None = None


@dataclass(frozen=True)
class Position:
    """Progress of a tournament in one stage. `before` is the position in the previous stage; None in the first."""

    tournament: CourseInput
    state: StageState
    before: "Position | None"

    @property
    def config(self) -> StageConfig:
        """Return the configuration of the stage."""
        return self.state.config

    @property
    def kind(self) -> Kind[Any]:
        """Return the kind of the stage."""
        return kind_of(self.config)

    @cached_property
    def records(self) -> Records:
        """Return the records of the stage, by path."""
        return self.tournament.played.records(self.state.name)

    # Which bots begin the stage.

    @property
    def decided(self) -> bool:
        """Whether all previous stages are over or skipped, so that the bots that reach this stage are known."""
        return self.before is None or (self.before.decided and (self.before.skipped or self.before.over))

    @cached_property
    def reaching(self) -> Sequence[str]:
        """Return the bots that are still in the tournament, best first if a stage has ranked them.

        References and withdrawn bots are among them. Until `decided` is true, only the number of bots is meaningful.
        """
        if self.before is None:
            return self.tournament.entered
        before = self.before
        if before.skipped:
            return before.reaching
        references = {*before.reaching} & {*references_of(before.config)}
        return [*before.advancing, *sorted(references)]

    @cached_property
    def seeded(self) -> list[str] | None:
        """Return the bots that reach the stage, in the order in which it begins.

        Return None if the order depends on the seed of the tournament and the seed is not known.
        """
        if self.kind.seeded is None:
            return self._entrants
        places = {each.state.name: each.places for each in self._earlier if not each.skipped}
        order: list[str] | None = self.kind.seeded(self.config, Entrants(self._entrants, places, self.tournament.seed))
        return order

    @cached_property
    def bots(self) -> list[str]:
        """Return the bots that begin the stage, in the order in which it begins.

        Return the recorded bots if they cannot be computed: because a previous stage was opened again, or because the
        seed is not known. With `blank`, compute them even if a previous stage is not over. Bots that were withdrawn
        before the stage are left out.
        """
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
        """Whether the stage is not played because too few bots reach it. The first stage is always played."""
        return self.before is not None and len(self.bots) < self.config.min_bots

    @cached_property
    def field(self) -> Field:
        """Return the input of the schedule of the stage: its bots, the seed and the settings."""
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
        """Return an agenda of the fixtures left to play after `records`, by default the present records of the stage."""
        return self.kind.agenda(self.config, blank, self.field, self.records if records is None else records)

    @cached_property
    def due(self) -> list[Fixture]:
        """Return the fixtures that may be played now.

        None are returned without `blank`, or for a finished stage to which no fixtures can be added.
        """
        blank = self.tournament.blank
        if blank is None or self.skipped or (self.state.over and self.kind.changes.adaptive):
            return []
        return self.kind.due(self.config, blank, self.field, self.records)

    @property
    def over(self) -> bool:
        """Whether the stage is finished and no fixture is left to play."""
        return self.state.over and not self.due

    @cached_property
    def disqualified(self) -> dict[str, int]:
        """Return the number of faults of each bot with too many faults in the stage, by bot."""
        return disqualified(self.records.values(), self.field.max_faults)

    @cached_property
    def outcome(self) -> StageOutcome:
        """Return the outcome of the stage if it ends now. Compute it from the records alone."""
        kind, field = self.kind, self.field
        if kind.places:
            places = kind.places(self.config, field, self.records)
        else:
            inside = {name: bot for name, bot in self.tournament.bots.items() if name in field.bots}
            counted = as_counted_by(self.config, counting(self.config, self.records.values(), field.withdrawn))
            places = [row.bot for row in standings(self.config, counted, inside, order=field.bots)]
        return StageOutcome(last(places, self._out), self._qualified(places))

    @property
    def _out(self) -> set[str]:
        """Return the disqualified and the withdrawn bots, which do not play the next stage, whatever their place."""
        return {*self.disqualified, *self.field.withdrawn}

    def _qualified(self, places: Sequence[str]) -> list[str]:
        left = self.kind.left(self.config, self.field, self.records) if self.kind.left else places
        return qualified(left, places, self._out)

    @cached_property
    def places(self) -> Sequence[str]:
        """Return the bots in the order of their places. While the stage runs, return `advancing`."""
        if not self.over:
            return self.advancing
        return self.state.places or self.outcome.places

    @cached_property
    def advancing(self) -> Sequence[str]:
        """Return the bots that play the next stage, best first.

        Until this stage is over, only their number is known.
        """
        if self.over:
            return self._qualified(self.state.places) if self.state.places else self.outcome.advancing
        bots, blank = [bot for bot in self.bots if bot not in self.field.withdrawn], self.tournament.blank
        size = self.kind.size(self.config, blank, len(bots)) if self.kind.size and blank else None
        return bots[: size.left] if size else bots

    # What pages show.

    @cached_property
    def shown_order(self) -> Sequence[str]:
        """Return the recorded bots of the stage. If none are recorded yet, return the bots of the previous stage in the
        order of their places."""
        if self.state.field:
            return self.state.field
        return (
            list(self.tournament.bots) if self.before is None else self.before.state.places or self.before.shown_order
        )

    @property
    def shown_bots(self) -> list[str]:
        """Return the recorded bots of the stage. If none are recorded yet, return all bots."""
        return list(self.state.field or self.tournament.bots)

    @property
    def staying(self) -> list[str]:
        """Return the bots of `shown_bots` that are not withdrawn."""
        return [bot for bot in self.shown_bots if bot not in self.tournament.run.withdrawn]

    @cached_property
    def counted(self) -> list[Record]:
        """Return the records that count now, without undecided fixtures.

        The records of withdrawn bots count only if other fixtures of the stage depend on them.
        """
        return [record for record in self.recorded if not record.undecided]

    @cached_property
    def recorded(self) -> list[Record]:
        """Return the records of `counted` and of the undecided fixtures: both decide which fixtures are played next."""
        return counting(self.config, self.records.values(), self.tournament.run.withdrawn)

    @cached_property
    def standings(self) -> StageStandings:
        """Return the standings of the stage. Read previous stages only if they rank bots that are out."""
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

    `bots` are all bots by name, in the order in which they were entered. `CourseInput` explains the other arguments.
    """
    entered = [name for name in bots if name not in run.guests]
    tournament = CourseInput(run, bots, seed, played, entered, blank)
    positions = list[Position]()
    for state in run.stages:
        positions.append(Position(tournament, state, positions[-1] if positions else None))
    return positions


def positions_of(journal: Journal, changes: int | None = None) -> list[Position]:
    """Return the position of a tournament in each of its stages, from its journal. The seed counts as unknown.

    The journal is read for the records of a stage only when they are used. Only the first `changes` changes of the run
    count, by default all: a bot that a later one withdraws is not withdrawn.
    """
    run = journal.state()
    run = replace(run, changes=run.changes[:changes])

    def read(name: str) -> Records:
        played = {record.path: record for _, record in journal.records(name)}
        return played | {each.path: each.record for each in journal.undecided(name)}

    return course(run, journal.bots(), None, Played(read, journal.sizes))
