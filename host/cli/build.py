"""The command `build`: builds the bots of a tournament."""

import time
from functools import partial

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.cli import CliContext, completers, print_json
from host.ops.bots import find_entries
from host.ops.level import level_in_force


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1)
@click.option("--force", is_flag=True, help="build all bots again")
@click.option("--unsafe", is_flag=True, help="build without a sandbox")
@click.pass_obj
def build(context: CliContext, names: tuple[str, ...], force: bool, unsafe: bool) -> None:
    """Build the bots that are not built yet, in a sandbox."""
    import trio

    from host.config.tournament_config import load
    from host.submissions.build import build as build_bot
    from host.submissions.build import build_log
    from host.submissions.discovery import refuse_broken

    tournament = load(context.folder)
    level = level_in_force(tournament.level, unsafe)
    problems: list[Problem] = []
    rows, exit_code = [], 0
    for entry in find_entries(tournament, context.folder, names):
        started = time.monotonic()
        try:
            refuse_broken([entry])
            submission = entry.submission
            assert submission is not None  # otherwise refuse_broken has raised
            bot = trio.run(partial(build_bot, submission.with_keys(game=tournament.game), level, force=force))
        except UserError as refused:
            problems += refused.problems
            exit_code = max(exit_code, refused.exit_code)
            continue
        took = time.monotonic() - started
        rows.append({"bot": bot.name, "language": bot.spec.language, "sha256": bot.sha256, "seconds": round(took, 3)})
        if not context.json:
            click.echo(f"  ✓ {escape_control_chars(bot.name):<24} {bot.spec.language:<8} {took:.2f} s")
            if context.verbose and build_log(bot.sha256).exists():
                click.echo(build_log(bot.sha256).read_text())
    if context.json and not problems:
        print_json("build", sandbox=level, rows=rows)
    if problems:
        raise UserError(problems, exit_code)
