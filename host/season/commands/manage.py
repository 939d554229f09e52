"""The commands of the organiser that leave a request in the inbox of a season, and print its answer."""

from typing import Any

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, print_json

REASON = click.option("--reason", default="", metavar="TEXT", help="shown on the site")


def print_answer(context: CliContext, action: Any, **what: str) -> None:
    """Leave a request in the inbox, and print the answer. Raise UserError if the request is refused."""
    from host.season.entries.inbox import Manage
    from host.season.manage import manage
    from host.season.service import loaded_season

    loaded_season(context.folder)
    answer = manage(context.folder, Manage(action=action, **what))
    if answer and answer.code:
        raise UserError([Problem(answer.code, "", answer.text, hint=answer.cure)], 3)
    text = answer.text if answer else "no process runs the season: it is done as soon as it is opened"
    if context.json:
        print_json(f"season-{action}", done=answer is not None, text=text)
    else:
        click.echo(text)


@click.command()
@REASON
@click.pass_obj
def pause(context: CliContext, reason: str) -> None:
    """Pause the season at once: no round and no examination begins or goes on. Nothing that was played is lost.

    People may still hand in bots, which wait. `croupier season resume` goes on.
    """
    print_answer(context, "pause", reason=reason)


@click.command()
@click.pass_obj
def resume(context: CliContext) -> None:
    """Let a paused season go on: its round continues where it was."""
    print_answer(context, "resume")


@click.command()
@click.option("--undo", is_flag=True, help="open entry again; possible until the final has been made")
@click.option("--yes", is_flag=True, help="do not ask for the word")
@REASON
@click.pass_obj
def freeze(context: CliContext, undo: bool, yes: bool, reason: str) -> None:
    """Close entry now. Submissions are still examined, and practice goes on; what comes in later does not play.

    With --undo entry is open again as if it had not been closed: what was handed in meanwhile plays.
    """
    if not undo and not yes:
        word = click.prompt("this closes entry for everybody; write freeze to do it", err=True)
        if word.strip().lower() != "freeze":
            raise click.UsageError("entry stays open")
    print_answer(context, "unfreeze" if undo else "freeze", reason=reason)


@click.command()
@click.argument("subject", metavar="BOT")
@REASON
@click.pass_obj
def withdraw(context: CliContext, subject: str, reason: str) -> None:
    """Withdraw a bot: it plays no more, and everybody sees why."""
    print_answer(context, "withdraw", subject=subject, reason=reason)


@click.command()
@click.argument("subject", metavar="BOT|SUBMISSION")
@REASON
@click.pass_obj
def readmit(context: CliContext, subject: str, reason: str) -> None:
    """Take back a bot that was withdrawn, or examine a submission again that was refused or cancelled."""
    print_answer(context, "readmit", subject=subject, reason=reason)


@click.command()
@click.argument("subject", metavar="SUBMISSION")
@REASON
@click.pass_obj
def cancel(context: CliContext, subject: str, reason: str) -> None:
    """Cancel a submission that has no verdict yet."""
    print_answer(context, "cancel", subject=subject, reason=reason)


@click.command()
@click.argument("subject", metavar="AUTHOR")
@click.argument("name", metavar="NEW")
@click.pass_obj
def rename(context: CliContext, subject: str, name: str) -> None:
    """Rename an author. The link, the bots and the submissions stay as they are."""
    print_answer(context, "rename", subject=subject, name=name)


@click.command()
@click.argument("subject", metavar="AUTHOR")
@click.pass_obj
def remove(context: CliContext, subject: str) -> None:
    """Remove an author who has handed in nothing: the link ends, and the name is free."""
    print_answer(context, "remove", subject=subject)
