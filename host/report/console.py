"""Opens the console to which commands print tables."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing rich takes longer than most commands
    from rich.console import Console

WIDTH = 100  # columns if the output is not a terminal


def open_console() -> "Console":
    """Return a console that prints to standard output.

    It writes no escape codes if NO_COLOR is set, or if the output is not a terminal.
    """
    from rich.console import Console

    plain = False if os.environ.get("NO_COLOR") else None  # rich itself would still write bold and dim text
    console = Console(markup=False, highlight=False, emoji=False, force_terminal=plain, force_jupyter=False)
    if not sys.stdout.isatty():
        console.width = WIDTH
    return console
