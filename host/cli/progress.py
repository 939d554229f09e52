"""Chooses how the progress of a run is printed: a live view on a terminal, plain lines in a pipe, or events for programs."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator

from host.cli.plain_view import OnStderr, Plain, ProgressEvents, Quiet
from host.tournament.progress import Tally


@contextlib.contextmanager
def progress_view(
    kind: str,
    *,
    quiet: bool = False,
    stop: str = "stop and save",
    head: Callable[[Tally], Iterable[str]] = lambda _tally: (),
    tally: Tally | None = None,
) -> Iterator[Plain]:
    """Yield a view that prints the progress of a run.

    `kind` is live, plain, json, none, stderr or auto. `auto` is none if `quiet`, live on a terminal with colours, and
    plain otherwise. For a live view, `stop` says what ^C does, `head` returns the first lines of a frame, and `tally`
    has counted the fixtures that were played before.
    """
    if kind == "auto":
        kind = "none" if quiet else "live" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else "plain"
    if kind != "live":
        yield {"plain": Plain, "json": ProgressEvents, "none": Quiet, "stderr": OnStderr}[kind]()
        return
    from rich.live import Live as Screen

    from host.cli.live_view import Live

    with Screen(auto_refresh=False, transient=True) as screen:
        yield Live(screen, stop, head, tally or Tally())
