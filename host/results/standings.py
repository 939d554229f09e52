"""Computes the standings of a stage from its records: the order of the bots and its certainty (rating/rankings.py)."""

import math
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from host.base.format import counted
from host.base.grouping import grouped
from host.base.safe_text import one_line
from host.bots.values import total_usage
from host.journal.state import RecordedBot, RunState, StageState
from host.play.fixture_id import group_of
from host.play.lines import may_repeat, repeats_in
from host.play.records import Record, Undecided, cause_text
from host.rating.evidence import Effect, Evidence, Meeting, Unit
from host.rating.rankings import Estimate, Ranking, Sure, ranking_of, words_of
from host.rating.statistics import MIN_CERTAINTY, how_sure, needed, words
from host.rating.units import Results, meeting_of
from host.results.disqualification import excess
from host.results.early_order import OPPONENTS_COUNT, PairsMet
from host.results.model_costs import per_table
from host.results.withdrawal import NOTE, counting
from host.stages import as_counted_by, kind_of, references_of, results_of
from host.stages.kind import StageConfig

MAX_NAMED_BOTS = 5  # most bots that one sentence names; of a longer group, it names the first and the last

MAX_MARGIN = 0.2
"""Largest half width of an interval (0 to 1) with which pages show the rate of a pair whose order is not certain."""

NO_ESTIMATE = Estimate(None)


class Costs(NamedTuple):
    """The faults of a bot in a stage, and the time that it used."""

    faults: int
    faults_by_kind: dict[str, int]
    p99: float | None  # seconds; 99 of 100 answers were not slower
    cpu_per_decision: float | None  # seconds
    benched: int  # number of fixtures in which the bot was benched
    pauses: int  # number of times that the bot was frozen while other bots were thinking
    pondered: float  # seconds of processor time that the bot used before it was frozen


class Row(NamedTuple):
    """Row of one bot in the standings. A value is None until it is known, for example an interval after one tourney."""

    rank: int  # from 1; equal bots share a rank
    bot: str
    language: str
    author: str
    kind: str  # of the stage
    mirror: bool  # whether tables shared their deals
    tables: int
    wins: float | None  # None if wins do not rank; not a whole number if equal bots share a win
    estimates: Mapping[str, Estimate]  # by ranking, in the order of `rank_by`
    costs: Costs
    note: str = ""
    disqualified: bool = False  # for too many faults
    withdrawn: bool = False  # by the organiser
    different: int = 0  # tables that repeat no other
    models: Mapping[str, Estimate] = {}  # by the keys of MODEL_FIGURES, without figures that are 0 for all bots

    @property
    def ranking(self) -> Ranking:
        """Return the first ranking of the stage."""
        return ranking_of(next(iter(self.estimates)))

    @property
    def first(self) -> Estimate:
        """Return the value of the bot in the first ranking of the stage."""
        return next(iter(self.estimates.values()))

    @property
    def points(self) -> Estimate:
        """Return the value of the bot in the ranking by the scores of the game: the total score, or the mean score."""
        return next(estimate for word, estimate in self.estimates.items() if ranking_of(word).points)

    @property
    def rate(self) -> float | None:
        """Return the share of tables won, 0 to 1; None if the stage does not rank by wins."""
        return next((estimate.value for word, estimate in self.estimates.items() if ranking_of(word).counted), None)

    def flat(self) -> dict[str, Any]:
        """Return the values of the row by their keys in JSON and CSV, in the order of the columns."""
        costs = self.costs._asdict()
        late = {key: costs.pop(key) for key in ("pauses", "pondered")}
        own = {word: estimate for word, estimate in self.estimates.items() if not ranking_of(word).in_row}
        with_ends = {
            word + end: value
            for word, estimate in {**own, **self.models}.items()
            for end, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high))
        }
        known = {key: getattr(self, key) for key in ("rank", "bot", "language", "author", "tables", "wins", "rate")}
        ranked = {"score": self.first.value, "low": self.first.low, "high": self.first.high}
        points = {"score_low": self.points.low, "score_high": self.points.high}
        return (
            known
            | ranked
            | points
            | costs
            | {"note": self.note}
            | late
            | {"points": self.points.value, "disqualified": self.disqualified, "withdrawn": self.withdrawn}
            | {"different": self.different}
            | with_ends
        )


class PairResult(NamedTuple):
    """Results of one bot against another.

    `rate` is the share of tables that the first bot won (0 to 1), and `low` to `high` its 95 % interval. `sure` is the
    probability (0 to 1) that the first bot is the better one.
    """

    tables: int
    won: int
    drawn: int
    lost: int
    rate: float
    low: float
    high: float
    sure: float
    different: int  # tables that repeat no other

    @property
    def known(self) -> bool:
        """Whether pages can show the rate: the order of the two bots is certain, or the interval is not very wide."""
        return self.certain or self.high - self.low <= 2 * MAX_MARGIN

    @property
    def certain(self) -> bool:
        """Whether the order of the two bots is certain."""
        return max(self.sure, 1 - self.sure) >= MIN_CERTAINTY

    @property
    def how_sure(self) -> str:
        """Return in words the probability that the bot ahead is the better one: "97.2 % sure, 98.5 % needed"."""
        return how_sure(max(self.sure, 1 - self.sure))

    def order(self, one: str, other: str) -> str:
        """Return a sentence about the order of the two bots. `one` and `other` are their names."""
        return words(one, other, self.sure) if self.sure >= 0.5 else words(other, one, 1 - self.sure)


class Advice(NamedTuple):
    """Two neighbours in the standings whose order is not certain, and the number of units that would make it certain.

    `needed` and `played` count units. `needed` is None if it is more than a hundred times `played`. `unit` is the key
    of croupier.toml that decides the number of units: tourneys, tables_per_pair, repeat, tables.
    """

    bots: tuple[str, str]
    sure: float
    needed: int | None
    played: int
    unit: str


class StageStandings(NamedTuple):
    """Standings of a stage so far: rows, sentences about the certainty of their order (`sure`), and advice.

    `so_far` is a sentence about the number of pairs that have met; it is empty if all have. `repeated` is a sentence
    about the number of different tables; it is empty if no table repeats another.
    """

    rows: list[Row]
    sure: list[str]
    advice: list[Advice]
    so_far: str = ""
    repeated: str = ""
    missing: Sequence[str] = ()  # sentences about fixtures without a result, and about missing intervals

    @property
    def sentences(self) -> list[str]:
        """Return all sentences: `missing`, `so_far`, `repeated` and `sure`."""
        return [*self.missing, *filter(None, (self.so_far, self.repeated)), *self.sure]


def stage_standings(
    run: RunState,
    state: StageState,
    records: Sequence[Record],
    bots: Mapping[str, RecordedBot],
    earlier: Sequence[Row] = (),
) -> StageStandings:
    """Return the standings of a stage.

    `earlier` are the rows of the previous stage. They rank the bots that do not take part in this stage.
    """
    stage, withdrawn = state.config, run.withdrawn
    everything = as_counted_by(stage, counting(stage, records, withdrawn))
    records = [record for record in everything if not record.undecided]
    field, ranked = state.bots(bots), ranked_bots(run, stage, bots)
    staying = [bot for bot in field if bot not in withdrawn]
    words, so_far = words_of(stage.rank_by, won=_any_won(records)), _so_far(state, records, staying)
    if so_far:
        words = (OPPONENTS_COUNT, *(word for word in words if word != OPPONENTS_COUNT))
    results = results_of(stage, everything, ranked, field)
    rows = _places_decided(state, everything, _rows(stage, results, ranked, words))
    inside = [row for row in rows if row.bot in field]
    inside = with_last(with_disqualified(inside, run.max_faults, over=state.over), withdrawn)
    out = [row for row in rows if row.bot not in field]
    rows = inside + ranked_when_out(out, len(inside) + 1, earlier)
    rows = [row._replace(withdrawn=True, note=NOTE) if row.bot in withdrawn else row for row in rows]
    playing = [row for row in rows if row.tables and not (row.disqualified or row.withdrawn)]
    compare = ranking_of(words[0]).compare
    repeated = repeats_in(records).sentence if may_repeat(records) else ""
    missing = [*_missing(state, everything, field), *_skewed(results, words)]
    if kind_of(stage).sampling.compare == "none" or compare is None:
        return StageStandings(rows, [], [], so_far, repeated, missing)
    sure = compare(results)
    sentences = comparisons([row.bot for row in playing], sure)
    advice = [] if so_far else advice_for(stage, playing, records, sure)
    return StageStandings(rows, sentences, advice, so_far, repeated, missing)


def ranked_bots(run: RunState, stage: StageConfig, bots: Mapping[str, RecordedBot]) -> dict[str, RecordedBot]:
    """Return the bots that a stage ranks, by name: all except references and guests."""
    unranked = {*references_of(stage), *run.guests}
    return {bot: about for bot, about in bots.items() if bot not in unranked}


class Certainties(NamedTuple):
    """Evidence about the first ranking of a stage, and the probabilities in the sentences about its order."""

    evidence: Evidence
    shared: bool  # whether two bots are compared only by the meetings in which both played
    sure: list[tuple[Sequence[str], float]]  # as `neighbours` returns them


def certainties(
    run: RunState,
    state: StageState,
    records: Sequence[Record],
    bots: Mapping[str, RecordedBot],
    standings: StageStandings,
) -> Certainties:
    """Return the evidence for the first ranking of a stage, and the probability of the order of neighbours.

    `standings` are those that `stage_standings` returned for the other arguments.
    """
    stage, ranking = state.config, standings.rows[0].ranking
    everything = as_counted_by(stage, counting(stage, records, run.withdrawn))
    results = results_of(stage, everything, ranked_bots(run, stage, bots), state.bots(bots))
    playing = [row.bot for row in standings.rows if row.tables and not (row.disqualified or row.withdrawn)]
    sure = neighbours(playing, ranking.compare(results)) if standings.sure and ranking.compare else []
    shared = kind_of(stage).sampling.compare == "shared"
    return Certainties(results.scores if ranking.points else results.wins, shared, sure)


def _missing(state: StageState, records: Sequence[Record], field: Sequence[str]) -> list[str]:
    """Return sentences about the fixtures without a result, and about the decisions that the stage made without them.

    The list is empty if all fixtures have a result.
    """
    undecided = [record.undecided for record in records if record.undecided]
    if not undecided:
        return []
    awarded = kind_of(state.config).awarded
    return [missing_sentence(undecided), *(awarded(state.config, field, records) if awarded else ())]


def _skewed(results: Results, words: Sequence[str]) -> list[str]:
    """Return a sentence if the scores have no intervals because they are too skewed; otherwise an empty list."""
    if not (results.records and any(ranking_of(word).points for word in words) and results.scores.is_too_skewed):
        return []
    return [
        "no interval of the scores yet: a few results decide much, and there are too few to know how often they come"
    ]


def missing_sentence(undecided: Sequence[Undecided]) -> str:
    """Return a sentence: the number of undecided fixtures, the causes, the last reason, and the bots after whose
    answers the games failed most often."""
    answered = Counter(bot for why in undecided for bot in why.given_by)
    after = ", ".join(f"{bot} ×{times}" for bot, times in answered.most_common(MAX_NAMED_BOTS))
    number = counted(len(undecided), "fixture")
    sentence = (
        f"{number} undecided: {cause_text(undecided)}, no bot is charged; "
        f"the last time: {one_line(undecided[-1].reason)}"
    )
    return f"{sentence}; after answers of {one_line(after)}" if after else sentence


def _so_far(state: StageState, records: Sequence[Record], field: Collection[str]) -> str:
    """Return a sentence about the pairs that have met, if the stage is running and some have not met; otherwise ""."""
    if not kind_of(state.config).all_meet or state.over or not records:
        return ""
    pairs = PairsMet.of(records, len(field))
    return pairs.sentence if pairs.missing else ""


def _places_decided(state: StageState, records: Sequence[Record], rows: list[Row]) -> list[Row]:
    """Return the rows in the order of their places if the kind of the stage decides places; otherwise unchanged."""
    kind = kind_of(state.config)
    order = state.places if kind.places else ()
    reached = kind.reached(state.config, state.bots(row.bot for row in rows), records) if kind.reached else {}
    if not order:
        order = sorted(reached, key=lambda bot: reached[bot], reverse=True)
    return reordered(rows, order, reached) if order else rows


def ranked_when_out(rows: Sequence[Row], first: int, earlier: Sequence[Row]) -> list[Row]:
    """Return the rows of the bots that did not reach this stage, with new ranks and notes.

    The ranks start at `first`. The bots have the order of `earlier`, the rows of the previous stage.
    """
    before = {row.bot: row for row in earlier}
    nowhere = max((row.rank for row in earlier), default=0) + 1
    out = [row._replace(rank=before[row.bot].rank if row.bot in before else nowhere, note="is out") for row in rows]
    out = [
        row._replace(note="is out, disqualified", disqualified=True)
        if row.bot in before and before[row.bot].disqualified
        else row
        for row in out
    ]
    return _ranked_from(first, out)


def with_disqualified(rows: Sequence[Row], max_faults: int, *, over: bool) -> list[Row]:
    """Return the rows with the disqualified bots last. Until the stage is over, only add a note to their rows."""
    out = [row.bot for row in rows if 0 < max_faults < row.costs.faults]
    found = [_noted(row, excess(row.costs.faults, max_faults), over=over) if row.bot in out else row for row in rows]
    return with_last(found, out) if over else found


def with_last(rows: Sequence[Row], out: Container[str]) -> list[Row]:
    """Return the rows with the bots in `out` last. Their order among themselves stays."""
    staying, last = [row for row in rows if row.bot not in out], [row for row in rows if row.bot in out]
    return _ranked_from(1, staying) + _ranked_from(len(staying) + 1, last) if last else list(rows)


def _noted(row: Row, why: str, *, over: bool) -> Row:
    why = f"disqualified: {why}" if over else f"{why}: it will be disqualified when the stage is over"
    return row._replace(note="; ".join(filter(None, [why, row.note])), disqualified=over)


def _ranked_from(first: int, rows: Sequence[Row]) -> list[Row]:
    """Sort rows by rank and renumber the ranks from `first`. Equal bots keep an equal rank."""
    ordered = sorted(rows, key=lambda row: row.rank)
    ranks = [row.rank for row in ordered]
    return [row._replace(rank=first + ranks.index(row.rank)) for row in ordered]


def standings(
    stage: StageConfig,
    records: Sequence[Record],
    bots: Mapping[str, RecordedBot],
    words: Sequence[str] = (),
    order: Sequence[str] = (),
) -> list[Row]:
    """Return one row per bot, best first. Equal bots are in the order of `bots`. Bots that have not played come last.

    The order of the records does not matter. `words` are the names of the rankings, by default those of the stage.
    `order` has the bots in the order in which the stage began, by default that of `bots`.
    """
    words = words or words_of(stage.rank_by, won=_any_won([each for each in records if not each.undecided]))
    return _rows(stage, results_of(stage, records, bots, order), bots, words)


def _any_won(records: Sequence[Record]) -> bool:
    return any(result.wins for record in records for result in record.results.values())


def _rows(stage: StageConfig, results: Results, bots: Mapping[str, RecordedBot], words: Sequence[str]) -> list[Row]:
    """Return one row per bot, best first. `words` are the names of the rankings that decide."""
    by_word = {word: ranking_of(word).estimates(results) for word in words}
    models = per_table(results.records)
    of_bot = grouped((bot, record) for record in results.records for bot in record.results.keys() | record.usage.keys())
    rows = []
    for bot, recorded in bots.items():
        estimates = {word: found.get(bot, NO_ESTIMATE) for word, found in by_word.items()}
        row = _row(stage, estimates, of_bot.get(bot, ()), recorded)
        rows.append(row._replace(models={key: found.get(bot, NO_ESTIMATE) for key, found in models.items()}))
    rows.sort(key=_merit, reverse=True)
    ranks: dict[tuple[float, ...], int] = {}
    return [row._replace(rank=ranks.setdefault(_merit(row), rank)) for rank, row in enumerate(rows, 1)]


def _merit(row: Row) -> tuple[float, ...]:
    """Return the sort key of a row; greater is better."""
    return (row.tables > 0, *(estimate.merit for estimate in row.estimates.values()))


def reordered(rows: Sequence[Row], places: Sequence[str], reached: Mapping[str, tuple[float, ...]]) -> list[Row]:
    """Return the rows in the order of `places`, for example of a knockout. Bots without a place come last.

    `reached` has a key for the progress of each bot. Bots next to each other with equal keys share a rank.
    """
    order = {bot: place for place, bot in enumerate(places)}
    ordered, found = sorted(rows, key=lambda row: order.get(row.bot, len(order))), list[Row]()
    for rank, row in enumerate(ordered, 1):
        equal = bool(found) and row.bot in reached and reached[row.bot] == reached.get(found[-1].bot)
        found.append(row._replace(rank=found[-1].rank if equal else rank))
    return found


def comparisons(names: Sequence[str], sure: Sure) -> list[str]:
    """Return sentences about the order of neighbours. `names` are all bots, best first."""
    return [_sentence(some, how_sure) for some, how_sure in neighbours(names, sure)]


def neighbours(names: Sequence[str], sure: Sure) -> list[tuple[Sequence[str], float]]:
    """Return groups of neighbours, each with the probability that its first bot is ahead of its last bot.

    `names` are all bots, best first. A group has two bots. It has more bots only if the order of no two of them is
    certain, not even the order of its first and its last bot.
    """
    found, first = list[tuple[Sequence[str], float]](), 0
    while first < len(names) - 1:
        last, how_sure = first + 1, sure(names[first], names[first + 1])
        while how_sure is not None and how_sure < MIN_CERTAINTY and last + 1 < len(names):
            closer, wider = sure(names[last], names[last + 1]), sure(names[first], names[last + 1])
            if closer is None or wider is None or closer >= MIN_CERTAINTY or wider >= MIN_CERTAINTY:
                break
            last, how_sure = last + 1, wider
        if how_sure is not None:
            found.append((names[first : last + 1], how_sure))
        first = last
    return found


def advice_for(stage: StageConfig, playing: Sequence[Row], records: Sequence[Record], sure: Sure) -> list[Advice]:
    """Return advice for every two neighbours in the standings whose order is not certain. `playing` are the rows, in order.

    Leave out two bots if most of their tables repeat others, because more tables would not help.
    """
    unit, found = kind_of(stage).sampling.key, list[Advice]()
    for one, other in pairwise(playing):
        how_sure = sure(one.bot, other.bot)
        if how_sure is None or how_sure >= MIN_CERTAINTY:
            continue
        if may_repeat(records) and repeats_in(_of_both(records, one.bot, other.bot)).mostly:
            continue
        done = _done(stage, records, one.bot, other.bot)
        found.append(Advice((one.bot, other.bot), how_sure, needed(how_sure, done), done, unit))
    return found


def _of_both(records: Sequence[Record], one: str, other: str) -> list[Record]:
    return [record for record in records if one in record.results and other in record.results]


def _done(stage: StageConfig, records: Sequence[Record], one: str, other: str) -> int:
    """Return the number of units that two bots have played: tourneys, games of a group, or tables."""
    both = _of_both(records, one, other)
    if kind_of(stage).sampling.by_fixture:
        return len(both)
    if kind_of(stage).sampling.per_bot:
        return min(
            sum(record.results[bot].tables for record in records if bot in record.results) for bot in (one, other)
        )
    if not both:  # the two have not met yet: take the most tables that one of them has played in a group of fixtures
        met = Counter[str]()
        for record in records:
            for bot in {one, other} & record.results.keys():
                met[group_of(record.path)] += record.results[bot].tables
        return max(met.values())
    return sum(record.results[one].tables for record in both)


def by_pair(records: Sequence[Record]) -> dict[tuple[str, str], PairResult]:
    """Return the results of every two bots that met at tables of two, by (bot, other bot), in both orders."""
    played = (each for each in records if len(each.results) == 2 and all(one.tables for one in each.results.values()))
    met = grouped((tuple(sorted(record.results)), record) for record in played)
    stage = Evidence([meeting_of(some, "wins") for some in met.values()])
    pairs, again, known = {}, may_repeat(records), (stage.unit, stage.effect)
    for (one, other), meeting in zip(met, stage.meetings, strict=True):
        different = repeats_in(met[one, other]).different if again else meeting.size
        nameless = meeting._replace(bots=("one", "other"))
        pairs[one, other], pairs[other, one] = (_pair(nameless, known, nth, different) for nth in (0, 1))
    return {pair: pairs[pair] for pair in sorted(pairs)}


@lru_cache(maxsize=4096)  # in a league of 500 bots 50 000 pairs have 41 different results: this saves 0.3 s
def _pair(meeting: Meeting, known: tuple[Unit, Effect], nth: int, different: int) -> PairResult:
    evidence, one, other = Evidence([meeting], known), meeting.bots[nth], meeting.bots[1 - nth]
    tables, won, lost = meeting.size, int(meeting.totals[nth]), int(meeting.totals[1 - nth])
    interval, sure = evidence.interval_of_share(one), evidence.sure({one: 1.0, other: -1.0})
    return PairResult(tables, won, tables - won - lost, lost, won / tables, *interval, sure, different)


def _sentence(names: Sequence[str], sure: float) -> str:
    first, *between, last = names
    if not between:
        return words(first, last, sure)
    few = " and ".join(filter(None, (", ".join(between[:-1]), between[-1])))
    who = few if len(names) <= MAX_NAMED_BOTS else f"{len(between)} bots"
    return words(first, f"{last} ({who} between them)", sure)


def _int_if_whole(wins: float) -> float:
    """Return wins as an int if they are a whole number. They are not if equal bots shared a win."""
    return round(wins) if math.isclose(wins, round(wins), abs_tol=1e-9) else wins


def _row(stage: StageConfig, estimates: Mapping[str, Estimate], mine: Sequence[Record], recorded: RecordedBot) -> Row:
    """Return the row of a bot without its rank. `mine` are the records of the bot, in the order of their paths.

    `estimates` are the values of the bot, by ranking.
    """
    bot = recorded.name
    results = [record.results[bot] for record in mine if bot in record.results]
    tables, wins = sum([result.tables for result in results]), sum([result.wins for result in results])
    kinds = Counter[str]()
    for record in mine:
        if faults := record.faults.get(bot):  # most bots have none
            kinds.update(faults)
    benched = sum([bot in record.benched for record in mine])
    note = f"benched in {benched} of {len(mine)} fixtures" if benched else "" if tables else "has not played yet"
    spent = total_usage([record.usage[bot] for record in mine if bot in record.usage])
    return Row(
        rank=0,
        bot=bot,
        language=recorded.language,
        author=recorded.author,
        kind=stage.kind,
        mirror=stage.mirror,
        tables=tables,
        wins=_int_if_whole(wins) if any(ranking_of(word).counted for word in estimates) else None,
        estimates=estimates,
        costs=Costs(
            faults=kinds.total(),
            faults_by_kind=dict(kinds.most_common()),
            p99=spent.quantile(99) if spent.questions else None,
            cpu_per_decision=spent.cpu / spent.questions if spent.questions else None,
            benched=benched,
            pauses=spent.pauses,
            pondered=spent.pondered,
        ),
        note=note,
        different=repeats_in(mine).different if may_repeat(mine) else tables,
    )
