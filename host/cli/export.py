"""The command `export`: writes results for other programs."""

import contextlib
import shlex
import sys
from pathlib import Path

import click

from host.base.errors import UserError
from host.base.format import counted, plural
from host.base.output import whole_file, write
from host.base.system_errors import file_problem
from host.cli import CliContext, options, print_json
from host.ops.journals import journal_of

FORMS = ("csv", "decisions", "jsonl", "playlog", "bundle", "changes", "chain", "public")
APPLIES_TO = {
    "selection": {*FORMS} - {"changes", "chain"},
    "-o": {*FORMS} - {"public"},
    "--spoilers": {*FORMS} - {"changes", "public"},
    "--since": {"chain"},
    "--bots": {"public"},
}
"""The forms to which each option applies, and the argument after the form."""


@click.command()
@click.argument("form", type=click.Choice(FORMS))
@click.argument("selection", required=False, metavar="[STAGE|TABLE|fault:ID|last|FOLDER]")
@options.JOURNAL
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: standard output")
@click.option("--spoilers", is_flag=True, help="include stages that are still running: their cards and results")
@click.option("--since", metavar="SEAL", default="", help="chain: only the lines after the one with this seal")
@click.option("--bots", "with_bots", is_flag=True, help="public: also the sources of all bots")
@click.pass_obj
def export(
    context: CliContext,
    form: str,
    selection: str | None,
    journal: Path | None,
    output: Path | None,
    spoilers: bool,
    since: str,
    with_bots: bool,
) -> None:
    """Export results for other programs: csv (one row per seat), decisions (one row per decision, as CSV), jsonl
    (one event per line) or playlog (one table of hold'em in the format of 2018).

    A bundle contains one faulty decision and what led to it; `croupier ask FILE` repeats it on another machine. changes
    lists the organiser's corrections. chain has one line of JSON for all that is sealed. public writes a FOLDER with the
    chain, the standings, the seed once it is revealed, and check.py, with which anyone can check them without croupier.
    """
    given = {"selection": selection, "-o": output, "--spoilers": spoilers, "--since": since, "--bots": with_bots}
    for option, value in given.items():
        if value and form not in APPLIES_TO[option]:
            raise click.UsageError(f"{selection if option == 'selection' else option} does not apply to export {form}")
    from host.journal.reader import reading
    from host.report.export import one_playlog, write_chain, write_changes, write_csv, write_decisions, write_events

    if form == "public":
        export_public(context, Path(selection or "public"), journal, with_bots)
        return
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
        book = stack.enter_context(reading(journal_of(context.folder, journal), context.registry))
        file = sys.stdout if output is None else stack.enter_context(whole_file(output))
        if form == "playlog":
            file.write(one_playlog(book, selection or "last", spoilers))
            count = 1
        elif form == "changes":
            count = write_changes(book, file)
        elif form == "chain":
            count = write_chain(book, since, spoilers, file)
        else:
            rows = {"csv": write_csv, "decisions": write_decisions, "jsonl": write_events}
            count = rows[form](book, selection, spoilers, file)
    if output is None:
        return
    if context.json:
        print_json("export", path=str(output), form=form, count=count)
    elif not context.quiet:
        unit = {"csv": "row", "decisions": "row", "changes": "row", "chain": "line"}.get(form, "table")
        click.echo(f"{output}: {counted(count, unit)}")


def export_public(context: CliContext, folder: Path, journal: Path | None, with_bots: bool) -> None:
    """Write the folder of `export public`, or write it again: its files are those of this moment."""
    import json

    from host.config.tournament_config import load
    from host.journal.reader import reading
    from host.report.public import public_files, write_sources

    with reading(journal_of(context.folder, journal), context.registry) as book:
        content, versions = public_files(book), book.bots()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise UserError([file_problem("created", folder, failed)], 2) from failed
    for name, text in content.items():
        write(folder / name, text)
    bots = write_sources(load(context.folder), versions, folder / "bots") if with_bots else 0
    rules = json.loads(content["rules.json"])
    if context.json:
        print_json("export", path=str(folder), form="public", count=rules["lines"], seal=rules["seal"], bots=bots)
    elif not context.quiet:
        copied = f", sources of {counted(bots, 'bot')}" if with_bots else ""
        click.echo(f"{folder}: {counted(rules['lines'], 'line')}{copied}, seal {rules['seal']}")
        click.echo(f"  check it:  python3 {shlex.quote(str(folder / 'check.py'))}")
