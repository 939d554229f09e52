"""What the libraries of games have in common: OpenSpiel (openspiel.py) and TextArena (textarena.py)."""

from functools import cache
from typing import NamedTuple

from host.base.errors import Problem, UserError


class NotPlayable(Exception):
    """Raised for a game that a library does not have, or that croupier cannot play.

    `hint` names the cure. If it is empty, the cure is another game of the library.
    """

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class Playable(NamedTuple):
    """A game of a library; `obstacle` says why croupier cannot play it, or is empty."""

    name: str
    title: str
    seats: tuple[int, int]
    obstacle: str


@cache
def installed_version(package: str) -> str:
    """Return the version of a library."""
    from importlib.metadata import version

    return version(package)


def check_version(title: str, package: str, game: str, played: str) -> None:
    """Raise UserError (exit code 3) if another version of a library is installed than the rules of a table name."""
    if played != (here := installed_version(package)):
        message = f"{game} was played with {title} {played}, and {here} is installed"
        raise UserError([Problem("C018", "", message, hint=f"pip install '{package}=={played}'")], 3)
