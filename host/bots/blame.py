"""Which fault a missing answer is: what was found, how the process ended and which limit it passed give a Fault. Pure."""

from typing import NamedTuple

from protocols.wire import Fault, FaultKind


class Ending(NamedTuple):
    """All that decides which fault it is; the defaults are a process that has ended in good order without a word."""

    found: Fault | None = None  # what was wrong with its output; Fault(EXIT) if that only ended
    limit: FaultKind | None = None  # the limit for which the monitor has killed it
    start_error: str = ""  # why it could not be started
    oom_kills: int = 0  # processes that the kernel has killed for their group's memory
    flooded: bool = False
    late: bool = False
    over_cpu: bool = False
    over_memory: bool = False
    crashed: bool = False  # ended by itself, by a signal or with an exit status that is not 0

    @property
    def passed_no_limit(self) -> bool:
        """Whether output counts as an answer, however the process ended."""
        return self._replace(crashed=False) == Ending()


def fault_of(ending: Ending) -> Fault:
    """Return the fault of a process that has not answered: of all that applies the gravest, which stands first."""
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
