"""Runs a command that executes rules again in a child process, because an organiser's own rules may end it or never return."""

import ctypes
import os
import select
import signal
from typing import NoReturn

import click

from host.base.errors import Problem, UserError
from host.inspect.rules_place import COMMAND_PLACE, RulesPlace
from host.rules.catalogue import HINT, MAX_RULES_S

PR_SET_PDEATHSIG = 1
TICKS = 60  # looks at the child in the longest time for which the rules may compute


def continue_in_child() -> None:
    """Return in a child process, which runs the command. The parent waits for it, and exits with its exit code.

    In the parent, raise UserError (exit code 3) if the rules of a game have ended the child, or have not returned.
    """
    place, parent = RulesPlace(), os.getpid()
    child = os.fork()
    if child:
        _wait(child, place)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has been killed meanwhile
        os._exit(1)
    COMMAND_PLACE.set(place)


def _wait(child: int, place: RulesPlace) -> NoReturn:
    """Wait for a child process. Exit with its exit code, or end by the same signal.

    Raise UserError if the rules of a game have ended the child, or have computed for longer than MAX_RULES_S. A child
    whose rules compute too long is killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C reaches the child too
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    poll = select.poll()
    poll.register(os.pidfd_open(child), select.POLLIN)
    seen, times = 0, 0
    while not poll.poll(1000 * MAX_RULES_S / TICKS):  # counted: while ^Z stops both, nobody computes
        now = place.read().number
        times = times + 1 if now == seen and now else 0
        seen = now
        if times >= TICKS:
            os.kill(child, signal.SIGALRM)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if place.read().number:
        raise UserError([Problem("C020", "", f"{place.read().table}: {_words(code)}", hint=HINT)], 3)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    raise click.exceptions.Exit(code)


def _words(status: int) -> str:
    if status == -signal.SIGALRM:
        return f"it computed for {MAX_RULES_S:g} s and did not return"
    how = f"exit code {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
    return f"it ended its process ({how})"
