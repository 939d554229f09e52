"""Select the backend of a tournament: this machine, or the machines of a cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from host.backends.local import local_workers
from host.base.errors import Problem, UserError
from host.sandbox.detect import require_level
from host.sandbox.levels import Level
from host.submissions.examine import prepare_bots
from host.tournament.stage_runner import Backend


async def require_local(level: Level) -> Level:
    """Return the strongest level of this machine. Raise UserError (exit code 6) when it is below the required one."""
    return require_level(level)


@asynccontextmanager
async def open_backend(address: str, report: Callable[[str], None]) -> AsyncIterator[Backend]:
    """Open the backend at the address of a Dask scheduler, or this machine's if the address is empty.

    Raise UserError (exit code 6) if a Python package that a cluster needs is not installed.
    """
    if not address:
        yield Backend(require_local, prepare_bots, local_workers)
        return
    try:
        from host.backends.dask import cluster
    except ModuleNotFoundError as missing:
        message = f"a cluster needs the Python package {missing.name}, which is not installed"
        raise UserError(
            [Problem("S008", "", message, hint="pip install '.[cluster]'   in a clone of croupier")], 6
        ) from missing
    async with cluster(address, report) as backend:
        yield backend
