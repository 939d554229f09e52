"""The command `version`: prints versions."""

import platform

import click

from host import __version__
from host.cli import CliContext, print_json


@click.command()
@click.pass_obj
def version(context: CliContext) -> None:
    """Print versions."""
    facts = {
        "croupier": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
    if context.json:
        print_json("version", **facts)
    else:
        click.echo("  ".join(f"{name} {value}" for name, value in facts.items()))
