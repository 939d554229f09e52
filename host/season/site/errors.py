"""Defines the refusals of a season's site: each has a problem, as on the command line, and an HTTP status."""

from collections.abc import Callable
from typing import Any

from host.base.errors import Problem, UserError

RETRY_AFTER_S = 5  # if the season process must do something first


class Refusal(Exception):
    """Raised when the site refuses a request. After `retry_after` seconds, if it is not 0, the same request may succeed."""

    def __init__(self, status: int, problem: Problem, retry_after: int = 0) -> None:
        super().__init__(str(problem))
        self.status, self.problem, self.retry_after = status, problem, retry_after

    def json(self) -> dict[str, Any]:
        """Return the object of the schema `croupier/error/1`, as the command line prints it, with the HTTP status."""
        problem = self.problem.json()
        ending = {"exit": 5 if self.retry_after else 2, "problems": [problem]}
        return {"schema": "croupier/error/1", "status": self.status} | problem | ending


def not_found(what: str, where: str = "", hint: str = "") -> Refusal:
    """Return the refusal of a page, a document or a file that does not exist."""
    return Refusal(404, Problem("W001", where, what, hint=hint))


def unknown_link() -> Refusal:
    """Return the refusal of a request without the secret of a link, or with one that the season does not know."""
    message = "this needs the link of an author, and the one that was sent is not valid (any more)"
    return Refusal(401, Problem("W002", "", message, hint="ask the organiser for a new link, and open it once"))


def not_allowed(message: str, hint: str = "") -> Refusal:
    """Return the refusal of something that the viewer's link does not allow."""
    return Refusal(403, Problem("W003", "", message, hint=hint))


def foreign_form(reason: str) -> Refusal:
    """Return the refusal of a form that was not filled in on a page of this site."""
    return Refusal(
        403, Problem("W004", "", f"the form does not come from a page of this site: {reason}", hint="reload it")
    )


def unpublished(name: str, reason: str) -> Refusal:
    """Return the refusal of a page whose document is missing or damaged."""
    hint = "the season process publishes it within seconds; if not, its log says why"
    return Refusal(503, Problem("W010", name, reason, hint=hint), RETRY_AFTER_S)


def checked(check: Callable[[str], str], name: str) -> str:
    """Return a name if `check`, a function of host/season/entries/names.py, accepts it; else raise Refusal (400)."""
    try:
        return check(name)
    except UserError as error:
        raise Refusal(400, error.problems[0]) from error
