"""Where cups are played: on this machine, or on the machines of a cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from host.backends.local import processes
from host.base.errors import Problem, Refused
from host.sandbox import demand
from host.submissions.preflight import ready
from host.tournament.stage_runner import Venue


async def demand_here(level: str) -> str:
    """Return the strongest level of this machine. Raise Refused (exit code 6) when that is less than demanded."""
    return demand(level)


@asynccontextmanager
async def venue(address: str, say: Callable[[str], None]) -> AsyncIterator[Venue]:
    """Open the venue of an address: the cluster of a Dask scheduler, or this machine where it is empty."""
    if not address:
        yield Venue(demand_here, ready, processes)
        return
    try:
        from host.backends.dask import cluster
    except ModuleNotFoundError as missing:
        told = f"a cluster needs the Python package {missing.name}, which is not installed"
        raise Refused([Problem("S008", "", told, hint="pip install 'croupier[cluster]'")], 6) from missing
    async with cluster(address, say) as found:
        yield found
