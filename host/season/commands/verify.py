"""The command `season verify`: computes every round's list and every score again."""

import click

from host.cli import CliContext, print_result
from host.cli.verify import parse_percent, parse_seal


@click.command("verify")
@click.option(
    *("--sample", "share"),
    default="100%",
    callback=parse_percent,
    metavar="PERCENT",
    help="play only this share of the tables again, drawn at random",
)
@click.option(
    *("--seal", "seal"),
    default="",
    callback=parse_seal,
    metavar="HASH",
    help="a seal of the chain that was published: check that nothing before it was removed or changed",
)
@click.pass_obj
def command(context: CliContext, share: float, seal: str) -> None:
    """Compute the list of every round again, and every score from the recorded answers; exit code 1 if anything differs.

    It also checks the chain, the seals and the ladder, that every round was dealt from the season's seed, and the sums that
    the season has stored of each round.
    """
    from host.season.service import played_season
    from host.season.verify import verify_season

    audit = verify_season(context.folder, played_season(context.folder), share, seal)
    print_result(context, "season-verify", audit)
    raise click.exceptions.Exit(1 if audit.differences else 0)
