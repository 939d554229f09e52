"""Where cups are played: on this machine, or on the machines of a cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from host.backends.local import processes
from host.base.errors import Problem, UserError
from host.sandbox.detect import require_level
from host.sandbox.levels import Level
from host.submissions.preflight import prepare_bots
from host.tournament.stage_runner import Backend


async def require_local(level: Level) -> Level:
    """Return the strongest level of this machine. Raise Refused (exit code 6) when that is less than demanded."""
    return require_level(level)


@asynccontextmanager
async def open_backend(address: str, say: Callable[[str], None]) -> AsyncIterator[Backend]:
    """Open the venue of an address: the cluster of a Dask scheduler, or this machine where it is empty."""
    if not address:
        yield Backend(require_local, prepare_bots, processes)
        return
    try:
        from host.backends.dask import cluster
    except ModuleNotFoundError as missing:
        told = f"a cluster needs the Python package {missing.name}, which is not installed"
        raise UserError([Problem("S008", "", told, hint="pip install 'croupier[cluster]'")], 6) from missing
    async with cluster(address, say) as found:
        yield found
