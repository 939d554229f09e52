"""The clock of a bot that asks language models. It stands still while the bot is not to blame."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import trio

from host.base.errors import HostFailure
from host.bots.clock import AnswerStatus, Clock, ModelUnreachable
from host.bots.monitor import MonitoredSandbox
from host.bots.values import HasQuestion
from host.relay.budget import ModelBudget
from host.sandbox.limits import Limits, ModelAccess
from protocols.wire import FaultKind

if TYPE_CHECKING:  # the relay calls this clock
    from host.relay.relay import Exchanges


class CallingClock(Clock):
    """A clock that stands still while a model cannot be reached.

    If the time of a model does not count (`counts_time`), the clock also stands still while the model answers.
    """

    def __init__(
        self,
        limits: Limits,
        monitored: MonitoredSandbox,
        *,
        budget: ModelBudget | None = None,
        exchanges: "Exchanges | None" = None,
        **more: object,
    ) -> None:
        super().__init__(limits, monitored, **more)  # type: ignore[arg-type]
        self.model_budget, self.exchanges = budget or ModelBudget(), exchanges
        self._open = 0  # questions without an answer
        self._call: trio.CancelScope | None = None
        self._still_since: float | None = None
        self._failure: HostFailure | None = None  # failure of the call of a model; the next `look` raises it

    def begin(self, questions: Sequence[HasQuestion], asked: float) -> None:
        """Start the clock for questions, as Clock does. First cancel the bot's last call of a model if it is still open.

        Store the place of the first question in the bot's budget and in its exchanges with models.
        """
        self._end_call()
        budget, first, last = self.model_budget, questions[0], questions[-1]
        self._open, budget.tables = len(questions), max(budget.tables, last.table)
        budget.question = first.table, first.number
        if self.exchanges is not None:
            self.exchanges.begin(*budget.question)
        super().begin(questions, asked)

    def answered(self, now: float, count: int = 1) -> float:
        """Record that answers have arrived, as Clock does. The last answer of a batch ends the bot's call of a model."""
        is_still = self._still_since is not None
        self.go_on(now)
        self._open -= count
        if self._open <= 0:
            self._end_call()
        wall = super().answered(now, count)
        if is_still and self._open > 0:
            self.stand_still(now)
        return wall

    def failed(self, wall: float, *, is_late: bool) -> None:
        """Record a fault that ends the process, as Clock does."""
        self._end_call()
        super().failed(wall, is_late=is_late)

    def forget(self) -> None:
        """Forget the process, as Clock does, and end its call of a model."""
        self._open = 0
        self._end_call()
        super().forget()

    def seconds_to_look(self) -> float:
        """Return the seconds until `look` must be called.

        While the clock stands still, return 0 if the call of a model has failed, otherwise infinity.
        """
        if self._still_since is None:
            return super().seconds_to_look()
        return math.inf if self._failure is None else 0.0

    def look(self, has_output: Callable[[], bool]) -> AnswerStatus:
        """Decide what to do about an answer, as Clock does.

        While the clock stands still, return READ if there is output. If there is none and the bot's call of a model has
        failed, raise the failure. Otherwise return WAIT.
        """
        if self._still_since is None:
            return super().look(has_output)
        if has_output():
            return AnswerStatus.READ
        if self._failure is not None:
            self.allowance.stalled(self._still_since - self._last)
            raise self._failure
        return AnswerStatus.WAIT

    # What the relay calls.

    @contextlib.contextmanager
    def calling(self) -> Iterator[bool]:
        """Run the block as the bot's call of a model. Yield whether a question is open now.

        Cancel the block as soon as no question is open any more.
        """
        with trio.CancelScope() as self._call:
            try:
                with self._monitored.waiting_for_model():
                    yield self._open > 0
            finally:
                self.go_on(time.perf_counter())
                self._call, self._failure = None, None

    def request(self, model: ModelAccess) -> str:
        """Count a request to a model. Return why the request is not granted, or "" if it is.

        If the bot has learnt at an earlier question that the budget is used up, the request is a fault of the kind BUDGET.
        """
        refusal = self.model_budget.begin(model)
        if self.model_budget.is_overspent and self._open > 0:
            self._monitored.exceed(FaultKind.BUDGET)
        return refusal

    def stand_still(self, since: float) -> None:
        """Stop the clock of the open answer at the moment `since`, until `go_on` is called."""
        if self._still_since is None:
            self._still_since = max(since, self._last)

    def go_on(self, now: float) -> None:
        """If the clock stands still, let it go on at the moment `now`. The bot is not charged for the time in between."""
        if self._still_since is not None:
            still = max(now - self._still_since, 0.0)
            self._still_since = None
            self.asked += still
            self._last += still
            self._deadline += still
            self.wait.cancel()

    def give_up(self, reason: str) -> None:
        """Record that a model cannot be reached: the next `look` without output raises ModelUnreachable.

        Call this while the clock stands still.
        """
        self._failure = ModelUnreachable(reason)
        self.wait.cancel()

    def fail(self, error: Exception) -> None:
        """Record an error of the relay, and stop the clock. The next `look` without output raises a HostFailure."""
        self.stand_still(time.perf_counter())
        self._failure = HostFailure(f"the relay to the models has failed: {error!r}")
        self._failure.__cause__ = error
        self.wait.cancel()

    def _end_call(self) -> None:
        """Cancel the bot's call of a model, because its question is over. Let the clock go on."""
        self.go_on(time.perf_counter())
        if self._call is not None:
            self._call.cancel()
