"""Commands that let anybody see that a cup was fair: seed commit, seed reveal."""

from collections.abc import Mapping

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, print_json


@click.group()
def seed() -> None:
    """Fix the seed before the cup, and show it after: nobody can choose the cards then, not even the organiser."""


@seed.command()
@click.pass_obj
def commit(context: CliContext) -> None:
    """Draw the seed, keep it private in run/seed, and print the hash to publish before the first table."""
    from host.base.format import day
    from host.tournament.config import load
    from host.tournament.tournament_dir import Folder, commitment

    folder = Folder(context.folder)
    chosen = load(context.folder).seed
    if chosen != "random":
        told = f'seed = "{chosen}" is there for everybody to read: there is nothing to commit to'
        raise UserError([Problem("C010", "croupier.toml", told, hint='seed = "random"')], 3)
    begun = folder.journal.exists()
    if begun and not folder.committed():
        hash_, at = commitment(folder.seed(chosen)), None
    else:
        hash_, at = folder.commit()
    if context.json:
        print_json("seed", sha256=hash_, committed=at, begun=begun, seed=None)
        return
    click.echo(f"sha256 {hash_}")
    if at is None:
        click.echo("  this run had begun before: the hash is good for what is still to come only")
    else:
        click.echo(f"  committed to on {day(at)}: publish this line; the seed stays in run/seed, for you alone")


@seed.command()
@click.pass_obj
def reveal(context: CliContext) -> None:
    """Print the seed of a cup that is over, and whether it is the one that was committed to."""
    from host.cli.common import the_stage
    from host.tournament.config import load
    from host.tournament.journal import reading
    from host.tournament.tournament_dir import Folder, commitment, committed_at

    folder = Folder(context.folder)
    with reading(folder.journal) as journal:
        the_stage(journal, None)
        facts = journal.metadata()
    if facts["state"] != "finished":
        told = "the seed stays secret until the cup is over: with it anybody can compute the deals to come"
        raise UserError([Problem("R011", facts["name"], told, hint="croupier status")], 5)
    value = folder.seed(load(context.folder).seed)
    good = commitment(value) == facts["seed_sha256"]
    if context.json:
        print_json("seed", sha256=facts["seed_sha256"], committed=committed_at(facts), seed=value.hex(), matches=good)
    else:
        click.echo(f"seed   {value.hex()}\nsha256 {commitment(value)}")
        click.echo(f"  {'✓' if good else '✗ not'} the hash of this run's seed, {committed_text(facts)}")
        click.echo(f"  check it:  printf {value.hex()} | xxd -r -p | sha256sum")
    raise click.exceptions.Exit(0 if good else 1)


def committed_text(facts: Mapping[str, str]) -> str:
    """Return when a run's seed was fixed, in words."""
    from host.base.format import day
    from host.tournament.tournament_dir import committed_at

    at = committed_at(facts)
    return "fixed when the run began" if at is None else f"committed to on {day(at)}, before the first table"
