"""The command `standings`: prints the results of a stage by bot or pair, or all stages together."""

from pathlib import Path

import click

from host.cli import CliContext, completers, options, print_result
from host.ops.journals import find_stage, open_journal


@click.command()
@click.argument("stage", shell_complete=completers.stages, required=False)
@click.option("--by", type=click.Choice(["bot", "pair"]), default="bot", help="one row per bot, or per pair of bots")
@click.option("--overall", is_flag=True, help="all stages: by the last stage that a bot reached, then its place there")
@options.CSV
@options.JOURNAL
@click.pass_obj
def standings(
    context: CliContext,
    stage: str | None,
    by: str,
    overall: bool,
    as_csv: bool,
    journal: Path | None,
) -> None:
    """Print the standings with error bars, or the results of each pair."""
    from host.report.listings import by_bot, by_pair, of_all_stages, results_of
    from host.report.stage_results import with_pairs
    from host.results.course import positions_of

    if overall and (stage or by != "bot"):
        raise click.UsageError("--overall is about all stages: give no STAGE and no --by")
    with open_journal(context.folder, journal) as book:
        position = find_stage(book, stage)
        results = results_of(book, position)
        if overall:
            listing = of_all_stages(positions_of(book))
        elif by == "pair":
            listing = by_pair(results._replace(stage=with_pairs(results.stage, position)))
        else:
            listing = by_bot(results, verbose=context.verbose)
    if as_csv:
        click.echo(listing.csv(), nl=False)
    else:
        print_result(context, listing.schema, listing)
