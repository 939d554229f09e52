"""Plans and makes the corrections of an organiser: play a fixture again, withdraw a bot, or readmit it.

A `plan_…` function changes nothing. It raises UserError if the stage cannot take the correction.
"""

import difflib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from host.base.errors import Problem, UserError, nothing_played
from host.base.format import counted, thousands
from host.journal.changes import READMIT, REDO, WITHDRAW, Change, Draft
from host.journal.reader import Journal
from host.journal.state import RunStatus, StageState, StageStatus
from host.journal.tournament_dir import START_AGAIN
from host.journal.writer import JournalWriter
from host.play.fixture_id import is_within, with_sorted_bots
from host.play.records import Fixture, Record
from host.results.course import Played, Position, course
from host.stages import kind_of, references_of
from host.stages.agenda import Records
from host.stages.kind import SkippedStage


class Correction(NamedTuple):
    """A planned change of a run, and sentences about its effects."""

    draft: Draft
    effects: tuple[str, ...]


class Begun(NamedTuple):
    """The last stage in which a fixture has been played. `following` are the positions in the stages after it."""

    number: int  # from 0
    state: StageState
    position: Position
    blank: Fixture
    following: Sequence[Position]


def refused(where: str, message: str, hint: str) -> UserError:
    """Return the error for a correction that a stage cannot take."""
    return UserError([Problem("R015", where, message, hint=hint)], 3)


def last_begun(journal: Journal, seed: bytes) -> Begun:
    """Return the last stage with a record or an undecided fixture.

    If all undecided fixtures are to be played again and there is no record, it is the first stage. Raise UserError if
    no fixture was ever recorded.
    """
    state = journal.state()
    if not journal.begun:
        raise nothing_played(journal.path)
    begun = [
        number
        for number, stage in enumerate(state.stages)
        if journal.first_number(stage.name) is not None or journal.undecided(stage.name)
    ]
    number, played = max(begun, default=0), Played(journal.stage_records, journal.sizes)
    positions = course(state, journal.bots(), seed, played)
    return Begun(number, state.stages[number], positions[number], journal.blank(), positions[number + 1 :])


# Redo.


def plan_redo(journal: Journal, seed: bytes, name: str, reason: str) -> Correction:
    """Plan to play a fixture again, or all fixtures of a pairing such as `league/ada+grace`."""
    begun, (name, paths) = last_begun(journal, seed), _fixtures(journal, name)
    stages = {place[0] for path in paths if (place := journal.place_of(path))}
    if stages != {begun.state.name}:
        message = f"{begun.state.name} has begun, and this result has decided which bots play there"
        raise refused(name, message, START_AGAIN)
    records = journal.stage_records(begun.state.name)
    bots = journal.bots()
    playing = {bot for path in paths for bot in records[path].results}
    for bot in sorted(playing):
        if bots[bot].lasting:
            message = f"{bot} keeps its state file from fixture to fixture, so it would not play as it did then"
            raise refused(name, message, START_AGAIN)
    if out := playing & journal.state().withdrawn:
        message = f"{min(out)} is withdrawn, so this is not played any more"
        raise refused(name, message, f"croupier withdraw {min(out)} --undo --reason … takes it back")
    if later := _paired_later(begun, records, frozenset(paths)):
        newest = max(later, key=lambda path: (journal.place_of(path) or ("", 0))[1])
        message = f"{newest} was played because of this result"
        raise refused(name, message, f"croupier redo {json.dumps(newest)} --reason … first; later fixtures come first")
    tables = sum(len(journal.full_record(path).scores) for path in paths)
    effects = (
        f"{counted(len(paths), 'fixture')}, {counted(tables, 'table')}: the record is kept and no longer counts",
        "croupier run plays it again with the same seed path, hence with the same cards",
    )
    return Correction(Draft(REDO, name, reason, begun.state.name, set_aside=paths), effects)


def _fixtures(journal: Journal, name: str) -> tuple[str, list[str]]:
    """Return the exact name of a fixture or pairing, and the paths of its fixtures. Raise UserError if none counts."""
    paths = journal.paths()
    sorted_name = with_sorted_bots(name)
    for wanted in (name, sorted_name):
        if found := [path for path in paths if is_within(path, wanted)]:
            return wanted, found
    near = difflib.get_close_matches(sorted_name, paths, 1)
    hint = (
        f"{json.dumps(near[0])} is one" if near else f"for example {json.dumps(paths[0])}" if paths else "croupier run"
    )
    raise refused(name, "no fixture with this name has been played", hint)


def _paired_later(begun: Begun, records: Records, without: Container[str]) -> list[str]:
    """Return the played fixtures that the stage would not reach without the results of the fixtures in `without`."""
    return [path for path in _not_reached(begun, records, without) if path not in without]


def _not_reached(begun: Begun, records: Records, without: Container[str]) -> list[str]:
    """Return the fixtures, played or undecided, that the stage would not reach without the results in `without`.

    A fixture in `without` is returned too, if it exists only because of the results of others in `without`.
    """
    left = _Without(records, without)
    agenda = begun.position.agenda(begun.blank, left)
    while agenda.next() is not None:
        pass
    return [path for path in records if path not in left.asked]


class _Without(Mapping[str, Record]):
    """Mapping of a stage's records by path, except for the paths in `without`.

    `asked` collects the paths that the schedule reaches.
    """

    def __init__(self, records: Records, without: Container[str]) -> None:
        self._records, self._without = records, without
        self.asked = set[str]()

    def __getitem__(self, path: str) -> Record:
        if path in self._without:
            raise KeyError(path)
        return self._records[path]

    def __contains__(self, path: object) -> bool:
        self.asked.add(str(path))
        return path not in self._without and path in self._records

    def __iter__(self) -> Iterator[str]:
        return (path for path in self._records if path not in self._without)

    def __len__(self) -> int:
        return sum(1 for _ in self)


# Try again.


def may_be_tried_again(journal: Journal, seed: bytes) -> list[str]:
    """Return the paths of the undecided fixtures that the next run can play again.

    These are the undecided fixtures of the last stage that has begun, except those on which a later fixture of the
    stage already depends, and those of withdrawn bots if results decide what is played in the stage.
    """
    undecided = journal.undecided()
    if not undecided:
        return []
    begun = last_begun(journal, seed)
    records = journal.stage_records(begun.state.name)
    out = journal.state().withdrawn if begun.position.kind.changes.adaptive else frozenset[str]()
    here = [each for each in undecided if each.stage == begun.state.name]
    paths = [each.path for each in here if out.isdisjoint(each.bots)]
    return _independent(begun, records, paths)


def _independent(begun: Begun, records: Records, paths: Sequence[str]) -> list[str]:
    """Return the paths in `paths` of fixtures on which no other fixture depends.

    If no fixture depends on a set of paths, no fixture depends on any single path in it. So the schedule of the stage
    is computed once for all paths. It is computed again only for the halves of a set on which some fixture depends.
    """
    if not paths or not _not_reached(begun, records, frozenset(paths)):
        return [*paths]
    if len(paths) == 1:
        return []
    middle = len(paths) // 2
    return [path for half in (paths[:middle], paths[middle:]) for path in _independent(begun, records, half)]


def try_again(journal: JournalWriter, seed: bytes) -> list[str]:
    """Let the fixtures without a result be played again if nothing depends on them yet. Return their paths."""
    paths = may_be_tried_again(journal, seed)
    if paths:
        journal.try_again(paths)
        _settle(journal, seed, True)
    return paths


# Withdraw.


def plan_withdraw(journal: Journal, seed: bytes, bot: str, reason: str) -> Correction:
    """Plan to withdraw a bot."""
    begun, state = last_begun(journal, seed), journal.state()
    if bot in state.withdrawn:
        raise refused(bot, "is already withdrawn", f"croupier withdraw {bot} --undo --reason … takes it back")
    if of := [stage.name for stage in state.configs if bot in references_of(stage)]:
        message = f"is a reference of {of[0]}: all results there are results against it"
        raise refused(bot, message, START_AGAIN)
    playing = bot in begun.position.bots
    if playing and not begun.position.kind.changes.leavable and not begun.state.over:
        message = f"{begun.state.name} is under way, and the results of {bot} decide who meets whom there"
        raise refused(bot, message, f"croupier run --stage {begun.state.name} plays it to its end; withdraw {bot} then")
    if playing and not begun.state.over and len(begun.position.bots) - len(begun.position.field.withdrawn) <= 2:
        raise refused(bot, f"{begun.state.name} is under way and would have fewer than two bots", START_AGAIN)
    effects = [_loss(journal, stage, bot) for stage in state.stages[: begun.number + 1]]
    unchanged = [f"the bots of {begun.state.name} were chosen before, and stay the same"] if begun.number else []
    following = [_absence(position, bot) for position in begun.following]
    return Correction(
        Draft(WITHDRAW, bot, reason), (*filter(None, effects), *unchanged, *following, "nothing is deleted")
    )


def _absence(position: Position, bot: str) -> str:
    """Return the effect of a withdrawal on a stage that has not begun, as text."""
    left = sum(each != bot for each in position.bots)
    if position.decided and left < position.config.min_bots <= len(position.bots):
        return str(SkippedStage(position.config, left))
    return f"it does not play in {position.state.name}"


def _loss(journal: Journal, stage: StageState, bot: str) -> str:
    """Return the effect of a withdrawal on a stage in which the bot has played, as text; empty if it has not played."""
    if bot not in stage.field:
        return ""
    if not kind_of(stage.config).changes.leavable:
        return f"{stage.name}: it is ranked last; its tables stay, because they have decided who met whom"
    tables = sum(record.results[bot].tables for _, record in journal.records(stage.name) if bot in record.results)
    return f"{stage.name}: it is ranked last; its {thousands(tables)} tables no longer count, for its opponents either"


def plan_readmit(journal: Journal, seed: bytes, bot: str, reason: str) -> Correction:
    """Plan to readmit a withdrawn bot."""
    begun = last_begun(journal, seed)
    if bot not in journal.state().withdrawn:
        raise refused(bot, "is not withdrawn", "croupier status shows the changes of the run")
    playing = bot in begun.position.bots
    back = "its tables count again, and what it has missed is played by  croupier run"
    absent = f"{begun.state.name} began without it and goes on without it"
    return Correction(Draft(READMIT, bot, reason), (back if playing else absent,))


# Make a planned correction.


def make(journal: JournalWriter, seed: bytes, correction: Correction) -> Change:
    """Append the change and update the states of the stages, both or neither. Return the change."""
    return journal.change(correction.draft, partial(_settle, journal, seed, correction.draft.kind == REDO))


def _settle(journal: JournalWriter, seed: bytes, redo: bool) -> None:
    """Reopen the last stage that has begun if it is finished but has fixtures to play; otherwise compute its places.

    Set the stages after it back to WAITING. `redo` says whether the stage has a fixture to play again.
    """
    begun = last_begun(journal, seed)
    later = [position.state for position in begun.following]
    reopened = {stage.name: StageStatus.WAITING for stage in later if stage.status is not StageStatus.WAITING}
    if begun.state.over and (redo or begun.position.agenda(begun.blank).next() is not None):
        reopened[begun.state.name] = StageStatus.RUNNING
    elif begun.state.over:
        journal.set_stage(begun.state.name, places=begun.position.outcome.places)
    for stage, status in reopened.items():
        journal.set_stage(stage, status)
    if reopened:
        journal.set_status(RunStatus.INTERRUPTED)
