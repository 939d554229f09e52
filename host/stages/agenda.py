"""Follows the schedule of a stage, and returns its fixtures one by one as soon as they may be played.

A schedule is a generator. It yields fixtures that may be played now, and continues when all of them have been played.
The values that it derives from records stay in its local variables, so the time for one record does not grow with the
number of fixtures.
"""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Union

from host.play.records import Fixture, Record

Records = Mapping[str, Record]
"""The records of a stage, by path."""

AgendaStep = Union[Fixture, "Schedule"]
"""A step of a schedule: a fixture, or another schedule, which does not wait for the other steps."""

Schedule = Generator["Sequence[AgendaStep] | Lazy", None, None]
"""Yields steps that may be played at the same time. It continues when all of them have been played to the end."""

FixturePosition = tuple[int, ...]
"""The position of a fixture in its stage. It does not depend on which fixtures end first. The smallest is played first."""


class Lazy(NamedTuple):
    """Steps that the agenda takes one at a time, when a worker is free, because a list of all could fill the memory."""

    number: int  # of the steps
    steps: Iterator[AgendaStep]


class Due(NamedTuple):
    """A fixture that may be played now, and its position in the stage."""

    order: FixturePosition
    fixture: Fixture


class _Branch:
    """A schedule that an agenda follows.

    `open` is the number of its steps that are not over, plus 1 while steps of the batch have not been made yet.
    """

    __slots__ = ("batches", "open", "order", "parent", "schedule")

    def __init__(self, schedule: Schedule, parent: "_Branch | None", order: FixturePosition) -> None:
        self.schedule, self.parent, self.order = schedule, parent, order
        self.open = self.batches = 0


class _Rest(NamedTuple):
    """Steps of a branch that have not been made yet."""

    branch: _Branch
    steps: Iterator[AgendaStep]


class Agenda:
    """The fixtures of a stage that may be played now, in their order. It creates them one by one, as they are needed.

    Fixtures that have a record in `records` are left out, so that a new agenda resumes a stage. Fixtures of `withdrawn`
    bots are left out too.
    """

    def __init__(self, schedule: Schedule, records: Records, withdrawn: Collection[str] = ()) -> None:
        self._records, self._withdrawn = records, frozenset(withdrawn)
        self._heap: list[tuple[FixturePosition, Fixture | _Rest]] = []
        self._playing: dict[str, _Branch] = {}
        self.known = 0  # the number of fixtures that are known so far, played or not
        self._advance(_Branch(schedule, None, ()))
        self._make()

    @property
    def next_order(self) -> FixturePosition | None:
        """Return the position of the fixture that `next` would return; None if it would return None."""
        return self._heap[0][0] if self._heap else None

    def next(self) -> Due | None:
        """Return the next fixture, which the caller has to play; None if no fixture may be played at the moment.

        Raise ValueError if the schedule yields the same path twice.
        """
        if not self._heap:
            return None
        order, fixture = heappop(self._heap)
        assert isinstance(fixture, Fixture)
        self._make()
        return Due(order, fixture)

    def played(self, path: str) -> None:
        """Continue the schedule after the fixture with this path has been played. Its record must be in the records."""
        self._close(self._playing.pop(path))
        self._make()

    def _make(self) -> None:
        """Make steps until the first entry of the heap is a fixture that has not been played."""
        while self._heap and isinstance(rest := self._heap[0][1], _Rest):
            order, _ = heappop(self._heap)
            step = next(rest.steps, None)
            if step is None:
                self._close(rest.branch)
            else:
                heappush(self._heap, ((*order[:-1], order[-1] + 1), rest))
                self._add(rest.branch, order, step)

    def _add(self, branch: _Branch, order: FixturePosition, step: AgendaStep) -> None:
        branch.open += 1
        if not isinstance(step, Fixture):
            self.known -= 1  # it was counted as one
            self._advance(_Branch(step, branch, order))
        elif step.path in self._records:
            branch.open -= 1
        elif not self._withdrawn.isdisjoint(step.bots):
            self.known -= 1
            branch.open -= 1
        elif step.path in self._playing:
            raise ValueError(f"the schedule yields {step.path} twice")
        else:
            self._playing[step.path] = branch
            heappush(self._heap, (order, step))

    def _close(self, branch: _Branch) -> None:
        """Note that one step of a branch is over. Continue the schedule of the branch if no other step is open."""
        branch.open -= 1
        if not branch.open:
            self._advance(branch)

    def _advance(self, branch: _Branch) -> None:
        """Continue a schedule until it has a step that is not over. If it ends, close its step in the parent branch."""
        while not branch.open:
            batch = next(branch.schedule, None)
            if batch is None:
                if branch.parent is not None:
                    self._close(branch.parent)
                return
            branch.batches += 1
            self._begin(branch, batch)

    def _begin(self, branch: _Branch, batch: Sequence[AgendaStep] | Lazy) -> None:
        branch.open += 1  # while its steps are made
        if isinstance(batch, Lazy):
            self.known += batch.number
            heappush(self._heap, ((*branch.order, branch.batches, 0), _Rest(branch, batch.steps)))
            return
        self.known += len(batch)
        for number, step in enumerate(batch):
            self._add(branch, (*branch.order, branch.batches, number), step)
        branch.open -= 1
