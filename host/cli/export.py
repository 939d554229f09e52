"""The command `export`: writes results for other programs."""

import contextlib
import shlex
import sys
from pathlib import Path

import click

from host.base.format import counted, plural, thousands
from host.cli import CliContext, options, print_json
from host.cli.journals import journal_of
from host.cli.output import whole_file


@click.command()
@click.argument("form", type=click.Choice(["csv", "jsonl", "playlog", "bundle", "changes", "chain"]))
@click.argument("selection", required=False, metavar="[STAGE|TABLE|fault:ID|last]")
@options.JOURNAL
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: standard output")
@click.option("--spoilers", is_flag=True, help="include stages that are still running: their cards and results")
@click.pass_obj
def export(
    context: CliContext, form: str, selection: str | None, journal: Path | None, output: Path | None, spoilers: bool
) -> None:
    """Export results for other programs: csv (one row per seat), jsonl (one event per line) or playlog (format of 2018).

    A bundle contains one faulty decision and what led to it; `croupier ask FILE` repeats it on another machine. changes
    lists the organiser's corrections. chain has one line of JSON for all that is sealed, to check it without croupier.
    """
    from host.report.export import one_playlog, write_chain, write_changes, write_csv, write_events
    from host.results.journal import reading

    if form == "bundle":
        from host.cli.ask import Export, bundled

        export = Export(journal=journal, where=selection, output=output, spoilers=spoilers)
        output, questions = bundled(context, export)
        if context.json:
            print_json("export", path=str(output), form=form, count=questions)
        else:
            asked = f"{questions} {plural(questions, 'question')}"
            click.echo(f"{output}: {asked} → croupier ask {shlex.quote(str(output))}")
        return
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(reading(journal_of(context, journal), context.registry))
        file = sys.stdout if output is None else stack.enter_context(whole_file(output))
        if form == "playlog":
            file.write(one_playlog(book, selection or "last", spoilers))
            count = 1
        elif form == "changes":
            count = write_changes(book, file)
        elif form == "chain":
            count = write_chain(book, spoilers, file)
        else:
            count = (write_csv if form == "csv" else write_events)(book, selection, spoilers, file)
    if output is None:
        return
    if context.json:
        print_json("export", path=str(output), form=form, count=count)
    elif not context.quiet:
        things = {"csv": "rows", "changes": "rows", "chain": "lines"}.get(form)
        click.echo(f"{output}: {f'{thousands(count)} {things}' if things else counted(count, 'table')}")
