"""A copy of a table of an environment, for a search."""

from collections.abc import Callable, Sequence
from typing import Any

from croupier.session import errors
from host.games.engine import Table
from host.games.luck import Luck
from protocols.wire import Answer


class TableCopy:
    """A copy of a table. The caller plays every seat of it.

    The copy continues with the same cards as the table, so it knows cards that the seats do not see. Making a copy
    takes as long as playing the answers of the table again.
    """

    def __init__(
        self, table: Table, root: bytes, read_action: Callable[[Any], Answer], meanings: Sequence[str]
    ) -> None:
        self._root, self._read_action, self._meanings = root, read_action, meanings
        self._table = Table(table.game, table.rules, Luck(root, table.name), table.answers, name=table.name)

    @property
    def seat(self) -> int | None:
        """Return the seat (from 0) that plays next; None if the table is over."""
        return self._table.open[0].seat if self._table.open else None

    @property
    def view(self) -> Any:
        """Return the view of the seat that plays next, a NamedTuple of the game; None if the table is over."""
        return self._table.open[0].view if self._table.open else None

    @property
    def scores(self) -> tuple[int, ...] | None:
        """Return the scores by seat; None while the table is played."""
        return None if self._table.scores is None else tuple(self._table.scores)

    @property
    def legal(self) -> tuple[int, ...]:
        """Return the legal moves of the seat that plays next, as numbers, in ascending order.

        It is empty if the table is over, or if the game does not list its moves. `action_meanings` of the environment
        has the moves as text, by number.
        """
        actions = range(len(self._meanings)) if self._table.open else ()
        return tuple(action for action in actions if self._table.allows(self._read_action(action)))

    def step(self, action: Any) -> None:
        """Play a move of the seat that plays next: an action of the environment, the number of a move or a text.

        Raise croupier.Error if no move has this number, and ValueError if the table is over.
        """
        with errors():
            self._table.answer(self._read_action(action))

    def clone(self) -> "TableCopy":
        """Return a copy of this copy, as it is now. The two do not influence each other."""
        return TableCopy(self._table, self._root, self._read_action, self._meanings)
