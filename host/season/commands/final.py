"""The command `season final`: makes the folder of the final."""

import shlex
from pathlib import Path

import click

from host.base.format import counted
from host.cli import CliContext, print_json


@click.command("final")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--with-references",
    is_flag=True,
    help="let the references play, too: ranked like the others, and part of what the cards follow from",
)
@click.pass_obj
def command(context: CliContext, folder: Path, with_references: bool) -> None:
    """Close entry and make the final: an ordinary tournament folder with the versions that are entered.

    Its cards follow from the seed to which the season has committed and from the entries, whose hashes were published when
    entry closed. `croupier -C DIR run` plays it, with the stages of croupier.toml.
    """
    from host.season.final import make_final
    from host.season.service import loaded_season

    tournament = loaded_season(context.folder)
    made = make_final(
        context.folder, tournament, folder, references=with_references, tell=lambda text: click.echo(text, err=True)
    )
    if context.json:
        entries = [{"label": each.label, "author": each.author, "sha256": each.sha256} for each in made.entries]
        facts = {"folder": str(folder), "entries": entries, "withdrawn": [*made.withdrawn], "digest": made.digest}
        print_json("season-final", **facts, seed_sha256=made.commitment)
        return
    click.echo(f"{folder}: the final of {counted(len(made.entries), 'bot')}; digest of the entries {made.digest}")
    for label in made.withdrawn:
        click.echo(f"  without {label}, which was entered when entry closed and has been withdrawn since")
    click.echo(f"  sha256 of its seed {made.commitment}\n  croupier -C {shlex.quote(str(folder))} run")
