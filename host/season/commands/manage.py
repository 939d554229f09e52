"""The commands of the organiser that leave a request in the inbox of a season, and print its answer."""

from typing import Any

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, Facts, print_result

REASON = click.Option(["--reason"], default="", metavar="TEXT", help="shown on the site")


def print_answer(context: CliContext, action: Any, **what: str) -> None:
    """Leave a request for `action` with the fields `what` in the inbox, and print its answer.

    Print a notice instead if no process runs the season. Raise UserError if the request is refused.
    """
    from host.season.entries.inbox import Manage
    from host.season.manage import manage
    from host.season.service import require_season

    require_season(context.folder)
    answer = manage(context.folder, Manage(action=action, **what))
    if answer and answer.code:
        raise UserError([Problem(answer.code, "", answer.text, hint=answer.cure)], 3)
    text = answer.text if answer else "no process runs the season: it is done as soon as it is opened"
    print_result(context, f"season-{action}", Facts({"done": answer is not None, "text": text}, [text]))


def _command(action: str, text: str, *parameters: click.Parameter) -> click.Command:
    """Return the command for an action. Its parameters are the other fields of the request."""

    @click.pass_obj
    def run(context: CliContext, /, **what: str) -> None:
        print_answer(context, action, **what)

    return click.Command(action, callback=run, params=[*parameters], help=text)


def _subject(metavar: str) -> click.Argument:
    return click.Argument(["subject"], metavar=metavar)


pause = _command(
    "pause",
    """Pause the season at once: no round and no examination begins or goes on. Nothing that was played is lost.

    People may still hand in bots, which wait. `croupier season resume` goes on.""",
    REASON,
)
resume = _command("resume", "Let a paused season go on: its round continues where it was.")
withdraw = _command("withdraw", "Withdraw a bot: it plays no more, and everybody sees why.", _subject("BOT"), REASON)
readmit = _command(
    "readmit",
    "Take back a bot that was withdrawn, or examine a submission again that was refused or cancelled.",
    *(_subject("BOT|SUBMISSION"), REASON),
)
cancel = _command("cancel", "Cancel a submission that has no verdict yet.", _subject("SUBMISSION"), REASON)
rename = _command(
    "rename",
    "Rename an author. The link, the bots and the submissions stay as they are.",
    *(_subject("AUTHOR"), click.Argument(["name"], metavar="NEW")),
)
remove = _command(
    "remove", "Remove an author who has handed in nothing: the link ends, and the name is free.", _subject("AUTHOR")
)


@click.command()
@click.option("--undo", is_flag=True, help="open entry again; possible until the final has been made")
@click.option("--yes", is_flag=True, help="do not ask for the word")
@click.option("--reason", default="", metavar="TEXT", help="shown on the site")
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
