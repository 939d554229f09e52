"""Who carries the work: fixtures go in, records come out, in whatever order they end."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from host.record import Job, Record


class Hands(Protocol):
    """An executor under way."""

    async def give(self, job: Job) -> None:
        """Hand over one fixture; wait while every worker is busy."""
        ...

    def records(self) -> AsyncIterator[Record]:
        """Yield records as they come."""
        ...


Executor = Callable[[], AbstractAsyncContextManager[Hands]]
Tell = Callable[[Record], Awaitable[None]]
