"""Defines the types of numbers and hashes in a file that may come from a stranger."""

from typing import Annotated

from msgspec import Meta

MAX_COUNT = 1 << 53
"""The largest count: every JSON reader represents integers up to this exactly."""

Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]

Seconds = Annotated[float, Meta(ge=-1e15, le=1e15)]
"""A time, which is finite. A difference of two clocks may be slightly below 0."""

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
