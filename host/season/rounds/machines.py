"""Opens the backends of a season: workers on this machine, or those of a Dask cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

import trio

from host.backends.backend import open_backend, require_local
from host.backends.kept import KeptWorkers
from host.season.rounds.round_loop import OpenedBackend
from host.submissions.examine import prepare_bots
from host.tournament.stage_runner import Backend, Executor


class Backends(NamedTuple):
    """The backends that play rounds and practice. Practice is always played on this machine."""

    rounds: OpenedBackend
    practice: Executor


@asynccontextmanager
async def opened_backends(cluster: str) -> AsyncIterator[Backends]:
    """Open the backends for a block. `cluster` is the address of a Dask scheduler; if it is empty, this machine plays.

    The workers of this machine keep their sandboxes from one round to the next.
    """
    practice, kept = KeptWorkers(), KeptWorkers()

    @asynccontextmanager
    async def local(_report: Callable[[str], None]) -> AsyncIterator[Backend]:
        yield Backend(require_local, prepare_bots, kept.executor)

    try:
        yield Backends(partial(open_backend, cluster) if cluster else local, practice.executor)
    finally:
        with trio.CancelScope(shield=True):
            await practice.close()
            await kept.close()
