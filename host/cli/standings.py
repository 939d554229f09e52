"""The command `standings`: prints the results of a stage by bot or pair, or all stages together."""

from functools import partial
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, completers, options, print_result
from host.ops.journals import find_stage, journal_of


@click.command()
@click.argument("stage", shell_complete=completers.stages, required=False)
@click.option("--by", type=click.Choice(["bot", "pair"]), default="bot", help="one row per bot, or per pair of bots")
@click.option("--grades", is_flag=True, hidden=True)
@click.option("--overall", is_flag=True, help="all stages: by the last stage that a bot reached, then its place there")
@click.option("--csv", "as_csv", is_flag=True, help="print comma-separated values")
@options.JOURNAL
@click.pass_obj
def standings(
    context: CliContext,
    stage: str | None,
    by: str,
    grades: bool,
    overall: bool,
    as_csv: bool,
    journal: Path | None,
) -> None:
    """Print the standings with error bars, or the results of each pair."""
    from host.journal.journal import reading
    from host.report.listings import LISTINGS, by_bot

    path = journal_of(context.folder, journal)
    if overall and (stage or by != "bot"):
        raise click.UsageError("--overall is about all stages: give no STAGE and no --by")
    if grades:
        raise UserError([Problem("U001", "", "grades are a command of their own", hint="croupier grades")], 2)
    chosen = "overall" if overall else by
    make = partial(by_bot, verbose=context.verbose) if chosen == "bot" else LISTINGS[chosen]
    with reading(path, context.registry) as book:
        listing = make(book, find_stage(book, stage))
    if as_csv:
        click.echo(listing.csv(), nl=False)
    else:
        print_result(context, listing.schema, listing)
