"""The command `season final`: makes the folder of the final."""

import shlex
from pathlib import Path

import click

from host.base.format import counted
from host.cli import CliContext, Facts, print_result


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
    facts = {"folder": str(folder), "entries": made.entries, "withdrawn": made.withdrawn, "digest": made.digest}
    gone = "which was entered when entry closed and has been withdrawn since"
    lines = [
        f"{folder}: the final of {counted(len(made.entries), 'bot')}; digest of the entries {made.digest}",
        *(f"  without {label}, {gone}" for label in made.withdrawn),
        f"  sha256 of its seed {made.commitment}\n  croupier -C {shlex.quote(str(folder))} run",
    ]
    print_result(context, "season-final", Facts(facts | {"seed_sha256": made.commitment}, lines))
