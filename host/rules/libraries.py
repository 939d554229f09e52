"""Code that the modules of both libraries of games use: OpenSpiel (openspiel.py) and TextArena (textarena.py)."""

from functools import cache
from typing import NamedTuple

from host.base.errors import Problem, UserError


class NotPlayable(Exception):
    """Raised for a game that a library does not have, or that croupier cannot play.

    `hint` says how to solve the problem. If it is empty, only another game of the library helps.
    """

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class Playable(NamedTuple):
    """A game of a library. `obstacle` says why croupier cannot play it; it is empty if croupier can."""

    name: str
    title: str
    seats: tuple[int, int]
    obstacle: str


@cache
def installed_version(package: str) -> str:
    """Return the installed version of a library, given the name of its package."""
    from importlib.metadata import version

    return version(package)


def check_version(title: str, package: str, game: str, played: str) -> None:
    """Raise UserError (exit code 3) if the installed version of a library is not `played`, the version in the rules."""
    if played != (here := installed_version(package)):
        message = f"{game} was played with {title} {played}, and {here} is installed"
        raise UserError([Problem("C018", "", message, hint=f"pip install '{package}=={played}'")], 3)
