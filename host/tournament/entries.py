"""Enters bots in a tournament: adds a submission to its folder, or replaces an old version by a new one."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.paths import SAMPLE_PREFIX, absolute, display_path
from host.bots.bot_spec import MANIFEST, BuiltBot, Submission
from host.config.tournament_config import Tournament
from host.journal.changes import Change
from host.journal.lock import refuse_in_use
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.journal.writer import writing
from host.sandbox.levels import Level
from host.submissions.check import Report, report_on
from host.submissions.discovery import expand_patterns, load_submission
from host.submissions.examine import examine
from host.submissions.file_tree import FileTree, SingleFile, TreeLimits, submitted
from host.submissions.intake import Intake
from host.submissions.sample_bots import sample
from host.tournament.additions import late_problems, replace_bot, replacement_problems

REPLACED = ".replaced"
"""The folder inside `bots/` that keeps the files of old versions and of removed bots. A hidden folder is not a bot."""

NAME_HINT = "--as NAME adds it under another name; --replace BOT --reason TEXT takes it as a new version of that bot"


class Entered(NamedTuple):
    """A bot that has been entered, the report of `check` on it, and the change of the run if it replaced a bot."""

    bot: BuiltBot
    path: Path
    report: Report
    change: Change | None = None
    identical: tuple[Path, ...] = ()  # other bots with the same files, under any name


async def add_bot(
    tournament: Tournament, bots: Path, submission: Path, name: str | None, level: Level, *, force: bool = False
) -> Entered:
    """Add a submission to the folder `bots`. Raise UserError if it does not build or start, or if its name
    is taken.

    Without `force`, also raise UserError if a run has begun that cannot take the bot.
    """
    ours = str(submission).startswith(SAMPLE_PREFIX)
    path = sample(str(submission), tournament.game.name) if ours else submission
    with Intake(bots) as intake, intake.naming_the_original():
        checked = intake.load(path, tournament.limits, tournament.game, name)
        target = bots / intake.copy.name
        _refuse_duplicate(tournament, intake, target, checked.name)
        if not force:
            _refuse_late(tournament, Folder(bots.parent), checked.name)
        bot, report = await _examined(tournament, checked, level)
        intake.copy.rename(target)
    return Entered(bot, target, report, identical=tuple(_identical(tournament, target)))


async def replace_version(
    tournament: Tournament, old: Path, submission: Path, name: str, reason: str, level: Level
) -> Entered:
    """Replace the `old` files of a bot by a new version, and record the change in the journal if the bot is in the run.

    Raise UserError if the run cannot take the new version, or if the version does not build or start.
    """
    bots = old.parent
    folder = Folder(bots.parent)
    begun = False
    if folder.has_journal:
        refuse_in_use(folder.journal)
        with reading(folder.journal, tournament.registry) as journal:
            begun = journal.begun and name in journal.bots()
            if problems := replacement_problems(tournament, journal, name):
                raise UserError(problems, 3)
    with Intake(bots) as intake, intake.naming_the_original():
        checked = intake.load(submission, tournament.limits, tournament.game, name)
        if checked.name != name:
            message = f'is called "{checked.name}" in its bot.toml, and the old version "{name}"'
            raise UserError([Problem("C003", str(intake.copy), message, hint=f'name = "{name}"')], 3)
        target = bots / intake.copy.name
        if os.path.lexists(target) and absolute(target) != absolute(old):
            raise UserError([Problem("C016", str(target), "already exists", hint="remove it, or rename it")], 3)
        bot, report = await _examined(tournament, tournament.as_played(checked), level)
        with swapped(old, intake.copy):
            change = _recorded(tournament, folder, bot, reason) if begun else None
    return Entered(bot, target, report, change)


async def _examined(tournament: Tournament, submission: Submission, level: Level) -> tuple[BuiltBot, Report]:
    """Build a bot and ask it the questions of `check`. Raise UserError if it does not build or start."""
    game, limits, rules = tournament.game, tournament.limits, tournament.rules
    found = await examine(submission, game, limits, level, rules)
    return found.playable(), report_on(found, game, level, rules)


def _refuse_duplicate(tournament: Tournament, intake: Intake, target: Path, name: str) -> None:
    """Raise UserError if a file or a bot of this name already exists."""
    if os.path.lexists(target):
        raise UserError([Problem("C016", str(target), "already exists", hint=NAME_HINT)], 3)
    duplicates = []
    for path in expand_patterns(tournament.bots, tournament.path.parent, tournament.game):
        with contextlib.suppress(UserError):  # the problems of other bots are reported when they play
            duplicates += [path] if load_submission(path, tournament.limits, tournament.game).name == name else []
    if duplicates:
        message = f'a bot called "{name}" already exists: {duplicates[0]}'
        hint = NAME_HINT + ("; or name = … in its bot.toml" if intake.copy.is_dir() else "")
        raise UserError([Problem("C003", str(intake.copy), message, hint=hint)], 3)


def _identical(tournament: Tournament, target: Path) -> Iterator[Path]:
    """Yield the other bots of a tournament whose files have the same contents, whatever the files are called."""
    limits = submitted(tournament.limits.submission)
    own = _contents(target, limits)
    for path in expand_patterns(tournament.bots, tournament.path.parent, tournament.game):
        if path != absolute(target) and _contents(path, limits) == own:
            yield path


def _contents(path: Path, limits: TreeLimits) -> list[bytes]:
    """Return the hashes of a bot's files without its bot.toml, sorted."""
    tree = FileTree(path, limits) if path.is_dir() else SingleFile(path, path.lstat(), limits)
    names = [name for name in tree.names if name != MANIFEST]
    return sorted(hashlib.sha256(tree.start_of(name, limits.file_bytes)).digest() for name in names)


def _refuse_late(tournament: Tournament, folder: Folder, name: str) -> None:
    """Raise UserError if a run has begun that cannot take another bot."""
    if not folder.has_journal:
        return
    with reading(folder.journal, tournament.registry) as journal:
        late = {name} - journal.bots().keys() if journal.begun else set()
        problems = late_problems(tournament, journal, late)
    if problems:
        hint = "--force adds it for the next run, which begins with  croupier run --fresh"
        raise UserError([problem._replace(hint=hint) for problem in problems], 3)


def remove_bot(tournament: Tournament, folder: Folder, name: str, place: Path) -> Path:
    """Move the files of a bot that has played nothing out of `bots`, and return their new path.

    Raise UserError if it has played, or if its files are not in `bots`.
    """
    if place.parent != absolute(folder.path / "bots"):
        message = f"is {display_path(place)}, and `remove` removes only what is in bots/"
        raise UserError([Problem("R015", name, message, hint="remove it from `bots` in croupier.toml")], 3)
    if folder.has_journal:
        refuse_in_use(folder.journal)
        with reading(folder.journal, tournament.registry) as journal:
            if journal.begun and name in journal.bots():
                hint = f"croupier withdraw {name} --reason …  keeps what it played, and nothing of it counts"
                raise UserError([Problem("R015", name, "is part of a run that has begun", hint=hint)], 3)
    return _set_aside(place)


def _recorded(tournament: Tournament, folder: Folder, bot: BuiltBot, reason: str) -> Change:
    """Record in the journal that a new version replaces a bot. Raise UserError if the run cannot take the version."""
    with writing(folder.journal, tournament.registry) as journal:
        if problems := replacement_problems(tournament, journal, bot.name):
            raise UserError(problems, 3)
        if journal.bots()[bot.name].sha256 == bot.sha256:
            message = "cannot be replaced: the new version has the same files as the old one"
            hint = "croupier redo FIXTURE --reason … plays a fixture again"
            raise UserError([Problem("R015", bot.name, message, hint=hint)], 3)
        return replace_bot(journal, bot, reason, revealed=folder.revealed(journal))


@contextlib.contextmanager
def swapped(old: Path, new: Path) -> Iterator[None]:
    """Move the old files into the folder of old versions, and the new files into their place.

    If the block fails, move both back. If the process is killed during the block, the user can repeat the command.
    """
    target, former = old.parent / new.name, _set_aside(old)
    try:
        new.rename(target)
        yield
    except BaseException:
        if not os.path.lexists(new):
            target.rename(new)
        former.rename(old)
        former.parent.rmdir()
        raise


def _set_aside(old: Path) -> Path:
    """Move the files of a bot into the folder of old versions; return their new path."""
    former = old.parent / REPLACED / str(time.time_ns())
    former.mkdir(parents=True)
    return old.rename(former / old.name)
