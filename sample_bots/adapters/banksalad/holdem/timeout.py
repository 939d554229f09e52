"""The timeout of 2018, for bots that use it. A process has only one timer, so it replaces the host's for this call."""

import signal


class Timeout:
    """A block that is interrupted by a TimeoutError."""

    def __init__(self, seconds: float = 1) -> None:
        self.seconds = seconds

    def handle_timeout(self, signum: object, frame: object) -> None:
        """Interrupt the block."""
        raise TimeoutError

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self.handle_timeout)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
