"""Keys on a live view: what they do, and that the terminal is left as it was found, however its command ends."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import CROUPIER, cup_in, environment

from host.tournament.journal import writing
from tests.browser import games

SHELL = """
import fcntl, os, signal, subprocess, sys, termios

for number in (signal.SIGINT, signal.SIGQUIT):  # these keys are for who is in front; ignored in the background, as here perhaps
    signal.signal(number, lambda *_: None)
if sys.argv[1] == "in front":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
before = termios.tcgetattr(0)
done = subprocess.run(sys.argv[2:])
print(f"ended {done.returncode}, the terminal is {'as before' if termios.tcgetattr(0) == before else 'spoilt'}.", flush=True)
"""
"""Runs a command on a terminal, as a shell does, and looks at the terminal before and afterwards."""


class Terminal:
    """A command on a terminal, seen from the keyboard."""

    def __init__(self, ours: int) -> None:
        self._ours, self._rest, self.said = ours, b"", ""

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def see(self, words: str) -> str:
        """Wait until these words come up; return them. What came before them is in `said`."""
        while not (found := re.search(words, self._rest.decode(errors="replace"), re.DOTALL)):
            self._rest += os.read(self._ours, 1 << 16)  # ends with an error where the command has ended instead
        self.said, self._rest = found.string[: found.start()], found.string[found.end() :].encode()
        return found[0]


@contextmanager
def terminal(*words: str, place: str = "in front") -> Iterator[Terminal]:
    """Run a command on a terminal of its own."""
    ours, its = os.openpty()
    env = environment(COLUMNS="110", LINES="40", TERM="xterm")
    command = [sys.executable, "-c", SHELL, place, *words]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=env, start_new_session=True) as process:
        os.close(its)
        try:
            yield Terminal(ours)
        finally:
            process.kill()
            os.close(ours)


def test_keys_turn_the_pages_of_a_view_and_leave_it(tmp_path: Path) -> None:
    path = games.played(tmp_path, "cardshark", state="running")
    with writing(path), terminal(*CROUPIER, "watch", "-C", str(tmp_path)) as seen:
        seen.see(r"mean.*\[q\] leave; the run goes on")
        seen.press("f")
        seen.see(r"times.*crash.*\[q\]")
        seen.press("xs")
        seen.see(r"mean.*\[q\]")
        seen.press("Q")
        assert seen.see(r"ended [^.]*\.") == "ended 130, the terminal is as before."


@pytest.mark.long
def test_a_run_goes_on_in_plain_lines_when_its_view_is_left(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=3, rounds=1)
    with terminal(*CROUPIER, "run", "-C", str(cup)) as seen:
        seen.press("q")  # before there is anything to see
        seen.see(r"the view is left, the run goes on   \[\^C\] stop and save")
        assert seen.see(r"ended [^.]*\.") == "ended 0, the terminal is as before."
        assert "finished" in seen.said and "\x1b[?25l" not in seen.said  # no more frames


@pytest.mark.long
def test_who_stops_a_run_twice_gets_the_terminal_back(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=100_000)
    with terminal(*CROUPIER, "run", "-C", str(cup)) as seen:
        seen.see(r"\[\^C\] stop and save")
        seen.press("\x03")
        seen.see("dropping the fixtures in flight")
        seen.press("\x03")
        assert seen.see(r"ended [^.]*\.") in [f"ended {code}, the terminal is as before." for code in (5, 130)]


HEARS = """
import os, signal, sys, termios
from host.cli.keys import listening

with listening(lambda key: print(f"heard {{key}}", flush=True) or key != "q") as keys:
    quiet = not termios.tcgetattr(0)[3] & termios.ECHO
    print("keys" if keys.heard and quiet else "no keys" if not (keys.heard or quiet) else "odd", flush=True)
    {end}
"""
ENDS = {
    "its end": ("pass", 0),
    "a crash": ("raise ValueError", 1),
    "^C": ("signal.raise_signal(signal.SIGINT)", -2),
    "SIGTERM": ("signal.raise_signal(signal.SIGTERM)", -15),
    "SIGQUIT": (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); signal.raise_signal(signal.SIGQUIT)",
        -3,
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_terminal_is_left_as_it_was(how: str) -> None:
    end, code = ENDS[how]
    with terminal(sys.executable, "-c", HEARS.format(end=end)) as seen:
        assert seen.see(r"(no )?keys|odd") == "keys"
        assert seen.see(r"ended [^.]*\.") == f"ended {code}, the terminal is as before."


def test_keys_are_heard_until_the_last_and_the_rest_is_the_shells() -> None:
    with terminal(sys.executable, "-c", HEARS.format(end="signal.pause()")) as seen:
        seen.see("keys")
        seen.press("aQb")
        seen.see(r"heard a\s+heard q")
        seen.press("\x03")
        assert seen.see(r"ended [^.]*\.") == "ended -2, the terminal is as before."
        assert "heard b" not in seen.said


def test_a_terminal_that_is_not_ours_is_left_alone() -> None:
    with terminal(sys.executable, "-c", HEARS.format(end="pass"), place="behind") as seen:
        assert seen.see(r"(no )?keys|odd") == "no keys"
        assert seen.see(r"ended [^.]*\.") == "ended 0, the terminal is as before."
