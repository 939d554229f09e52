"""The command `completion`: prints the completion script for a shell."""

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, group, print_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(context: CliContext, shell: str) -> None:
    """Print the completion script for a shell. In ~/.bashrc: eval "$(croupier completion bash)"."""
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    assert completer is not None
    try:
        script = completer(group, {}, "croupier", "_CROUPIER_COMPLETE").source()
    except (OSError, RuntimeError) as error:  # click runs bash to find its version
        problem = Problem("S005", shell, f"completion needs {shell}: {error}", hint=f"apt install {shell}")
        raise UserError([problem], 6) from error
    if context.json:
        print_json("completion", shell=shell, script=script)
    else:
        click.echo(script)
