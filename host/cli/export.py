"""The command `export`: writes results for other programs."""

import contextlib
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.output import whole_file, write
from host.base.system_errors import file_problem
from host.cli import CliContext, Facts, options, print_result
from host.cli.ask import Export, bundled
from host.ops.journals import open_journal

FORMS = ("csv", "decisions", "jsonl", "playlog", "bundle", "public")
GONE = {
    "chain": "croupier export public FOLDER writes its lines to records.ndjson",
    "changes": "croupier status --json has them",
}
"""Removed forms, each with its replacement."""


class Form(click.Choice[str]):
    """One of the FORMS."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the form that a word names. Raise UsageError if the form has been removed, or does not exist."""
        if value in GONE:
            raise click.UsageError(f"export {value} is gone: {GONE[value]}")
        return super().convert(value, param, ctx)


@click.command()
@click.argument("form", type=Form(FORMS))
@click.argument("selection", required=False, metavar="[STAGE|TABLE|fault:ID|last|FOLDER]")
@options.JOURNAL
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: standard output")
@click.option("--spoilers", is_flag=True, help="include stages that are still running: their cards and results")
@click.option("--bots", "with_bots", is_flag=True, help="public: also the sources of all bots")
@click.pass_obj
def export(context: CliContext, /, **values: Any) -> None:
    """Export results for other programs: csv (one row per seat), decisions (one row per decision, as CSV), jsonl
    (one event per line) or playlog (one table of hold'em in the format of 2018).

    A bundle contains one faulty decision and what led to it; `croupier ask FILE` repeats it on another machine. public
    writes a FOLDER with all that is sealed, the standings, the seed once it is revealed, and check.py, with which anyone
    can check them without croupier.
    """
    chosen = Export(**values)
    is_public = chosen.form == "public"
    for option, value in {"-o": chosen.output, "--spoilers": chosen.spoilers, "--bots": chosen.with_bots}.items():
        if value and is_public != (option == "--bots"):
            raise click.UsageError(f"{option} does not apply to export {chosen.form}")
    if is_public:
        _export_public(context, chosen)
    elif chosen.form == "bundle":
        path, questions = bundled(context, chosen)
        _print(
            context, chosen._replace(output=path), questions, "question", f" → croupier ask {shlex.quote(str(path))}"
        )
    else:
        _export_tables(context, chosen)


def _print(context: CliContext, chosen: Export, count: int, unit: str, more: str = "") -> None:
    """Print the name of the file that was written, and the number of units in it."""
    facts = {"path": str(chosen.output), "form": chosen.form, "count": count}
    print_result(context, "export", Facts(facts, [f"{chosen.output}: {counted(count, unit)}{more}"]))


def _export_tables(context: CliContext, chosen: Export) -> None:
    """Write rows or events of tables to a file, or to standard output."""
    from host.report.export import write_csv, write_decisions, write_events, write_playlog

    writers = {"csv": write_csv, "decisions": write_decisions, "jsonl": write_events, "playlog": write_playlog}
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(open_journal(context.folder, chosen.journal))
        file = sys.stdout if chosen.output is None else stack.enter_context(whole_file(chosen.output))
        count = writers[chosen.form](book, chosen.selection, chosen.spoilers, file)
    if chosen.output is not None and (context.json or not context.quiet):
        _print(context, chosen, count, "row" if chosen.form in ("csv", "decisions") else "table")


def _export_public(context: CliContext, chosen: Export) -> None:
    """Write the folder of `export public` from the present state of the journal. Replace files of an earlier export."""
    import json

    from host.config.resolver import CONFIG
    from host.config.tournament_config import load
    from host.inspect.recorded import known_seed
    from host.report.public import ANSWERS, answer_lines, public_files, public_lines
    from host.report.public_again import played_bots, write_again, write_sources

    folder = Path(chosen.selection or "public")
    there, here = folder / CONFIG, context.folder / CONFIG
    if there.exists() and here.exists() and there.samefile(here):
        problem = Problem("U001", str(folder), "is the folder of the tournament", hint="name another folder")
        raise UserError([problem], 2)
    tournament = load(context.folder) if chosen.with_bots else None
    with open_journal(context.folder, chosen.journal) as book, book.snapshot():
        public = public_lines(book)
        content, versions = public_files(book, public), book.bots()
        seed = known_seed(book) if book.state().finished else None
        played = played_bots(tournament, versions, folder) if tournament else {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as failed:
            raise UserError([file_problem("created", folder, failed)], 2) from failed
        with whole_file(folder / ANSWERS) as file:
            file.writelines(answer_lines(book, public))
    for name, text in content.items():
        write(folder / name, text)
    rules = json.loads(content["rules.json"])
    copied, again, bots = "", list[str](), 0
    if tournament:
        sources = write_sources(tournament, played, versions, folder)
        bots = len(sources.places)
        copied = f", sources of {counted(bots, 'bot')}"
        if seed is not None:
            write_again(tournament, sources, seed, folder)
            again = [f"  play it again:  croupier -C {shlex.quote(str(folder))} run"]
        if sources.with_packages:
            again += [f"  not compared, because of their packages: {', '.join(sources.with_packages)}"]
    lines = [
        f"{folder}: {counted(rules['lines'], 'line')}{copied}, seal {rules['seal']}",
        f"  check it:  python3 {shlex.quote(str(folder / 'check.py'))}",
        *again,
    ]
    facts = {"path": str(folder), "form": "public", "count": rules["lines"], "seal": rules["seal"], "bots": bots}
    print_result(context, "export", Facts(facts, [] if context.quiet else lines))
