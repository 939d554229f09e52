"""Defines the changes that organisers make to a run: their kinds, their sentences, and the bots that they withdraw.

The journal appends a change and seals it like a fixture. A change deletes no record. It can set fixtures aside: their
records then no longer count.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import day
from host.play.fixture_id import is_within

MAX_REASON_CHARS = 500


class Change(NamedTuple):
    """A change of a run. `number` counts the changes from 1; `after` is the number of the last fixture before it.

    `what` names the changed thing: a path of fixtures, a bot, or a key of the stage in croupier.toml. `about` has
    further JSON values, which depend on the kind.
    """

    number: int
    at: float  # seconds since 1970
    kind: str  # a key of CHANGE_TEXTS
    what: str
    stage: str  # the stage that it changes; empty if it may change all
    reason: str
    about: Mapping[str, Any]
    after: int
    seal: str = ""  # in hexadecimal

    @property
    def sentence(self) -> str:
        """Return the sentence that says what was changed, without the time and the reason."""
        return CHANGE_TEXTS[self.kind](self) if self.kind in CHANGE_TEXTS else f"{self.kind} {self.what}"

    def json(self) -> dict[str, Any]:
        """Return the values of the change for JSON output, by key."""
        return {
            "number": self.number,
            "at": self.at,
            "kind": self.kind,
            "what": self.what,
            "stage": self.stage or None,
            "reason": self.reason,
            "sentence": self.sentence,
            "seal": self.seal,
        }

    def text(self) -> str:
        """Return the change as one line: the time, the sentence, and the reason if there is one."""
        return f"{day(self.at)}  {self.sentence}" + (f"; reason: {self.reason}" if self.reason else "")


class Draft(NamedTuple):
    """A change before the journal has appended it (`JournalWriter.change`)."""

    kind: str
    what: str
    reason: str
    stage: str = ""
    about: Mapping[str, Any] = {}
    set_aside: Sequence[str] = ()  # the paths of the fixtures whose records no longer count


REDO, WITHDRAW, READMIT = "redo", "withdraw", "readmit"
LATE, MORE, REPLACE = "late", "more", "replace"


def _revealed(change: Change) -> str:
    """Return the end of the sentence about a program added after the seed was revealed; empty for other programs.

    The author of such a program could have known the cards.
    """
    return ", after the seed was revealed" if change.about.get("revealed") else ""


CHANGE_TEXTS: Mapping[str, Callable[[Change], str]] = {
    REDO: lambda change: f"{change.what} no longer counts and is played again with the same cards",
    WITHDRAW: lambda change: f"{change.what} is withdrawn",
    READMIT: lambda change: f"{change.what} is no longer withdrawn",
    LATE: lambda change: f"{change.what} came late{_revealed(change)}",
    MORE: lambda change: (
        f"{change.stage} plays more: {change.what} = {change.about.get('after')} instead of {change.about.get('before')}"
    ),
    REPLACE: lambda change: (
        f"a new version of {change.what} plays again what the old one played, which no longer counts{_revealed(change)}"
    ),
}
"""The function that returns the sentence of a change, by kind of change."""


def explains(change: Change, path: str, bots: Collection[str]) -> bool:
    """Return whether a change is a reason why the fixture at `path`, played by `bots`, no longer counts."""
    if change.kind == REDO:
        return is_within(path, change.what)
    return change.kind == REPLACE and change.what in bots


def withdrawn(changes: Iterable[Change]) -> dict[str, Change]:
    """Return the change that withdrew a bot, by bot name. Bots that a later change readmitted are not included."""
    found = dict[str, Change]()
    for change in changes:
        if change.kind == WITHDRAW:
            found[change.what] = change
        elif change.kind == READMIT:
            found.pop(change.what, None)
    return found


def checked_reason(reason: str) -> str:
    """Return the reason of a change, with single spaces. Raise UserError if it is empty or too long.

    croupier publishes each change with its reason.
    """
    text = " ".join(reason.split())
    if text and len(text) <= MAX_REASON_CHARS:
        return text
    message = "the reason is empty" if not text else f"the reason has more than {MAX_REASON_CHARS} characters"
    raise UserError([Problem("U001", "", message, hint='--reason "power cut in the machine room"')], 2)
