"""Determines the fault of a missing answer from the output, the end of the process and the limit exceeded. Pure.

Other modules decide before whether the bot is at fault at all: clock.py for a stall of the machine, host_failures.py for
a failure of the sandbox, host/play/sources/steady.py for a failure of the game.
"""

from typing import NamedTuple

from protocols.wire import Fault, FaultKind


class Ending(NamedTuple):
    """Everything that determines the fault. The defaults describe a process that exited normally and wrote nothing."""

    found: Fault | None = None  # the fault of its output; Fault(EXIT) if the output only ended
    limit: FaultKind | None = None  # the limit for which the monitor killed it
    start_error: str = ""  # why it could not be started
    oom_kills: int = 0  # processes that the kernel killed because the group had no memory left
    flooded: bool = False
    late: bool = False
    over_cpu: bool = False
    over_memory: bool = False
    crashed: bool = False  # ended by itself, by a signal or with an exit status other than 0

    @property
    def passed_no_limit(self) -> bool:
        """Return whether the output counts as an answer: it has no fault, and the process started and exceeded no limit.

        The exit status (`crashed`) does not matter.
        """
        return not any(self[:-1])


def fault_of(ending: Ending) -> Fault:
    """Return the fault of a process that has not answered. If several apply, return the gravest: the first in `causes`."""
    found = ending.found or Fault(FaultKind.EXIT)
    causes: tuple[tuple[object, Fault], ...] = (
        (ending.start_error, Fault(FaultKind.START, ending.start_error)),
        (ending.limit, Fault(ending.limit or FaultKind.CPU)),
        (ending.oom_kills, Fault(FaultKind.MEMORY)),
        (ending.flooded, Fault(FaultKind.FLOOD)),
        (ending.late, Fault(FaultKind.TIMEOUT)),
        (ending.over_cpu, Fault(FaultKind.CPU)),
        (ending.over_memory, Fault(FaultKind.MEMORY)),
        (found.kind is not FaultKind.EXIT, found),
        (ending.crashed, Fault(FaultKind.CRASH)),
        (True, Fault(FaultKind.EXIT)),
    )
    return next(fault for applies, fault in causes if applies)
