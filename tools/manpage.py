#!/usr/bin/env python3
"""Print the man page of croupier, from the definitions of its commands: `tools/manpage.py > docs/croupier.1`."""

import click

from host.cli import COMMAND_GROUPS, group
from host.cli.examples import EXAMPLES

HEAD = r""".TH CROUPIER 1
.SH NAME
croupier \- run tournaments between programs
.SH SYNOPSIS
.B croupier
[\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]
.SH DESCRIPTION
"""


def escaped(text: str) -> str:
    """Return a text as roff prints it literally, on one line."""
    words = " ".join(text.replace("\b", "").split())
    return ("\\&" if words[:1] in ".'" else "") + words.replace("\\", "\\e").replace("-", "\\-")


def options(command: click.Command, context: click.Context) -> list[str]:
    """Return the options of a command as tagged paragraphs."""
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record:
            lines += [".TP", f"\\fB{escaped(record[0])}\\fR", escaped(record[1])]
    return lines


def page() -> str:
    """Return the man page."""
    context = click.Context(group, info_name="croupier")
    lines = [HEAD + escaped(group.help or ""), ".SH OPTIONS", *options(group, context)]
    for title, commands in COMMAND_GROUPS.items():
        lines.append(f".SH {title.upper()}")
        for name in commands:
            command = group.get_command(context, name)
            assert command is not None
            inner = click.Context(command, info_name=name, parent=context)
            usage = " ".join(command.collect_usage_pieces(inner))
            lines += [f".SS croupier {name} {escaped(usage)}", escaped(command.help or ""), *options(command, inner)]
            lines += [".PP", "Examples:", ".nf", *(escaped(f"    croupier {words}") for words in EXAMPLES[name]), ".fi"]
    lines += [".SH SEE ALSO", "The documentation in the folder docs of a clone of croupier."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    click.echo(page(), nl=False)
