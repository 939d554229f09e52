"""Functions that several commands share. They wrap prose, find a recorded bot, and print standings."""

import shutil
import textwrap
from collections.abc import Collection
from pathlib import Path

import click

from host.base.errors import unknown_with_list
from host.base.paths import SAMPLE_PREFIX
from host.cli import MAX_COLUMNS, CliContext, print_json_line, print_result


def wrap_prose(text: str) -> str:
    """Wrap prose at the width of the terminal, at most MAX_COLUMNS."""
    width = min(MAX_COLUMNS, shutil.get_terminal_size((MAX_COLUMNS, 24)).columns)
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.splitlines())


def recorded_bot(name: str, recorded: Collection[str]) -> str:
    """Return the name by which a journal records a bot. Raise UsageError if it is none of the `recorded` bots."""
    if name not in recorded:
        name = name.removeprefix(SAMPLE_PREFIX)
    if name not in recorded:
        raise click.UsageError(unknown_with_list("bot", name, recorded))
    return name


def print_standings(context: CliContext, path: Path, *, interrupted: bool, on_one_line: bool) -> None:
    """Print the standings of the last stage of a journal that has results.

    If the stage gives grades, print the grades instead, except with --json. With --json and `on_one_line`, print the
    JSON object on a single line.
    """
    from host.journal.reader import reading
    from host.ops.journals import find_stage
    from host.report.listings import by_bot, results_of
    from host.stages import gives_grades

    with reading(path, context.registry) as journal:
        position = find_stage(journal, None)
        results = results_of(journal, position, interrupted=interrupted)
        if gives_grades(position.config) and position.counted and not context.json:
            from host.inspect.gradebook import gradebook
            from host.report.grade_listings import grade_list
            from host.submissions.intake_log import read

            listing = grade_list(results, gradebook(journal, position, read(context.folder / "bots")))
        else:
            listing = by_bot(results, verbose=context.verbose)
    if context.json and on_one_line:
        print_json_line(listing.schema, **listing.json())
    else:
        print_result(context, listing.schema, listing)
