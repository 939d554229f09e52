"""The command `compare`: tests whether a new bot is stronger than an old one."""

from typing import Any

import click
from click.core import ParameterSource

from host.cli import STARTED, CliContext, completers, options, print_result

ELO_LIMIT = 1000
EXIT_CODES = {"H1": 0, "H0": 1, "": 8}  # by what the test has accepted


def parse_bounds(_context: click.Context, _option: click.Parameter, text: str) -> tuple[float, float]:
    """Return the two numbers of `--elo 0,10`."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not two numbers, for example 0,10") from None
    if not -ELO_LIMIT <= low < high <= ELO_LIMIT:
        raise click.BadParameter(f"{text!r}: the first must be less than the second, both within {ELO_LIMIT}")
    return low, high


@click.command()
@click.argument("new", shell_complete=completers.bots)
@click.argument("old", shell_complete=completers.bots)
@click.option(
    *("--elo", "bounds"),
    default="0,10",
    show_default=True,
    callback=parse_bounds,
    metavar="LOW,HIGH",
    help="stop when a lead of LOW can be distinguished from one of HIGH",
)
@click.option(
    "--not-worse",
    type=click.FloatRange(0, ELO_LIMIT, min_open=True),
    metavar="ELO",
    help="succeed unless the new bot is weaker by ELO: the same as --elo -ELO,0",
)
@click.option(
    *("-n", "--games", "--max", "max_tables"),
    type=click.IntRange(1, 10_000_000),
    default=50_000,
    show_default=True,
    help="stop after this many tables",
)
@click.option("--mirror/--no-mirror", default=True, help="play every deal from every seat  [default: --mirror]")
@options.conditions
@click.pass_obj
def compare(
    context: CliContext,
    /,
    new: str,
    old: str,
    bounds: tuple[float, float],
    not_worse: float | None,
    max_tables: int,
    **chosen: Any,
) -> None:
    """Play a new bot against an old one until a sequential test decides.

    The exit code is 0 if the new bot is stronger (with --not-worse: not weaker), 1 if it is not, 8 if the test is undecided,
    and 5 after ^C.
    """
    import trio

    from host.backends.local import local_workers
    from host.cli.comparison_view import ComparisonView
    from host.ops.adhoc import Conditions, adhoc_journal
    from host.ops.comparing import compare_bots, find_sides, plan_comparison
    from host.tournament.comparison import SequentialTest

    if not_worse is not None:
        if click.get_current_context().get_parameter_source("bounds") is not ParameterSource.DEFAULT:
            raise click.UsageError("--not-worse and --elo both set the bounds of the test: leave out one of the two")
        bounds = (-not_worse, 0.0)
    test, conditions = SequentialTest(bounds, max_tables), Conditions(**chosen)
    found = find_sides(context.folder, (new, old), conditions.game)
    planned = plan_comparison(context.folder, found, test, conditions)
    view = ComparisonView(planned, (new, old), silent=context.quiet or context.json)
    journal = adhoc_journal(context.folder, found.game)
    result = trio.run(compare_bots, planned, journal, local_workers, view, STARTED)
    if result is None:
        raise click.exceptions.Exit(5)
    print_result(context, "compare", result)
    accepted = result.verdict.accepted
    raise click.exceptions.Exit(5 if result.interrupted and not accepted else EXIT_CODES[accepted])
