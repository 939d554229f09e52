"""A copy of a table of an environment, for a search."""

from collections.abc import Callable, Sequence
from typing import Any

from croupier.session import errors
from host.games.engine import Table
from host.games.luck import Luck
from protocols.wire import Answer


class TableCopy:
    """A table as it was when it was copied, of which the caller plays every seat. It goes on with the same cards.

    So it knows what the seats do not see. To copy a table is to play its answers again.
    """

    def __init__(
        self, table: Table, root: bytes, read_action: Callable[[Any], Answer], meanings: Sequence[str]
    ) -> None:
        self._root, self._read_action, self._meanings = root, read_action, meanings
        self._table = Table(table.game, table.rules, Luck(root, table.name), table.answers, name=table.name)

    @property
    def seat(self) -> int | None:
        """The seat that plays next; None if the table is over."""
        return self._table.open[0].seat if self._table.open else None

    @property
    def view(self) -> Any:
        """The view of the seat that plays next; None if the table is over."""
        return self._table.open[0].view if self._table.open else None

    @property
    def scores(self) -> tuple[int, ...] | None:
        """The scores by seat; None while the table is played."""
        return None if self._table.scores is None else tuple(self._table.scores)

    @property
    def legal(self) -> tuple[int, ...]:
        """The numbers of the legal moves of the seat that plays next; empty if the game does not list its moves."""
        actions = range(len(self._meanings)) if self._table.open else ()
        return tuple(action for action in actions if self._table.allows(self._read_action(action)))

    def step(self, action: Any) -> None:
        """Play a move of the seat that plays next: an action of the environment.

        Raise croupier.Error if there is no such action, and ValueError if the table is over.
        """
        with errors():
            self._table.answer(self._read_action(action))

    def clone(self) -> "TableCopy":
        """Return a copy of this copy."""
        return TableCopy(self._table, self._root, self._read_action, self._meanings)
