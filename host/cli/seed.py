"""The commands `seed commit` and `seed reveal`, which prove that the seed was fixed before the first table."""

from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError
from host.base.format import day
from host.cli import CliContext, Facts, print_result
from host.ops.journals import find_stage

if TYPE_CHECKING:
    from host.journal.state import RunState


@click.group(invoke_without_command=True)
@click.pass_context
def seed(context: click.Context) -> None:
    """Commit to the seed before the tournament, and reveal it afterwards, so that nobody can choose the cards."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@seed.command()
@click.pass_obj
def commit(context: CliContext) -> None:
    """Draw the seed, store it in run/seed, and print its hash. Publish the hash before the first table."""
    from host.config.tournament_config import load
    from host.journal.tournament_dir import Folder, commitment

    folder = Folder(context.folder)
    chosen = load(context.folder).seed
    if chosen != "random":
        message = f'seed = "{chosen}" can be read by everyone, so committing to it proves nothing'
        raise UserError([Problem("C010", "croupier.toml", message, hint='seed = "random"')], 3)
    started = folder.has_journal
    if started and not folder.committed():
        hash_, at = commitment(folder.seed(chosen)), None
    else:
        hash_, at = folder.commit()
    facts = {"sha256": hash_, "committed": at, "begun": started, "seed": None}
    if at is None:
        about = "the run had already started: the hash covers only what has not been played yet"
    else:
        about = f"committed to on {day(at)}: publish this line; the seed is in run/seed, which only you can read"
    print_result(context, "seed", Facts(facts, [f"sha256 {hash_}", f"  {about}"]))


@seed.command()
@click.pass_obj
def reveal(context: CliContext) -> None:
    """Print the seed of a finished tournament, and whether it matches the published hash."""
    from host.config.tournament_config import load
    from host.journal.reader import reading
    from host.journal.tournament_dir import Folder, commitment, hash_command, seed_text

    folder = Folder(context.folder)
    with reading(folder.journal, context.registry) as journal:
        find_stage(journal, None)
        run = journal.state()
    if not run.finished:
        message = "the seed is secret until the tournament is finished: it determines the deals still to come"
        raise UserError([Problem("R011", run.name, message, hint="croupier status")], 5)
    value = folder.seed(load(context.folder).seed)
    matches, text = commitment(value) == run.seed_sha256, seed_text(value)
    facts = {"sha256": run.seed_sha256, "committed": run.committed, "bound": run.bound or None}
    lines = [
        f"seed   {text}\nsha256 {commitment(value)}",
        f"  {'✓' if matches else '✗ not'} the hash of this run's seed, {committed_text(run)}",
        f"  check it:  {hash_command(text)}",
    ]
    print_result(context, "seed", Facts(facts | {"seed": text, "matches": matches}, lines))
    raise click.exceptions.Exit(0 if matches else 1)


def committed_text(run: "RunState") -> str:
    """Return when the seed of a run was fixed, in words."""
    at, bound = run.committed, f"; bound to the bots entered then: {run.bound}" if run.bound else ""
    fixed = "fixed when the run began" if at is None else f"committed to on {day(at)}, before the first table"
    return fixed + bound
