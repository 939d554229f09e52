"""Loads the tournament of a folder, and refuses a tournament that no run could play. Builds no bots."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import day
from host.bots.bot_spec import Submission
from host.config.difference import difference, terms_of
from host.config.tournament_config import Tournament, load, no_bots, not_enough_bots, skipped_stages
from host.journal.lock import refuse_in_use
from host.journal.reader import Journal, reading
from host.journal.tournament_dir import START_AGAIN, Folder
from host.sandbox.detect import require_level
from host.stages import references_of
from host.tournament.additions import late_problems, more_problems, raised_keys, with_raised

RESTORE_TO_CONTINUE = f"restore it to continue, or {START_AGAIN}"


class Loaded(NamedTuple):
    """A tournament that passed every check that is possible without building a bot."""

    tournament: Tournament
    folder: Folder
    submissions: list[Submission]


def load_checked(place: Path, say: Callable[[str], None], *, last: str | None = None) -> Loaded:
    """Load and check the tournament of a folder. Raise UserError for any problem that prevents the run.

    `last` is the last stage to play; None: all stages.
    """
    loaded = load_playable(place, say)
    tournament, folder, _ = loaded
    names = [stage.name for stage in tournament.stages]
    if last is not None and last not in names:
        raise UserError([Problem("C017", str(place), f'has no stage "{last}"', hint=f"stages: {', '.join(names)}")], 2)
    refuse_in_use(folder.journal)
    return loaded


def load_playable(place: Path, say: Callable[[str], None]) -> Loaded:
    """Load the tournament of a folder. Raise UserError if its config, its bots or its seed prevent any run."""
    tournament = load(place)
    folder = Folder(place if place.is_dir() else place.parent)
    for warning in tournament.warnings:
        say("WARNING  " + str(warning).removeprefix("error"))
    submissions = tournament.submissions(folder.path)
    if not submissions:
        raise UserError([no_bots(tournament)], 3)
    entered = [submission.name for submission in submissions if submission.name not in tournament.guests]
    if few := not_enough_bots(tournament.stages[0], entered, tournament.game.seats[0]):
        raise UserError([few._replace(where=str(tournament.path))], 3)
    _refuse_learning_references(tournament, submissions)
    _refuse_other_seed(tournament, folder)
    for skipped in skipped_stages(tournament, len(entered)):
        say(f"WARNING  {skipped}")
    return Loaded(tournament, folder, submissions)


def check_playable(place: Path, say: Callable[[str], None]) -> Loaded:
    """Load and check a tournament like `load_playable`, and also check this machine and the journal.

    Raise UserError for any problem that a run would report before it builds a bot.
    """
    loaded = load_playable(place, say)
    tournament, folder, _ = loaded
    if not tournament.run.cluster and tournament.level.traits.isolates:
        require_level(tournament.level)
    if folder.has_journal:
        with reading(folder.journal, tournament.registry) as journal:
            late = {submission.name for submission in loaded.submissions} - journal.bots().keys()
            if problems := changed_config(journal, tournament) + late_problems(tournament, journal, late):
                raise UserError(problems, 3)
    return loaded


def changed_config(journal: Journal, tournament: Tournament) -> list[Problem]:
    """Return the problems of a config that differs from that at the start of the run; empty if nothing has been played.

    A stage may have more tables than before, if its kind and the stages after it allow it.
    """
    if not journal.begun:
        return []
    state = journal.state()
    raised = raised_keys(state.configs, tournament.stages)
    before = state.with_stages(*with_raised(state.configs, raised))
    now = state.with_stages(*tournament.stages)
    if changed := difference(before.settings(), terms_of(tournament).settings(tournament.game.name, now.configs)):
        message = f"changed since this run began ({changed})"
        return [Problem("R001", str(tournament.path), message, hint=RESTORE_TO_CONTINUE)]
    return more_problems(tournament, journal, raised)


def _refuse_learning_references(tournament: Tournament, submissions: Sequence[Submission]) -> None:
    """Raise UserError if a reference keeps a state file in a stage: results would depend on the bots before."""
    references = {name for stage in tournament.stages for name in references_of(stage)}
    problems = [
        Problem("C013", submission.manifest, message, hint='state_lifetime = "fixture", or another reference')
        for submission in submissions
        if submission.name in references and submission.spec.state_lifetime == "stage"
        for message in [f"{submission.name} is a reference and keeps its state file from one bot to the next"]
    ]
    if problems:
        raise UserError(problems, 3)


def _refuse_other_seed(tournament: Tournament, folder: Folder) -> None:
    """Raise UserError if the config names a seed although the organiser has committed to a drawn seed."""
    if tournament.seed != "random" and (promised := folder.committed()):
        message = f'seed = "{tournament.seed}" is not the seed that was committed to on {day(promised.at)}'
        hint = 'seed = "random" plays with the committed seed, which is in run/seed'
        raise UserError([Problem("R010", str(tournament.path), message, hint=hint)], 3)
