"""The command `season open`: runs a season until ^C."""

import sys
import time
from typing import TYPE_CHECKING

import click

from host.base.safe_text import one_line
from host.cli import CliContext, options, print_json_line
from host.cli.run import check_cluster
from host.season.commands.site import require_web

if TYPE_CHECKING:  # trio takes longer to import than most commands take
    from host.season.rounds.season import Log


@click.command("open")
@click.option("--bind", default=options.DEFAULT_BIND, metavar="ADDRESS", help="where the site listens")
@click.option("--no-site", is_flag=True, help="start no site: it runs elsewhere, for example in a container of its own")
@click.option("--workers", type=click.IntRange(1, 1024), help="worker processes; default: one per core")
@click.option(
    "--cluster", default="", metavar="ADDRESS", help="play rounds on the workers of a Dask scheduler: tcp://host:8786"
)
@click.option("--new-link", is_flag=True, help="replace the organiser's link, for example because it leaked")
@click.pass_obj
def command(context: CliContext, bind: str, no_site: bool, workers: int | None, cluster: str, new_link: bool) -> None:
    """Open the season: the site, the queue and the rounds. ^C stops it; the same command goes on.

    It commits to a seed and prints its hash. The organiser's link is printed once.
    """
    import trio

    from host.season.service import ServiceTerms, run_season, site_address

    check_cluster(cluster, workers)
    if not no_site:
        require_web("season open")
    terms = ServiceTerms(bind="" if no_site else bind, cluster=cluster, workers=workers or 0, new_link=new_link)
    address = site_address(context.folder, bind)

    def link(secret: str) -> None:
        if context.json:
            print_json_line("season-link", link=f"{address}/o/{secret}")
        else:
            click.echo(f"the organiser's page: {address}/o/{secret}   (keep it: it is not printed again)")

    trio.run(run_season, context.folder, terms, log_to_terminal(context), link)


def log_to_terminal(context: CliContext) -> "Log":
    """Return a function that prints an event on one line: as text, or with --json as a JSON object."""

    def log(kind: str, subject: str, text: str) -> None:
        if context.json:
            print_json_line("season-event", at=round(time.time(), 3), kind=kind, subject=subject, text=text)
        elif not context.quiet or kind in ("warning", "waits", "damaged"):
            click.echo(one_line(f"{time.strftime('%H:%M:%S')} {kind:<10} {subject}  {text}".rstrip()))
        sys.stdout.flush()

    return log
