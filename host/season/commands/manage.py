"""Shared by the commands of the organiser that leave a request in the inbox of a season."""

from typing import Literal

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, print_json


def print_answer(context: CliContext, action: Literal["pause", "resume", "freeze"], reason: str = "") -> None:
    """Leave a request in the inbox, and print the answer. Raise UserError if the request is refused."""
    from host.season.entries.inbox import Manage
    from host.season.manage import manage
    from host.season.service import loaded_season

    loaded_season(context.folder)
    answer = manage(context.folder, Manage(action=action, reason=reason))
    if answer and answer.code:
        raise UserError([Problem(answer.code, "", answer.text, hint=answer.cure)], 3)
    text = answer.text if answer else "no process runs the season: it is done as soon as it is opened"
    if context.json:
        print_json(f"season-{action}", done=answer is not None, text=text)
    else:
        click.echo(text)
