"""Single keys from the terminal while a view is on it, heard in a thread; the terminal is left as it was found."""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LOCAL_FLAGS, CONTROL_CHARACTERS = 3, 6  # where tcgetattr(3) has them
WAIT = 0.2  # seconds until the terminal is looked at again after it had nothing to say
ENDS = (signal.SIGTERM, signal.SIGQUIT)
"""What ends a process that does not mind it, and leaves no chance to tidy up. ^C does, and SIGHUP takes the terminal along."""


class Keys:
    """Tells `pressed` of every key until it returns False; `heard` says whether there is a terminal to hear."""

    def __init__(self, pressed: Callable[[str], bool]) -> None:
        self.heard, self._pressed = foreground(), pressed
        if not self.heard:
            return
        self._terminal = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._terminal)
        quiet = termios.tcgetattr(self._terminal)
        quiet[LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)  # ISIG stays: ^C is no key
        quiet[CONTROL_CHARACTERS][termios.VMIN] = quiet[CONTROL_CHARACTERS][termios.VTIME] = 0  # a read never waits
        self._ended, self._end = os.pipe()
        termios.tcsetattr(self._terminal, termios.TCSANOW, quiet)
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Hear no more, and leave the terminal as it was."""
        if not self.heard:
            return
        self.heard = False
        os.close(self._end)
        self._thread.join()
        os.close(self._ended)
        self.restore()

    def restore(self) -> None:
        """Give the terminal its ways back, unless it is another's now: then its shell has done so."""
        if foreground():
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)

    def _hear(self) -> None:
        while True:
            if self._ended in select.select([self._terminal, self._ended], [], [])[0]:
                return
            try:
                key = os.read(self._terminal, 1) if foreground() else b""  # in the background a read would stop us
            except OSError:
                return
            if key and not self._pressed(key.decode("latin-1").lower()):
                self.restore()
                return
            if not key and select.select([self._ended], [], [], WAIT)[0]:
                return


def foreground() -> bool:
    """Return whether there is a terminal at our input, and it is ours."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # no terminal, a closed input, none at all
        return False


@contextlib.contextmanager
def listening(pressed: Callable[[str], bool]) -> Iterator[Keys]:
    """Hear keys for the length of the block, however it ends."""
    keys = Keys(pressed)
    before: dict[signal.Signals, Any] = {}

    def die(number: int, _frame: FrameType | None) -> None:
        keys.restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    try:
        if keys.heard:
            minded = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]
            before = {number: signal.signal(number, die) for number in minded}
        yield keys
    finally:
        keys.end()
        for number, handler in before.items():
            signal.signal(number, handler)
