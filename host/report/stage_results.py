"""Collects the results of a stage in one value, which pages, live JSON, terminal and CSV show."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from host.base.format import thousands
from host.base.grouping import grouped
from host.inspect.gradebook import ClassList, grade_rows
from host.inspect.visibility import shown_status
from host.journal.state import StageState
from host.play.fixture_id import group_of
from host.play.records import Record, Replays, count_replays
from host.report.timelines import HeadToHead, Ranks, head_to_head, is_two_player
from host.results.course import Position
from host.results.standings import PairResult, Row, StageStandings, by_pair
from host.stages import as_counted_by, kind_of, references_of
from host.stages.kind import BLANK, Field
from host.stages.pairing import set_result, set_winner
from host.stages.picture import Bracket, BracketRound, Group, Groups, Picture, Rounds, Tie


class WonSet(NamedTuple):
    """One set in the final of a knockout: the games and the score of each bot, and the winner.

    The winner is None if the set did not count.
    """

    games: tuple[int, int]
    scores: tuple[int, int]
    winner: str | None


class LastTie(NamedTuple):
    """The tie that decides a knockout, with its sets in the order in which they were played."""

    bots: tuple[str, str]
    title: str
    winner: str
    won: tuple[int, int]  # the number of sets that each bot has won
    sets: tuple[WonSet, ...]


class Stage(NamedTuple):
    """Results of a stage so far, which pages, live JSON, terminal and CSV show.

    `open` is the number of fixtures still to play; None if it is not known (see `_open`). `pairs`, `head_to_heads`, `ranks` and
    `seal` are empty unless a caller computes them.
    """

    name: str
    kind: str
    state: str  # waiting, running, finished or skipped
    fixtures: int
    open: int | None
    tables: int | None  # None if a fixture is a whole tourney
    again: Replays  # repetitions after host failures
    standings: StageStandings
    picture: Picture | None
    final: LastTie | None  # of a bracket, once the tie is decided
    all_meet: bool  # whether every two bots meet
    compared: bool  # whether results compare two bots
    grades: ClassList  # without rows if the stage gives no grades
    references: Sequence[str]  # bots that the others play and that are not ranked
    pairs_by: str  # the unit of a pair's rate: "games" won, or "tourneys" or "tables" in which the bot ended ahead
    pairs: Mapping[tuple[str, str], PairResult] = {}
    head_to_heads: tuple[HeadToHead, ...] = ()
    ranks: Ranks | None = None  # None if places are won in ties or groups, or too little has been played
    seal: str = ""  # the seal of the journal at the end of the stage

    @property
    def rows(self) -> Sequence[Row]:
        """Return the rows of the standings, best first."""
        return self.standings.rows

    @property
    def bracket(self) -> tuple[BracketRound, ...]:
        """Return the rounds of the bracket; none if the picture of the stage is not a bracket."""
        return self.picture.rounds if isinstance(self.picture, Bracket) else ()

    def ties_of(self, bot: str) -> list[tuple[BracketRound, Tie]]:
        """Return the ties of a bot in the bracket, round by round, without byes."""
        return [(part, tie) for part in self.bracket for tie in part.ties if bot in tie.bots and None not in tie.bots]

    @property
    def moment(self) -> str:
        """Return the stage and its progress as text: "swiss, after round 7", "cup, in round 3", "league, 12 of 45 fixtures".

        `league` is the usual name of a round robin. Other kinds can have no number of all fixtures (see `open`).
        """
        rounds = self.picture.rounds if isinstance(self.picture, Rounds) else ()
        numbers = [part.round for part in self.bracket] + [part.round for part in self.groups]
        numbers += [part.number for part in rounds]
        if self.state == "finished":
            return f"{self.name}, after round {numbers[-1]}" if rounds else f"{self.name}, finished"
        if numbers:
            return f"{self.name}, in round {numbers[-1]}"
        of = f" of {thousands(self.fixtures + self.open)}" if self.open is not None else ""
        return f"{self.name}, {thousands(self.fixtures)}{of} fixtures"

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups; none if the picture of the stage does not show groups."""
        return self.picture.groups if isinstance(self.picture, Groups) else ()


def stage_of(position: Position, later: Container[str] = ()) -> Stage:
    """Return the results of a stage, without the results of pairs.

    `later` are the bots that have played in a later stage. The picture of groups marks them.
    """
    run = position.tournament.run
    state, config, kind, order = position.state, position.config, position.kind, position.shown_order
    records = as_counted_by(config, position.counted)
    tables = [next(iter(record.results.values())).tables for record in records if record.results]
    everything = as_counted_by(config, position.recorded)
    picture = kind.picture(config, order, everything) if kind.picture else None
    return Stage(
        name=config.name,
        kind=config.kind,
        state=shown_status(run, state),
        fixtures=len(records),
        open=_open(state, order, records),
        tables=None if kind.tourneys else sum(tables),
        again=count_replays(position.counted),
        standings=position.standings,
        pairs_by="games" if is_two_player(records) else "tourneys" if kind.tourneys else "tables",
        picture=picture.followed_by(later) if isinstance(picture, Groups) else picture,
        final=_final(picture.rounds, records) if isinstance(picture, Bracket) else None,
        all_meet=kind.all_meet,
        compared=kind.sampling.compare != "none",
        grades=ClassList(grade_rows(position)),
        references=references_of(config),
    )


def with_pairs(stage: Stage, position: Position) -> Stage:
    """Return `stage` with the results of its pairs of bots. Computing them takes a second for a league of 500 bots."""
    records = as_counted_by(position.config, position.counted)
    by_games = stage.pairs_by == "games"
    return stage._replace(pairs=by_pair(records) if by_games else head_to_head(records, position.kind.tourneys))


def _final(bracket: Sequence[BracketRound], records: Sequence[Record]) -> LastTie | None:
    """Return the last tie for the first place, set by set; None if it is not decided.

    Leave out the sets of earlier ties of the same two bots.
    """
    finals = [(part, tie) for part in bracket if (part.first, part.last) == (1, 2) for tie in part.ties]
    if not finals:
        return None
    part, tie = finals[-1]
    one, other = tie.bots
    if one is None or other is None or tie.winner is None:
        return None
    sets = grouped((group_of(each.path), each) for each in records if each.results.keys() == {one, other})
    found, left = list[WonSet](), sum(tie.sets)
    for name in sorted(sets, key=_by_number, reverse=True):
        won = _won_set((one, other), sets[name])
        left -= won.winner is not None
        if left < 0:
            break
        found.append(won)
    return LastTie((one, other), part.title, tie.winner, tie.sets, tuple(reversed(found)))


def _by_number(name: str) -> tuple[int, str]:
    """Return the sort key of a set, given its name: the number at the end of the name, then the name."""
    number = name.rpartition(" ")[2]
    return int(number) if number.isdecimal() else 0, name


def _won_set(bots: tuple[str, str], records: Sequence[Record]) -> WonSet:
    games, scores = set_result(bots, records)
    winner = set_winner(games, scores)
    return WonSet((round(games[0]), round(games[1])), scores, None if winner is None else bots[winner])


def _open(state: StageState, order: Sequence[str], records: Sequence[Record]) -> int | None:
    """Return the number of fixtures still to play. Return None for kinds with a `size`, where it may depend on results."""
    kind = kind_of(state.config)
    if kind.size is not None:
        return None
    if state.known:  # the run has counted them
        return max(0, state.known - len(records))
    return len(kind.due(state.config, BLANK, Field(order, b""), {record.path: record for record in records}))
