"""Decides which additions a run takes after it has begun: late bots, more tables, and new versions of bots.

An addition changes no record: the other bots keep their fixtures, and every table keeps its seed path. A change of the
config that would change results (other rules, other limits, fewer tables) is not an addition (config/difference.py).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from host.base.errors import Problem
from host.bots.bot_spec import BuiltBot
from host.config.difference import stage_key
from host.config.tournament_config import Tournament
from host.journal.changes import LATE, MORE, REPLACE, Change, Draft, withdrawn
from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunStatus, StageStatus
from host.journal.tournament_dir import START_AGAIN
from host.journal.writer import JournalWriter
from host.stages import kind_of
from host.stages.kind import StageConfig


class Additions(NamedTuple):
    """The additions to a run since it began: late bots, and keys of stages that ask for more tables."""

    late: Sequence[BuiltBot] = ()
    raised: Sequence["Raised"] = ()


class Raised(NamedTuple):
    """A key of a stage that asks for more tables than before."""

    stage: str
    key: str
    before: int
    after: int

    @property
    def sentence(self) -> str:
        """Return the change in the words that `difference` uses."""
        return f"{stage_key('stage', self.stage, self.key)}: {self.before} → {self.after}"


def raised_keys(old: Sequence[StageConfig], new: Sequence[StageConfig]) -> list[Raised]:
    """Return the keys that ask for more tables in the new stages than in the old ones, if their kind allows it."""
    after = {stage.name: stage for stage in new}
    return [
        Raised(stage.name, key, getattr(stage, key), getattr(now, key))
        for stage in old
        for now in [after.get(stage.name)]
        if now is not None and kind_of(now).name == kind_of(stage).name
        for key in kind_of(now).changes.more
        if getattr(now, key) > getattr(stage, key)
    ]


def with_raised(stages: Sequence[StageConfig], raised: Sequence[Raised]) -> list[StageConfig]:
    """Return the stages with the keys in `raised` set to their new values."""
    after: dict[str, dict[str, Any]] = {stage.name: {} for stage in stages}
    for each in raised:
        after[each.stage][each.key] = each.after
    return [replace(stage, **after[stage.name]) for stage in stages]


def late_problems(tournament: Tournament, journal: Journal, late: Collection[str]) -> list[Problem]:
    """Return the problems that keep bots from joining a run late; empty if every stage that has begun can take them."""
    names, where = ", ".join(sorted(late)), str(tournament.path)
    hint = f"leave {names} out of `bots`, or {START_AGAIN}"
    begun = [stage for stage in tournament.stages if names and journal.has_played(stage.name)]
    closed = [
        Problem("R004", where, f'{names} cannot join: stage "{stage.name}" has begun, and {why}', hint=hint)
        for stage in begun
        if (why := kind_of(stage).changes.closed)
    ]
    if closed or not begun:
        return closed
    why = _fixed_by_later(tournament, journal, begun[0].name)
    return [Problem("R004", where, f"{names} cannot join: {why}", hint=hint)] if why else []


def more_problems(tournament: Tournament, journal: Journal, raised: Sequence[Raised]) -> list[Problem]:
    """Return a problem for each raised key whose stage cannot play more tables; empty if all stages can."""
    return [
        Problem(
            "R001",
            str(tournament.path),
            f"changed since this run began ({each.sentence}): {why}",
            hint=f"{each.key} = {each.before}, or {START_AGAIN}",
        )
        for each in raised
        if journal.has_played(each.stage)
        if (why := _fixed_by_later(tournament, journal, each.stage))
    ]


def replacement_problems(tournament: Tournament, journal: Journal, bot: str) -> list[Problem]:
    """Return the problem that keeps a new version from replacing the results of a bot; empty if there is none."""
    why, hint = "", f"add it under a new name, or {START_AGAIN}"
    if bot in withdrawn(journal.changes()):
        why, hint = "it is withdrawn", f"croupier withdraw {bot} --undo --reason …"
    lasting = [name for name, recorded in journal.bots().items() if recorded.lasting and name != bot]
    for stage in tournament.stages:
        played = {*journal.paths_of(stage.name, bot)}
        if why or not played:
            continue
        if kind_of(stage).changes.adaptive:
            why = f'stage "{stage.name}" has begun, and {kind_of(stage).changes.closed or "results decide what is played there"}'
        elif met := [name for name in lasting if not played.isdisjoint(journal.paths_of(stage.name, name))]:
            why = f'{met[0]}, which it met in stage "{stage.name}", keeps its state file and would not play as it did then'
        else:
            why = _fixed_by_later(tournament, journal, stage.name)
    return [Problem("R015", bot, f"cannot be replaced: {why}", hint=hint)] if why else []


def _fixed_by_later(tournament: Tournament, journal: Journal, name: str) -> str:
    """Return why the results of a stage can no longer change: a later stage has used them. Return "" if they can."""
    names = [stage.name for stage in tournament.stages]
    for later in tournament.stages[names.index(name) + 1 :]:
        if journal.has_played(later.name) and kind_of(later).changes.adaptive:
            return f'stage "{later.name}" has begun with the bots in the order of "{name}"'
        if journal.has_played(later.name) and tournament.max_faults:
            return f'stage "{later.name}" has begun without the bots that max_faults disqualified in "{name}"'
    return ""


def record_additions(journal: JournalWriter, added: Additions, reason: str, *, revealed: bool) -> None:
    """Append each addition to the journal as a change, and apply it: enter the bot, or raise the key of the stage.

    Mark the stages that get more fixtures as not finished.
    `revealed` says whether the authors of late bots could know the seed.
    """
    stages = [stage.name for stage in journal.state().stages if journal.has_played(stage.name)]
    for bot in added.late:
        draft = Draft(LATE, bot.name, reason, about={"revealed": revealed})
        journal.change(draft, partial(_enter, journal, bot, stages))
    for each in added.raised:
        about = {"before": each.before, "after": each.after}
        draft = Draft(MORE, each.key, reason, stage=each.stage, about=about)
        journal.change(draft, partial(_raise_key, journal, each, {each.stage}.intersection(stages)))


def replace_bot(journal: JournalWriter, bot: BuiltBot, reason: str, *, revealed: bool) -> Change:
    """Enter a new version of a bot, which plays the bot's fixtures again. Return the change appended to the journal.

    The journal keeps the records of the old version, but they no longer count.
    """
    stages = [stage.name for stage in journal.state().stages]
    played = {name: journal.paths_of(name, bot.name) for name in stages}
    about = {"before": journal.bots()[bot.name].sha256, "after": bot.sha256, "revealed": revealed}
    paths = [path for some in played.values() for path in some]
    draft = Draft(REPLACE, bot.name, reason, about=about, set_aside=paths)
    return journal.change(draft, partial(_enter, journal, bot, [name for name in stages if played[name]]))


def _enter(journal: JournalWriter, bot: BuiltBot, reopened: Collection[str]) -> None:
    """Enter a version of a bot, and reopen the stages in which it has fixtures to play."""
    journal.add_bot(RecordedBot.of(bot))
    _reopen(journal, reopened)


def _raise_key(journal: JournalWriter, raised: Raised, reopened: Collection[str]) -> None:
    """Set a key of a stage to its new value, and reopen the stage if it has begun."""
    state = journal.state()
    journal.set_state(state.with_stages(*with_raised(state.configs, [raised])))
    _reopen(journal, reopened)


def _reopen(journal: JournalWriter, stages: Collection[str]) -> None:
    """Record in the journal that these stages, and the run, are not finished. Do nothing if `stages` is empty."""
    for name in stages:
        journal.set_stage(name, StageStatus.RUNNING)
    if stages:
        journal.set_status(RunStatus.INTERRUPTED)
