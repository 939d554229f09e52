"""Chooses the tables that a page offers to watch, and describes each of them.

A description has the place of the table in the stage, the bots, the result, and the reason why the table is offered.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from host.base.errors import UserError
from host.base.safe_text import one_line
from host.games.engine import Game, Scores
from host.inspect.table_replays import ReplayedTable, ShownFixture, TableRef, load, shown_fixture, shown_name
from host.inspect.visibility import Visible
from host.journal.reader import Journal
from host.play.fixture_id import FixtureId, contestants_in, group_of
from host.report.anonymize import REAL_NAMES, Anonymizer
from host.report.stage_results import Stage
from host.report.summary import RunSummary
from host.stages import kind_of

TRIED_TABLES = 6  # tables of a fixture that are replayed to choose one of them: those with the closest scores
FEWEST_LEADS = 4  # fewest changes of the lead that are mentioned
MAX_SCORES_SHOWN = 6  # most bots whose scores are in the result of a table
UNRANKED = 10**6


class Quota(NamedTuple):
    """Number of tables to offer: `wanted`, or up to `most` if more are needed to show every bot.

    At most `replayed` fixtures are replayed to find their best table. Of every other fixture, the table with the
    closest scores is offered.
    """

    wanted: int
    most: int = 0
    replayed: int = 10**6


class Highlight(NamedTuple):
    """The best table of a fixture, and the reasons to watch it."""

    nth: int  # number of the table in the fixture, from 0
    reasons: tuple[str, ...]


class Pick(NamedTuple):
    """A chosen fixture, or a chosen table of it."""

    path: str  # of the fixture
    nth: int | None = None  # number of the table in the fixture, from 0; None: its best table
    reason: str = ""  # a reason to watch the table, besides those that its replay shows


class Offers:
    """Chooses tables of a journal that spectators may see. Ranks, rounds and names come from the summary."""

    def __init__(self, journal: Journal, summary: RunSummary, shown: Visible, names: Anonymizer = REAL_NAMES) -> None:
        self._journal, self._summary, self._shown, self._names = journal, summary, shown, names
        self._stages = {stage.name: stage for stage in journal.state().configs}
        self._stage_of = {path: name for name in self._stages if name in shown for path in journal.paths(name)}
        self._bots = frozenset(journal.bots())
        self.known: dict[tuple[str, int | None, bool], Highlight] = {}
        """Highlights by fixture, chosen table, and whether the stage runs. They stay valid for the next Offers."""
        self.tables: dict[tuple[str, int], ReplayedTable] = {}  # tables replayed by this object, with real names

    def choose(self, seed: bytes, quota: Quota) -> list[TableRef]:
        """Return the tables to offer, the most important first.

        These are a table of every stage (the last stage first), tables with faults, a table of every group and bot,
        tables with slow answers, and others. `seed` is the root of the randomness of the run.
        """
        found, left = dict[str, TableRef](), quota.replayed
        picks = self._cover()
        faults, slow = self._from_evidence()
        wanted = min(max(quota.wanted, len(picks)), max(quota.wanted, quota.most))
        spare = max(0, min(wanted // 2, wanted - len(picks)))
        stages = len({self._stage_of[pick.path] for pick in picks})
        ordered = [*picks[:stages], *faults[:spare], *picks[stages:], *slow[: max(1, wanted // 10)]]
        for pick in self._with_others(ordered):
            if len(found) == wanted:
                break
            known = self._key(pick) in self.known
            place = self._described(seed, pick, replay=known or left > 0)
            left -= not known
            found.setdefault(place.name, place)
        return _with_unique_titles(list(found.values()))

    # Which fixtures.

    @cached_property
    def _order(self) -> list[str]:
        """Return the paths of the fixtures, the most interesting first.

        Later stages come first, then later rounds, then better bots, then newer fixtures.
        """
        numbers = {stage.name: number for number, stage in enumerate(self._summary.stages)}
        ranks = {stage.name: {row.bot: row.rank for row in stage.rows} for stage in self._summary.stages}
        rounds = {group.name: group.round for stage in self._summary.stages for group in stage.groups}

        def interest(placed: tuple[int, str]) -> tuple[int, int, list[int], int]:
            position, path = placed
            stage = self._stage_of[path]
            of = sorted(ranks[stage].get(self._names.bot(bot), UNRANKED) for bot in self._bots_of(path, looked=False))
            return -numbers[stage], -rounds.get(group_of(self._names.path(path)), 0), of, -position

        return [path for _, path in sorted(enumerate(self._stage_of), key=interest)]

    def _bots_of(self, path: str, looked: bool = True) -> Sequence[str]:
        """Return the bots of a fixture, from its path. If the path does not name them, read the journal if `looked`."""
        for part in FixtureId.parse(path).meeting_parts:
            if (bots := contestants_in(part)) and self._bots.issuperset(bots):
                return bots
        return self._journal.fixture(path).bots if looked else ()

    def _cover(self) -> list[Pick]:
        """Return fixtures that together contain every stage, group and bot. One fixture of each stage comes first."""
        found, bots, groups = dict[str, Pick](), set[str](), set[str]()

        def take(path: str) -> None:
            found.setdefault(path, Pick(path))
            bots.update(self._bots_of(path))
            groups.add(group_of(self._names.path(path)))

        stages = set[str]()
        for path in self._order:
            if self._stage_of[path] not in stages:
                stages.add(self._stage_of[path])
                take(path)
        grouped = {group.name for stage in self._summary.stages for group in stage.groups}
        for path in self._order if grouped else ():
            group = group_of(self._names.path(path))
            if group in grouped and group not in groups:
                take(path)
        for fits in (bots.isdisjoint, lambda some: not bots.issuperset(some)):
            for path in self._order:
                if len(bots) == len(self._bots):
                    break
                if fits(self._bots_of(path)):
                    take(path)
        return list(found.values())

    def _from_evidence(self) -> tuple[list[Pick], list[Pick]]:
        """Return tables with faults, one for each bot and kind, and tables with the slowest answer of each bot."""
        faults, slow = dict[tuple[str, str], Pick](), dict[str, tuple[float, Pick]]()
        for _, path, piece in self._journal.evidence():
            if self._stage_of.get(path) not in self._shown.stages:
                continue
            if piece.kind != "slowest":
                faults.setdefault((piece.bot, piece.kind), Pick(path, piece.table - 1))
            elif piece.wall > slow.get(piece.bot, (0.0,))[0]:
                reason = f"slowest answer of {one_line(self._names.bot(piece.bot))}"
                slow[piece.bot] = piece.wall, Pick(path, piece.table - 1, reason)
        return list(faults.values()), [pick for _, pick in sorted(slow.values(), key=lambda found: -found[0])]

    def _with_others(self, picks: Iterable[Pick]) -> Iterator[Pick]:
        """Yield the given picks, then one fixture of each further pair or group, all other fixtures, and all single tables."""
        seen, groups = set[str](), set[str]()
        for pick in picks:
            seen.add(pick.path)
            groups.add(group_of(pick.path))
            yield pick
        later = []
        for path in self._order:
            if path not in seen and (group := group_of(path)) not in groups:
                groups.add(group)
                yield Pick(path)
            elif path not in seen:
                later.append(path)
        yield from map(Pick, later)
        for path in self._order:
            yield from (Pick(path, nth) for nth in range(len(self._journal.full_record(path).scores)))

    # The description of each table that was picked.

    def _described(self, seed: bytes, pick: Pick, replay: bool) -> TableRef:
        stage = self._stage_of[pick.path]
        fixture = shown_fixture(self._journal, seed, pick.path, stage in self._shown.stages)
        best = self._highlight(seed, pick, fixture) if replay else Highlight(closest(fixture, pick.nth)[0], ())
        sitting, scores = fixture.recorded.sittings[best.nth], fixture.recorded.record.scores[best.nth]
        name = shown_name(self._journal, self._shown, self._stages[stage], pick.path, best.nth)
        special = dict.fromkeys((*best.reasons, *self._faults_at(fixture, best.nth), *filter(None, [pick.reason])))
        reasons = special or [self._meeting(stage, [self._names.bot(bot) for bot in sitting.bots])]
        return TableRef(
            name=self._names.path(name),
            fixture=pick.path,
            nth=best.nth,
            why=" · ".join(reasons),
            special=bool(special),
            title=self._title(stage, pick.path, best.nth),
            result=result_of(self._journal.game, self._names.all_of(sitting.bots), scores),
        )

    def _key(self, pick: Pick) -> tuple[str, int | None, bool]:
        return pick.path, pick.nth, self._stage_of[pick.path] not in self._shown.stages

    def _highlight(self, seed: bytes, pick: Pick, fixture: ShownFixture) -> Highlight:
        """Return the table of a fixture with the most reasons to watch it; if `pick` names a table, this table.

        If the tables cannot be replayed, return the first one without reasons.
        """
        key = self._key(pick)
        if key not in self.known:
            some = closest(fixture, pick.nth)
            try:
                played = list(load(self._journal, seed, pick.path, some, not fixture.limited))
            except UserError:  # the code that shows this table reports the error
                self.known[key] = Highlight(some[0], ())
                return self.known[key]
            found = [Highlight(nth, reasons_of(table)) for nth, table in zip(some, played, strict=True)]
            best = self.known[key] = max(found, key=lambda one: len(one.reasons))
            self.tables[pick.path, best.nth] = played[some.index(best.nth)]
        return self.known[key]

    def _faults_at(self, fixture: ShownFixture, nth: int) -> Iterator[str]:
        for piece in () if fixture.limited else fixture.recorded.record.evidence:
            if piece.table == nth + 1 and piece.kind != "slowest":
                yield f"fault of {one_line(self._names.bot(piece.bot))}: {piece.kind}"

    def _meeting(self, name: str, bots: Sequence[str]) -> str:
        """Return the reason to offer a table at which nothing special happens: the ranks of its bots.

        `name` is the stage.
        """
        ranks = {row.bot: row.rank for row in self._stage_named(name).rows}
        found = sorted(ranks[bot] for bot in {*bots} if bot in ranks)
        if len({*bots}) == len(found) == 2:
            return f"rank {found[0]} against rank {found[1]} in {one_line(name)}"
        return f"with rank {found[0]} in {one_line(name)}" if found else f"a table of {one_line(name)}"

    def _stage_named(self, name: str) -> Stage:
        return next(stage for stage in self._summary.stages if stage.name == name)

    def _title(self, name: str, path: str, nth: int) -> str:
        """Return the place of a table in the tournament: "Final, set 4", "pairs", "groups, round 2".

        `name` is the stage, `path` the fixture, `nth` the number of the table in the fixture, from 0.
        """
        stage, place = self._stage_named(name), FixtureId.parse(path)
        words = [self._part_of(stage, path) or place.stage]
        if place.round is not None and stage.groups and stage.groups[-1].round > 1:
            words.append(f"round {place.round}")
        words += [part for part in place.meeting_parts if not self._bots.issuperset(contestants_in(part))]
        if kind_of(self._stages[name]).tourneys:
            words += [f"tourney {place.first_table}", f"table {nth + 1}"]
        return one_line(", ".join(words))

    def _part_of(self, stage: Stage, path: str) -> str:
        """Return the title of the round of a bracket to which a fixture belongs: "Final"; "" without a bracket."""
        bots = {self._names.bot(bot) for bot in self._bots_of(path)} if stage.bracket else set[str]()
        ties = [(part.title, tie) for part in stage.bracket for tie in part.ties if set(tie.bots) == bots]
        titles = [title for title, tie in ties if tie.first_set <= FixtureId.parse(path).set_number]
        return titles[-1][:1].upper() + titles[-1][1:] if titles else ""


def closest(fixture: ShownFixture, nth: int | None) -> list[int]:
    """Return the numbers (from 0) of the TRIED_TABLES tables of a fixture with the closest scores, the closest first.

    If `nth` is not None, return only this number.
    """
    scores = fixture.recorded.record.scores
    return [nth] if nth is not None else sorted(range(len(scores)), key=lambda at: _margin(scores[at]))[:TRIED_TABLES]


def _margin(scores: Scores) -> int:
    best, *others = sorted(scores, reverse=True)
    return best - others[0] if others else 0


def result_of(game: Game, bots: Sequence[str], scores: Scores) -> str:
    """Return the bots and the scores of a table: "austin_powers – optimum 1 : 3", "odds 512, tight 488, ehs 0"."""
    shown = [max(score, 0) for score in scores] if game.chips != "none" else list(scores)
    if len(shown) == 2:
        return f"{one_line(bots[0])} – {one_line(bots[1])} {shown[0]} : {shown[1]}"
    places = sorted(zip(shown, map(one_line, bots), strict=True), key=lambda place: -place[0])
    more = f" and {len(places) - MAX_SCORES_SHOWN} more" if len(places) > MAX_SCORES_SHOWN else ""
    return ", ".join(f"{bot} {score}" for score, bot in places[:MAX_SCORES_SHOWN]) + more


def reasons_of(table: ReplayedTable) -> tuple[str, ...]:
    """Return the reasons to watch a table, computed from its events: comeback, changes of the lead, all-ins."""
    display, scores = table.game.display, table.events[-1].facts["scores"]
    course = list(_course(table, *display.standing)) if display.standing else []
    best = [seat for seat, score in enumerate(scores) if score == max(scores)]
    behind = max((max(held) - held[best[0]] for held in course), default=0) if len(best) == 1 else 0
    leaders = [held.index(max(held)) for held in course if held.count(max(held)) == 1]
    leads = sum(one != other for one, other in pairwise(leaders))
    ev, fact = display.all_in or ("", "")
    all_ins = sum(event.ev == ev and event.facts.get(fact) == 0 for event in table.events)
    reasons = {
        "comeback": 2 * behind >= max(scores) > 0,
        f"the lead changes {leads} times": leads >= FEWEST_LEADS,
        "all-in" if all_ins == 1 else f"{all_ins} all-ins": all_ins > 0,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def _course(table: ReplayedTable, name: str, fact: str) -> Iterator[list[int]]:
    """Yield, for each event `name` of a table, the values of its field `fact` by seat. A seat that is out has 0."""
    for ev, facts in table.events:
        if ev == name and fact in facts:
            held: Mapping[int, int] = dict(zip(facts.get("seats", range(len(table.bots))), facts[fact], strict=False))
            yield [held.get(seat, 0) for seat in range(len(table.bots))]


def _with_unique_titles(places: Sequence[TableRef]) -> list[TableRef]:
    """Return the tables. If tables of the same bots have the same title, add the number of the table to each title."""
    shared = [(place.title, group_of(place.name)) for place in places]
    return [
        place._replace(title=f"{place.title}, table {FixtureId.parse(place.name).first_table}")
        if shared.count(key) > 1
        else place
        for key, place in zip(shared, places, strict=True)
    ]
