"""Decides whether the host polls for an answer without sleeping."""

import os

SPIN_S = 0.00005
"""Seconds to poll for a single answer without sleeping: waking an idle core takes longer than most answers."""

POLLS_WITHOUT_SPIN, POLLS_ON_ONE_CORE = 100, 100_000
"""Polls until the next attempt, after no answer has come: with several cores, and if host and bot share one core."""


class SpinPolicy:
    """Decides whether to poll for a single answer without sleeping.

    If the bot has no core of its own, this never pays, so it is tried again only now and then.
    """

    def __init__(self) -> None:
        self.pause = 0  # polls until the next attempt; a caller that does not use `seconds` counts them down

    def seconds(self) -> float:
        """Return how long to poll without sleeping."""
        if not self.pause:
            return SPIN_S
        self.pause -= 1
        return 0.0

    def failed(self) -> None:
        """Record that no answer came while polling without sleeping."""
        self.pause = POLLS_WITHOUT_SPIN if len(os.sched_getaffinity(0)) > 1 else POLLS_ON_ONE_CORE


SPIN = SpinPolicy()
"""The policy of this worker: all its bots have the same cores."""
