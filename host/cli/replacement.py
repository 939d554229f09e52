"""Replaces a bot by a new version of it: `croupier add FILE --replace BOT`."""

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, in_folder, print_json

if TYPE_CHECKING:  # pydantic takes longer to import than most commands take
    from host.bots.bot_spec import BuiltBot
    from host.config.tournament_config import Tournament
    from host.results.changes import Change
    from host.results.tournament_dir import Folder
    from host.sandbox.levels import Level

REPLACED = ".replaced"
"""The folder inside `bots/` that keeps the files of old versions. A hidden folder is not a bot."""


def replace_one(
    context: CliContext, tournament: "Tournament", submission: Path, name: str, reason: str, level: "Level"
) -> None:
    """Check a new version of a bot, and put it in the place of the old one. Raise UserError if the run cannot take it."""
    import trio

    from host.base.safe_text import one_line
    from host.cli.common import find_game
    from host.results.changes import checked_reason
    from host.results.journal import lock_holder, reading
    from host.results.tournament_dir import Folder
    from host.sandbox.detect import require_clock
    from host.submissions.check import report_on
    from host.submissions.examine import examine
    from host.submissions.intake import Intake

    reason, folder, bots = checked_reason(reason), Folder(context.folder), context.folder / "bots"
    old = _entered(tournament, bots, name)
    begun = folder.journal.exists() and folder.journal.stat().st_size > 0
    if begun:
        if lock_holder(folder.journal):
            _raise_in_use(folder)
        with reading(folder.journal, tournament.registry) as journal:
            begun = journal.begun and name in journal.bots()
            _refuse(tournament, folder, name)
    with Intake(bots) as intake, intake.naming_the_original():
        checked = intake.load(submission, tournament.limits, tournament.game, name)
        if checked.name != name:
            message = f'is called "{checked.name}" in its bot.toml, and the old version "{name}"'
            raise UserError([Problem("C003", str(intake.copy), message, hint=f'name = "{name}"')], 3)
        target = bots / intake.copy.name
        if os.path.lexists(target) and target.absolute() != old.absolute():
            raise UserError([Problem("C016", str(target), "already exists", hint="remove it, or rename it")], 3)
        game, limits, rules = find_game(tournament.game), tournament.limits, tournament.rules
        require_clock(limits.clock, level)
        found = trio.run(examine, tournament.as_played(checked), game, limits, level, rules)
        bot, report = found.playable(), report_on(found, game, level, rules)
        swap = partial(_swap, bots, old, intake.copy)
        change = _recorded(tournament, folder, bot, reason, swap) if begun else None
        if not begun:
            swap()
    if context.json:
        entry = {"bot": bot.name, "path": str(target), "sha256": bot.sha256, "accepted": report.accepted}
        print_json("add", sandbox=level, run_begun=begun, rows=[entry], change=change and change.json())
        return
    click.echo(f"replaced {bot.name} by {target}  sha256 {bot.sha256[:16]}…")
    for line in report.remarks():
        click.echo(f"  {line}")
    if change:
        click.echo(f"  {one_line(change.text())}\n  sealed: {change.seal}")
        click.echo(in_folder("  continue with:  croupier run", str(context.folder)))
    else:
        click.echo("  it had not played, so nothing is recorded")


def _entered(tournament: "Tournament", bots: Path, name: str) -> Path:
    """Return the file or folder of an entered bot. Raise UserError if `add` could not have put it there."""
    from host.cli.common import find_entries

    (entry,) = find_entries(tournament, bots.parent, (name,))
    if entry.path.absolute().parent != bots.absolute():
        message = f"is {entry.path}, and `add` replaces only what is in {bots}"
        raise UserError([Problem("R015", name, message, hint="croupier ls -v lists the files of the bots")], 3)
    return entry.path


def _refuse(tournament: "Tournament", folder: "Folder", name: str) -> None:
    """Raise UserError if the run cannot take a new version of a bot."""
    from host.results.journal import reading
    from host.tournament.additions import replacement_problems

    with reading(folder.journal, tournament.registry) as journal:
        if problems := replacement_problems(tournament, journal, name):
            raise UserError(problems, 3)


def _raise_in_use(folder: "Folder") -> None:
    from host.results.journal import in_use, lock_holder

    raise UserError([in_use(folder.run, lock_holder(folder.journal))], 5)


def _recorded(
    tournament: "Tournament", folder: "Folder", bot: "BuiltBot", reason: str, swap: "partial[None]"
) -> "Change":
    """Replace a bot that has played, in the journal and in its folder."""
    from host.results.journal import writing
    from host.tournament.additions import replace_bot, replacement_problems

    with writing(folder.journal, tournament.registry) as journal:
        if problems := replacement_problems(tournament, journal, bot.name):
            raise UserError(problems, 3)
        if journal.bots()[bot.name].sha256 == bot.sha256:
            message = "cannot be replaced: the new version has the same files as the old one"
            hint = "croupier redo FIXTURE --reason … plays a fixture again"
            raise UserError([Problem("R015", bot.name, message, hint=hint)], 3)
        return replace_bot(journal, bot, reason, revealed=folder.revealed, swap=swap)


def _swap(bots: Path, old: Path, new: Path) -> None:
    """Move the old files into the folder of old versions, and the new files into their place."""
    kept = bots / REPLACED / str(time.time_ns())
    kept.mkdir(parents=True)
    old.rename(kept / old.name)
    new.rename(bots / new.name)
