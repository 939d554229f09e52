"""The command `run`: plays a tournament, or estimates how long that takes."""

import contextlib
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import UserError
from host.base.format import counted
from host.cli import CliContext, completers
from host.cli.common import print_standings
from host.journal.changes import checked_reason
from host.sandbox.limits import seconds

if TYPE_CHECKING:  # trio takes longer to import than most commands take
    from host.tournament.running import RunOptions, RunOutcome


@click.command()
@click.option(
    "--dry-run", is_flag=True, help="print who plays whom and an estimate of the time, from a short trial; play nothing"
)
@click.option("--fresh", is_flag=True, help="delete what has been played, and start again")
@click.option("--stage", "last", shell_complete=completers.stages, metavar="NAME", help="stop after this stage")
@click.option(
    "--workers", type=click.IntRange(1, 1024), help="worker processes; default: [run] workers, or one per core"
)
@click.option(
    "--cluster", default="", metavar="ADDRESS", help="play on the workers of a Dask scheduler: tcp://host:8786"
)
@click.option(
    "--stop-after",
    metavar="TIME",
    help='stop after this long, for example "10 min"; resume with croupier run',
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "live", "plain", "json", "none"]),
    default="auto",
    help="how to print the progress",
)
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="recorded with bots that come late and with more tables, if they were added since the run began",
)
@click.option(
    "--unsafe",
    is_flag=True,
    help="play without a sandbox: only for bots you wrote yourself; recorded in the results",
)
@click.pass_obj
def run(
    context: CliContext,
    /,
    dry_run: bool,
    progress: str,
    stop_after: str | None,
    **values: Any,
) -> None:
    """Play the tournament and print its standings. After ^C, the same command continues: finished fixtures are saved."""
    from host.tournament.running import RunOptions

    chosen = RunOptions(**values)
    check_cluster(chosen.cluster, chosen.workers)
    if dry_run:
        given = {"--fresh": chosen.fresh, "--stage": chosen.last, "--stop-after": stop_after, "--reason": chosen.reason}
        given["--progress"] = progress != "auto"
        if unused := [option for option, value in given.items() if value]:
            raise click.UsageError(f"--dry-run plays nothing, so {unused[0]} does not apply")
        _estimate(context, chosen)
        return
    reason = checked_reason(chosen.reason) if chosen.reason.strip() else ""
    chosen = chosen._replace(until=_seconds(stop_after), reason=reason)
    outcome = _play(context, chosen, progress)
    _print_standings(context, outcome, on_one_line=progress == "json")
    again = _same_command(context, chosen)
    if outcome.interrupted:
        stopped = f"    stopped: {outcome.reason}; finished fixtures are saved, and the standings above include them."
        click.echo(f"{stopped}\n    continue with:  {again}", err=True)
        raise click.exceptions.Exit(5)
    if outcome.undecided:
        later = outcome.undecided - outcome.again
        why = "what followed depends on it, or its bot is withdrawn"
        stay = f"  {counted(later, 'fixture')} cannot be played again: {why}." if later else ""
        retry = f"  Try again:  {again}" if outcome.again else ""
        click.echo(f"    {counted(outcome.undecided, 'fixture')} undecided: {outcome.cause}.{stay}{retry}", err=True)
        raise click.exceptions.Exit(7)


def check_cluster(cluster: str, workers: int | None) -> None:
    """Raise UsageError if the address of a scheduler is wrong, or if workers of this machine are asked for, too."""
    if not cluster:
        return
    from host.config.tournament_config import ADDRESS

    if not re.fullmatch(ADDRESS, cluster):
        raise click.UsageError(f"--cluster {cluster} is not the address of a scheduler, for example tcp://host:8786")
    if workers:
        raise click.UsageError("--workers are processes on this machine; --cluster has its own workers")


def _seconds(stop_after: str | None) -> float | None:
    try:
        return seconds(stop_after) if stop_after else None
    except ValueError as error:
        raise click.UsageError(f"--stop-after: {error}") from error


def _estimate(context: CliContext, chosen: "RunOptions") -> None:
    import trio

    from host.backends.backend import open_backend
    from host.cli.dry_run import print_estimate
    from host.cli.progress import progress_view
    from host.tournament.estimate import forecast

    shown = sys.stderr.isatty() and not (context.quiet or context.json)
    with progress_view("stderr" if shown else "none") as view:
        found = trio.run(forecast, context.folder, view, open_backend, chosen)
    print_estimate(context, found)


def _play(context: CliContext, chosen: "RunOptions", progress: str) -> "RunOutcome":
    import trio

    from host.backends.backend import open_backend
    from host.cli.progress import progress_view
    from host.tournament.running import run_tournament

    with progress_view("none" if context.json and progress == "auto" else progress, quiet=context.quiet) as view:
        return trio.run(run_tournament, context.folder, view, open_backend, chosen)


def _print_standings(context: CliContext, outcome: "RunOutcome", *, on_one_line: bool) -> None:
    """Print the standings of the last stage played. Print nothing if an interrupted run has no standings yet."""
    from host.journal.tournament_dir import Folder

    journal = Folder(context.folder).journal
    context = context._replace(json=context.json or on_one_line)
    with contextlib.suppress(UserError) if outcome.interrupted else contextlib.nullcontext():
        print_standings(context, journal, interrupted=outcome.interrupted, on_one_line=on_one_line)


def _same_command(context: CliContext, chosen: "RunOptions") -> str:
    words = ["croupier"]
    if context.folder != Path():
        words += ["-C", str(context.folder)]
    words.append("run")
    if chosen.last:
        words += ["--stage", chosen.last]
    if chosen.cluster:
        words += ["--cluster", chosen.cluster]
    if chosen.unsafe:
        words.append("--unsafe")
    return shlex.join(words)
