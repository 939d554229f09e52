"""The command `explain`: explains an error code."""

import click

from host.base.errors import explanations, lookup, unknown_name
from host.cli import CliContext, Facts, completers, print_result
from host.cli.common import wrap_prose


@click.command()
@click.argument("code", shell_complete=completers.codes)
@click.pass_obj
def explain(context: CliContext, code: str) -> None:
    """Explain an error code: what it means, why it happens and what to do."""
    code = code.upper()
    if code not in explanations():
        raise click.UsageError(unknown_name("code", code, explanations()))
    title, text = lookup(code)
    facts = {"code": code, "title": title, "text": text}
    print_result(context, "explain", Facts(facts, [f"{code}  {title}\n\n{wrap_prose(text)}"]))
