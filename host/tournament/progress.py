"""Counts the finished fixtures of a run: the progress that it reports, and the sums that views show."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from host.base.safe_text import escape_control_chars, one_line
from host.journal.late_bots import late_warnings
from host.journal.stage_sums import SHOWN_REPLAYS, StageSums
from host.play.records import Record
from host.rating.rankings import Ranking, ranking_of, words_of
from host.rating.results import Fact
from host.rating.strength import MODEL_BOTS
from host.results.early_order import EarlyOrder
from host.stages import as_counted_by, kind_of, references_of
from host.stages.kind import StageConfig


class Progress(NamedTuple):
    """The progress of a stage: reported once before the first fixture, and after every fixture."""

    config: StageConfig
    done: int
    known: int  # fixtures played and due
    record: Record | None  # it may be that of an undecided fixture, which has no results
    bots: Sequence[str] = ()  # that are ranked and have not been withdrawn, in the order of entry
    earlier: StageSums | None = None  # in the first progress: the sums of the fixtures that are finished already

    @property
    def stage(self) -> str:
        """Return the name of the stage."""
        return self.config.name

    @property
    def more(self) -> bool:
        """Whether the stage has rounds, or its kind decides places, as a knockout does. Then more fixtures may follow."""
        kind = kind_of(self.config)
        return kind.places is not None or Fact.ROUNDS in kind.provides

    @property
    def all_meet(self) -> bool:
        """Whether every two bots of the stage meet."""
        return kind_of(self.config).all_meet

    def early_order(self) -> EarlyOrder | None:
        """Return an empty early order; None if some bots of the stage never meet, or if it has more than MODEL_BOTS."""
        return EarlyOrder(self.config, self.bots) if self.all_meet and len(self.bots) <= MODEL_BOTS else None

    def places(self, sums: StageSums) -> "LivePlaces":
        """Return the bots that have played, best first, by the values of those rankings of the stage that follow from `sums`.

        The bots have no rank if sums do not decide it: in a kind of stage with its own places, such as a knockout, or
        in a ranking that does not follow from sums.
        """
        kind, words = kind_of(self.config), words_of(self.config.rank_by, won=sums.won)
        follow = [ranking for word in words if (ranking := ranking_of(word)).of_sums] or [ranking_of("score")]
        values = [of_sums for ranking in follow if (of_sums := ranking.of_sums)]
        played = {bot: sums.bots[bot] for bot in self.bots if bot in sums.bots}
        merits = {
            bot: tuple([value(each, kind.sampling) for value in values])
            for bot, each in played.items()
            if each.tables > 0 and each.fixtures > 0
        }
        ranks, ranked = dict[tuple[float, ...], int](), kind.places is None and len(follow) == len(words)
        rows = list[tuple[int | None, str, float]]()
        for place, bot in enumerate(sorted(merits, key=merits.__getitem__, reverse=True), 1):
            rank = ranks.setdefault(merits[bot], place)
            rows.append((rank if ranked else None, bot, merits[bot][0]))
        return LivePlaces(follow[0], rows)


class LivePlaces(NamedTuple):
    """The bots of a stage so far, best first: rank, name and value in a ranking."""

    ranking: Ranking
    rows: Sequence[tuple[int | None, str, float]]


def ranked_in_turn(stage: StageConfig, entered: Iterable[str], staying: Collection[str]) -> list[str]:
    """Return the bots in `staying` that a stage ranks, in the order of `entered`. Equal bots have this order, too."""
    ranked = {*staying} - {*references_of(stage)}
    return [bot for bot in entered if bot in ranked]


class Tally:
    """Number of finished fixtures and sums of their results, by stage. Views show the sums of the newest stage."""

    def __init__(self) -> None:
        self.latest: Progress | None = None
        self.early: EarlyOrder | None = None
        self.done = Counter[str]()
        self.stages: dict[str, StageSums] = {}  # in the order in which they began

    def add(self, progress: Progress) -> None:
        """Store the progress of a stage. Count the fixture of its record, if it has a record with a result."""
        if self.latest is None or progress.stage != self.latest.stage:
            self.early = progress.early_order() if progress.earlier is None else None  # it needs all records
        self.latest = progress
        self.done[progress.stage] = progress.done
        self.stages.setdefault(progress.stage, progress.earlier or StageSums())
        if progress.record is not None and progress.record.undecided is None:
            self.count(progress.config, progress.record)

    def count(self, stage: StageConfig, record: Record) -> None:
        """Count the results, faults and replays of a record of the newest stage."""
        if self.early is not None:
            self.early.add(record)
        self.stages[stage.name].add(*as_counted_by(stage, [record]))

    @property
    def newest(self) -> StageSums:
        """Return the sums of the newest stage."""
        return self.stages[self.latest.stage] if self.latest else StageSums()

    @property
    def last_fault(self) -> str:
        """Return a text about the last fault in any stage; "" if there is none."""
        found = [sums.last_fault for sums in self.stages.values() if sums.last_fault]
        return "last fault  {} {} in {}".format(*map(escape_control_chars, found[-1])) if found else ""

    def late_warnings(self) -> Iterable[str]:
        """Return a sentence about each bot that times out more often than it answers, in the newest stage with results."""
        asked = [(name, sums) for name, sums in self.stages.items() if sums.asked]
        return late_warnings(asked[-1][0], asked[-1][1].asked, asked[-1][1].late).values() if asked else ()

    def replay_lines(self) -> Iterator[str]:
        """Yield lines about repetitions after failures of the host: their number, then the newest reasons."""
        stages = self.stages.values()
        if replayed := sum(sums.replayed for sums in stages):
            stalled = sum(sums.stalled for sums in stages)
            times = f"{replayed} times, {stalled} of them because the machine stalled or a model did not answer"
            yield f"  repeated after failures of the host: {times}"
            stalls = [stall for sums in stages for stall in sums.stalls]
            failures = [failure for sums in stages for failure in sums.failures]
            for reason in (*stalls[-SHOWN_REPLAYS:], *failures[-SHOWN_REPLAYS:]):
                yield f"    {one_line(reason)}"


def progress_text(progress: Progress) -> str:
    """Return the progress of a stage; in percent if the number of its fixtures is known."""
    if progress.more:
        return f"{progress.stage}  {progress.done} fixtures, {progress.known - progress.done} due"
    percent = 100 * progress.done // progress.known if progress.known else 100
    return f"{progress.stage}  {percent:3d} %  {progress.done} of {progress.known} fixtures"
