"""The command `import`: converts a play.log to an HTML page. The name of a module cannot be a keyword."""

import webbrowser
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.base.output import write
from host.base.system_errors import file_problem
from host.cli import CliContext, print_json


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: next to the file")
@click.option("--open", "show", is_flag=True, help="open it in the browser")
@click.pass_obj
def import_(context: CliContext, file: Path, output: Path | None, show: bool) -> None:
    """Convert a play.log, of croupier or of 2018, to a page that shows the game."""
    from host.report.export import told_playlog
    from host.report.html_file import casino_of

    try:
        text = file.read_text()
    except OSError as failed:
        raise UserError([file_problem("read", file, failed)], 2) from failed
    except UnicodeDecodeError as failed:
        raise UserError([Problem("R013", str(file), "cannot be read: it is not a text")], 2) from failed
    summary = told_playlog(text, str(file))
    path = output or file.with_name(f"{file.name.removesuffix('.log').removesuffix('.play')}.html")
    write(path, casino_of(file.name, text))
    if context.json:
        print_json("import", path=str(path), **summary._asdict())
    else:
        left = ", ".join(f"{name} {chips}" for name, chips in summary.left.items())
        click.echo(
            f"{file}: {summary.rounds} rounds, {len(summary.players)} players, {summary.faults} faults; left: {left}"
        )
        click.echo(f"  {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())
