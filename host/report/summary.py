"""Summarizes a run from its journal, in plain values for pages and programs."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from host import __version__
from host.base.format import counted, thousands
from host.base.grouping import grouped
from host.base.safe_text import one_line
from host.bots.values import Evidence, Usage, total_usage
from host.games.engine import Game
from host.inspect.evidence import time_breakdown
from host.inspect.visibility import table_of, visible
from host.journal.check import wal_files
from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunState
from host.journal.tournament_dir import seed_text
from host.play.records import (
    Record,
    Replays,
    causes_of_benching,
    count_faults,
    count_replays,
    joined_to_causes,
)
from host.rating.rankings import ranking_of
from host.rating.results import Fact
from host.rating.statistics import is_certain
from host.report.anonymize import REAL_NAMES, Anonymizer
from host.report.listings import Results
from host.report.stage_results import Stage, stage_of, with_pairs
from host.report.timelines import (
    RankedSoFar,
    Ranks,
    SumsSoFar,
    UntilAllMet,
    early_order,
    pair_timelines,
    ranks,
)
from host.results.course import NOTHING, course
from host.results.standings import (
    PairResult,
    Row,
)
from host.results.withdrawal import left_out
from host.sandbox.limits import Limits
from host.stages import as_counted_by, kind_of, references_of
from host.stages.kind import SkippedStage, StageConfig
from host.submissions.headline import Output
from protocols.wire import FaultKind

MAX_PIECES_PER_KIND = 3  # most pieces of evidence per bot and kind of fault
MAX_EVIDENCE_PIECES = 600  # most pieces of evidence in a summary, unless one per bot and kind of fault is more
MAX_SHOWN_EVIDENCE_CHARS = 600  # most characters of one piece of evidence
STDERR_LINES_SHOWN = 8


class EvidenceSample(NamedTuple):
    """One decision with a fault or a slow answer. Its texts would reveal cards, so they are empty while its stage runs."""

    bot: str
    table: str  # empty while the stage runs
    number: int
    kind: str
    detail: str
    question: str
    raw: str
    stderr: str
    wall: float  # seconds
    went: str  # in words, how the bot spent these seconds, if it is known
    ended: str


class Faults(NamedTuple):
    """Faults of one bot of one kind."""

    bot: str
    kind: str
    times: int
    samples: tuple[EvidenceSample, ...]
    after: Mapping[str, int] = {}  # if the kind is "benched": the number of faults that caused it, by kind


class BotSummary(NamedTuple):
    """Summary of a bot: its identity, its results and its usage."""

    number: int  # from 1, in the order of entry
    name: str
    language: str
    author: str
    protocol: str
    sha256: str
    rows: tuple[tuple[str, Row], ...]  # (stage, row)
    ranks: Ranks | None  # of the last stage that has ranks over time
    opponents: tuple[tuple[str, PairResult], ...]
    opponents_in: str  # the stage that `opponents` is taken from: the one with the most pairs
    faults: tuple[Faults, ...]
    slowest: tuple[EvidenceSample, ...]
    spent: Usage | None  # usage in the run; None if the bot was never asked
    limit: float | None  # seconds for every answer; None if the bot has a time bank


class RunSummary(NamedTuple):
    """Everything that pages show of a run. It has nothing about a running stage that a bot or its author could use."""

    name: str
    game: Game | None = None  # None: its code is not known here
    run: RunState = RunState(version=__version__)  # without its stages and terms, and without its seed
    seed: str = ""  # in the form that `--seed` reads; empty while it is secret
    ended: float | None = None  # seconds since 1970
    sentence: str = ""
    rules: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}  # other settings that results depend on, by key of croupier.toml, without secrets
    stages: tuple[Stage, ...] = ()
    bots: tuple[BotSummary, ...] = ()
    newest: int = 0  # id of the newest fixture
    again: Replays = Replays(0, (), ())
    skipped: Sequence[SkippedStage] = ()
    problem: str = ""  # why there is nothing to show

    @property
    def title(self) -> str:
        """Return the title of the game; its name if its code is not known here."""
        return self.game.title if self.game else self.run.game

    @property
    def state(self) -> str:
        """Return the status of the run: "running", "interrupted" or "finished"; "" if there is no run."""
        return self.run.status if self.stages else ""

    @property
    def results(self) -> list[Results]:
        """Return the results of each stage as commands show them, but without the undecided fixtures, which name tables."""
        return [Results(self.run, stage, self.game, self.seed or None, self.skipped) for stage in self.stages]

    @property
    def stage(self) -> Stage | None:
        """Return the last stage with a played fixture; None if nothing has been played."""
        return next((stage for stage in reversed(self.stages) if stage.fixtures), None)

    @property
    def faults(self) -> list[Faults]:
        """Return all faults, the most frequent first. The benchings of a bot follow directly on their causes."""
        groups = {(group.bot, group.kind): group for bot in self.bots for group in bot.faults}
        counts = {key: group.times for key, group in groups.items()}
        causes = {group.bot: group.after for group in groups.values() if group.after}
        return [groups[key] for key in joined_to_causes(counts, causes)]

    @property
    def number(self) -> Mapping[str, int]:
        """Return the number of each bot, by name."""
        return {bot.name: bot.number for bot in self.bots}


def summarize(
    journal: Journal,
    seed: bytes | None = None,
    shown: Container[str] | None = None,
    before: RunSummary | None = None,
    names: Anonymizer = REAL_NAMES,
) -> RunSummary:
    """Return the summary of a journal. It contains the seed only if the run is finished.

    It contains cards of the stages in `shown`, by default of the finished stages. `before` is an earlier summary of the
    journal: values of a finished stage that take long to compute are copied from it. `names` are the names of the bots
    in the summary.
    """
    state, bots = names.state(journal.state()), names.bots(journal.bots())
    shown = visible(journal).stages if shown is None else shown
    over = state.finished
    configs = {config.name: config for config in state.configs}
    if before and before.run.changes != state.changes:
        before = None
    read = _read(journal, state, names)
    everything = [(name, record) for name, numbered in read.items() for _, record in numbered]
    newest = max((number for numbered in read.values() for number, _ in numbered), default=0)
    stages, scored = [], partial(names.scored, journal)
    undecided = {name: [names.record(each.record) for each in journal.undecided(name)] for name in read}
    for stage in _stages(state, read, undecided, bots):
        known, config = _finished(before, state, stage), configs[stage.name]
        records = [record for _, record in read[stage.name]]
        stages.append(
            stage._replace(
                head_to_heads=known.head_to_heads
                if known
                else pair_timelines(scored, stage.pairs, records, stage.name in shown, kind_of(config).tourneys),
                ranks=known.ranks if known else _ranks(config, stage, records),
                seal=journal.seal(stage.name) if stage.state == "finished" else "",
            )
        )
    entrants = _entrants(_evidence(journal, names), bots, stages, configs, everything, shown)
    settings = {key: value for key, value in state.settings().items() if over or key != "seed"}
    rules = settings.pop("rules", {})
    last = next((stage for stage in reversed(stages) if stage.fixtures), None)
    name = one_line("A friendly game" if state.name == "friendly" and not settings else state.name)
    return RunSummary(
        name=name,
        game=journal.registry.known_game(state.game),
        run=replace(state, terms=None, seed=None, stages=()),
        settings=settings,
        seed=seed_text(seed) if seed is not None and over else "",
        ended=_last_result(journal.path),
        sentence=_sentence(name, over, last),
        rules=rules if state.terms and state.terms.rules else _rules(journal),
        stages=tuple(stages),
        bots=tuple(entrants),
        newest=newest,
        again=count_replays(record for _, record in everything),
        skipped=state.skipped,
    )


def _read(journal: Journal, state: RunState, names: Anonymizer) -> dict[str, list[tuple[int, Record]]]:
    """Return the records that count, each with its id, by stage. Bots have the names of the report."""
    read = dict[str, list[tuple[int, Record]]]()
    for config in state.configs:
        absent = left_out(config, state.withdrawn)
        named = ((number, names.record(record)) for number, record in journal.records_since(config.name))
        read[config.name] = [(number, record) for number, record in named if absent.isdisjoint(record.results)]
    return read


def _last_result(journal: Path) -> float | None:
    """Return the time of the last write to a journal, in seconds since 1970; None if there is no file.

    Ignore an empty log and the index of the log: SQLite makes both even if a process only reads.
    """
    log, _index = wal_files(journal)
    return max((file.stat().st_mtime for file in (journal, log) if file.exists() and file.stat().st_size), default=None)


def _stages(
    run: RunState,
    read: Mapping[str, Sequence[tuple[int, Record]]],
    undecided: Mapping[str, Sequence[Record]],
    bots: Mapping[str, RecordedBot],
) -> Iterator[Stage]:
    """Yield each stage with the results of its pairs.

    `read` are the records that count with their ids, and `undecided` the records of undecided fixtures, both by stage.
    """

    def records(name: str) -> dict[str, Record]:
        return {record.path: record for record in [*(each for _, each in read[name]), *undecided[name]]}

    played = NOTHING._replace(records=records)
    positions = course(run, bots, None, played)
    for number, position in enumerate(positions):
        later = {bot for after in positions[number + 1 :] for record in after.counted for bot in record.results}
        yield with_pairs(stage_of(position, later), position)


def _finished(before: RunSummary | None, state: RunState, stage: Stage) -> Stage | None:
    """Return a finished stage from an earlier summary.

    Return None if that summary is of another run, or if the stage was not finished in it.
    """
    if before is None or stage.state != "finished" or before.run.began != state.began:
        return None
    return next((each for each in before.stages if (each.name, each.state) == (stage.name, "finished")), None)


def _ranks(config: StageConfig, stage: Stage, records: Sequence[Record]) -> Ranks | None:
    """Return the ranks over time in a stage, by its own rankings, or by strength until all pairs have met.

    Return None if the kind of the stage decides places, if nothing has been played, or if the ranks would take too long
    to compute.
    """
    kind, records, references = kind_of(config), as_counted_by(config, records), {*references_of(config)}
    if kind.places:
        return None
    if references:
        ranked = [{bot: each for bot, each in record.results.items() if bot not in references} for record in records]
        records = [record._replace(results=own) for record, own in zip(records, ranked, strict=True)]
    if not records or not stage.rows:
        return None
    first, *others = (ranking_of(word) for word in stage.rows[0].estimates)
    now = {row.bot: row.rank for row in stage.rows if row.tables and row.bot not in references}
    unit = "tourneys" if kind.tourneys else "rounds" if Fact.ROUNDS in kind.provides else "fixtures"
    order: SumsSoFar | RankedSoFar = SumsSoFar(bool(first.counted) or first.name == "wins", kind.tourneys)
    if not (first.in_row or first.name == "wins") and not stage.standings.so_far:
        if not first.has_keys:
            return None
        order = RankedSoFar(config, [first, *(each for each in others if each.has_keys)], [*now])
    if kind.all_meet:
        early = early_order(config, records, complete=not stage.standings.so_far)
        return ranks(records, unit, UntilAllMet(early, order), now)
    return ranks(records, unit, order, now)


def _evidence(journal: Journal, names: Anonymizer) -> Iterator[tuple[str, Evidence]]:
    """Yield each piece of evidence as (path of its fixture, piece), with the names of the report."""
    for _, path, piece in journal.evidence():
        yield names.path(path), names.evidence(piece)


def _rules(journal: Journal) -> dict[str, Any]:
    """Return the rules of the first fixture as JSON values; empty if nothing has been played."""
    for path in journal.paths()[:1]:
        rules = journal.fixture(path).rules._asdict()
        return {key: list(value) if isinstance(value, tuple) else value for key, value in rules.items()}
    return {}


def _sentence(name: str, over: bool, stage: Stage | None) -> str:
    """Return a sentence with the result of a run and its certainty. `stage` is the last stage that has been played."""
    if stage is None or not (rows := [row for row in stage.rows if row.tables]):
        return "Nothing has been played yet."
    first = rows[0]
    bot = one_line(first.bot)
    what = f"{name} " if name and name != "A friendly game" else ""
    if stage.bracket:
        return _of_cup(stage, name if what else "")
    if stage.groups:
        return f"{bot} {'wins' if over else 'is ahead in'} {what}{_of_groups(stage, first)}"
    if graded := stage.grades.rows:
        points = [row.points for row in graded]
        what = f"{counted(len(points), 'bot')}, {min(points)} to {max(points)} of {graded[0].most} points"
        return f"{name}: {what}{'' if over else ' so far'}."
    figure = first.ranking.phrase_of(first.first, first.tables)
    certain = one_line(stage.standings.sure[0]) if stage.standings.sure else ""
    where = f"in {what}" if what else ""
    ahead = "ahead so far" if stage.standings.so_far else "ahead"
    if certain and not is_certain(certain):
        return f"{bot} is {'first' if over else ahead} {where}{figure}, but that may be luck: {certain}."
    verb = f"wins {what}" if over else f"is {ahead} {where}"
    if certain.startswith(f"{bot} ahead of "):
        certain = certain.removeprefix(f"{bot} ")
    return f"{bot} {verb}{figure}, {certain}." if certain else f"{bot} {verb}{figure}."


def _of_cup(stage: Stage, name: str) -> str:
    """Return a sentence about a knockout: the result of its final, or its current round.

    Sets decide a knockout, so the sentence has no certainty.
    """
    final = stage.final
    if final is None:
        return f"{name or 'The knockout'} is in round {stage.bracket[-1].round} of the bracket; who wins is still open."
    winner = one_line(final.winner)
    (other,) = (one_line(bot) for bot in final.bots if bot != final.winner)
    most, least = sorted(final.won, reverse=True)
    return f"{winner} wins {name or 'the knockout'} by {most} sets to {least} against {other} in the {final.title}."


def _of_groups(stage: Stage, first: Row) -> str:
    """Return the end of the sentence about a stage of groups: the result of its best bot, `first`.

    If the last group played only one game, the sentence says that the result depends much on luck.
    """
    chips = f"{thousands(first.points.value or 0)} chips"
    last = stage.groups[-1]
    if last.games == 1:
        return f"with {chips} in one last game of {len(last.seats)} bots, which leaves much to luck."
    return f"among the first in {first.wins:g} of {first.tables} games, with {chips} on average."


# Bots.


def _entrants(
    evidence: Iterable[tuple[str, Evidence]],
    bots: Mapping[str, RecordedBot],
    stages: Sequence[Stage],
    configs: Mapping[str, StageConfig],
    everything: Sequence[tuple[str, Record]],
    shown: Container[str],
) -> list[BotSummary]:
    samples = _samples(evidence, configs, {record.path: name for name, record in everything}, shown)
    compared = max(stages, key=lambda stage: len(stage.pairs), default=None)
    pairs = compared.pairs if compared else {}
    opponents = grouped((one, (other, pair)) for (one, other), pair in pairs.items())
    records = [record for _, record in everything]
    counts, causes = count_faults(records), causes_of_benching(records)
    faults = dict[str, list[Faults]]()
    for bot, kind in joined_to_causes(counts, causes):
        after = causes[bot] if kind == FaultKind.BENCHED else {}
        faults.setdefault(bot, []).append(Faults(bot, kind, counts[bot, kind], samples.get((bot, kind), ()), after))
    usage = grouped((bot, used) for _, record in everything for bot, used in record.usage.items())
    rows = grouped((row.bot, (stage.name, row)) for stage in stages for row in stage.rows)
    return [
        BotSummary(
            number=number,
            name=name,
            language=bot.language,
            author=bot.author,
            protocol=bot.protocol,
            sha256=bot.sha256,
            rows=tuple(rows.get(name, ())),
            ranks=next((stage.ranks for stage in reversed(stages) if stage.ranks), None),
            opponents=tuple(opponents.get(name, ())),
            opponents_in=compared.name if compared else "",
            faults=tuple(faults.get(name, ())),
            slowest=samples.get((name, "slowest"), ()),
            spent=spent if spent.questions else None,
            limit=_limit_of_answers(bot.limits),
        )
        for number, (name, bot) in enumerate(bots.items(), 1)
        for spent in [total_usage(usage.get(name, ()))]
    ]


def _samples(
    evidence: Iterable[tuple[str, Evidence]],
    configs: Mapping[str, StageConfig],
    stage_of: Mapping[str, str],
    shown: Container[str],
) -> dict[tuple[str, str], tuple[EvidenceSample, ...]]:
    """Return the decisions that a page shows, by (bot, kind). The kind is the kind of a fault, or "slowest"."""
    pieces: dict[tuple[str, str], list[tuple[str, Evidence]]] = {}
    for path, piece in evidence:
        found = pieces.setdefault((piece.bot, piece.kind), [])
        if piece.kind == "slowest" or len(found) < MAX_PIECES_PER_KIND:
            found.append((path, piece))
        if piece.kind == "slowest":
            found[:] = sorted(found, key=lambda one: -one[1].wall)[:MAX_PIECES_PER_KIND]
    most = max(1, min(MAX_PIECES_PER_KIND, MAX_EVIDENCE_PIECES // max(1, len(pieces))))

    def sample(path: str, piece: Evidence) -> EvidenceSample:
        stage = stage_of.get(path, "")
        return _sample(piece, table_of(configs.get(stage), path, piece.table), stage in shown)

    return {key: tuple(sample(path, piece) for path, piece in found[:most]) for key, found in pieces.items()}


def _sample(piece: Evidence, table: str, shown: bool) -> EvidenceSample:
    def text(content: bytes) -> str:
        return "" if not shown else _cut(content.decode(errors="replace"))

    return EvidenceSample(
        bot=piece.bot,
        table=table if shown else "",
        number=piece.number,
        kind=piece.kind,
        detail=_cut(piece.detail) if shown else "",
        question=text(piece.question),
        raw=text(piece.raw),
        stderr="\n".join(Output(piece.stderr).lines(STDERR_LINES_SHOWN))[:MAX_SHOWN_EVIDENCE_CHARS] if shown else "",
        wall=piece.wall,
        went=time_breakdown(piece),
        ended=_cut(piece.ended) if shown else "",
    )


def _cut(text: str) -> str:
    """Return the last MAX_SHOWN_EVIDENCE_CHARS characters of an untrusted text, with control characters escaped."""
    clean = "\n".join(one_line(line) for line in text.split("\n"))
    return clean if len(clean) <= MAX_SHOWN_EVIDENCE_CHARS else f"… {clean[-MAX_SHOWN_EVIDENCE_CHARS:]}"


def _limit_of_answers(limits: Limits) -> float | None:
    """Return the time limit of every answer in seconds; None if the bot has a time bank for all its answers."""
    return None if limits.bank.seconds else limits.move
