"""Plays tables of an organiser's own game in the process of a command.

Its parent process watches it (host/cli/guard.py).

The rules may end the process or never return. Shared memory shows the parent process which table the rules are
computing.
"""

import mmap
import struct
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from host.games.engine import Game, Table, Tell
from host.games.luck import Shuffler
from host.rules.catalogue import ref_of
from protocols.wire import Answer

_HEAD, _BYTES = struct.Struct("=QQ"), 4096  # number of calls of the rules, whether they compute; then a text

_T = TypeVar("_T")


class RulesCall(NamedTuple):
    """The present computation of the rules: the number of the call, 0 if there is none; and the table, in words."""

    number: int
    table: str


class RulesPlace:
    """The memory that a command and its parent share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)
        self._calls = 0

    def run(self, table: str, rules: Callable[..., _T], *values: Any) -> _T:
        """Call the rules of a table with `values`, and return their result.

        During the call, the parent process can read that rules are running, and `table`, which describes the table in
        words.
        """
        self._calls += 1
        name = table.encode()[: _BYTES - _HEAD.size]
        self._memory[_HEAD.size : _HEAD.size + len(name) + 1] = name + b"\0"
        _HEAD.pack_into(self._memory, 0, self._calls, 1)
        try:
            return rules(*values)
        finally:
            _HEAD.pack_into(self._memory, 0, self._calls, 0)

    def read(self) -> RulesCall:
        """Return the present computation of the rules, or the last one if the rules have ended their process."""
        calls, computing = _HEAD.unpack_from(self._memory)
        return RulesCall(calls * computing, self._memory[_HEAD.size :].partition(b"\0")[0].decode(errors="replace"))


COMMAND_PLACE: ContextVar[RulesPlace | None] = ContextVar("COMMAND_PLACE", default=None)
"""The shared memory of a command that plays tables again in its own process, while its parent process waits.

None in any other process.
"""


class WatchedTable(Table):
    """A table of a command. The parent process of the command sees when the rules of the table compute."""

    __slots__ = ("_place", "_where")

    def __init__(self, place: RulesPlace, where: str, *table: Any) -> None:
        """Begin a table with the arguments of `Table`. `where` names it in words."""
        self._place, self._where = place, where
        place.run(where, super().__init__, *table)

    def answer(self, answer: Answer) -> bool:
        """Answer the next question, as `Table.answer` does."""
        return self._place.run(self._where, super().answer, answer)


def begin_table(game: Game, rules: Any, luck: Shuffler, answers: Iterable[Answer], tell: Tell, name: str) -> Table:
    """Return a new table. The arguments are those of `Table`.

    If an organiser's rules end the process, the parent process of the command reports it.
    """
    place, said = COMMAND_PLACE.get(), ref_of(game).said
    if place is None or not said:
        return Table(game, rules, luck, answers, tell, name)
    where = f"the game {said} failed at table {name}"
    return WatchedTable(place, where, game, rules, luck, answers, tell, name)
