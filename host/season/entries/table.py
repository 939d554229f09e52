"""Maps values to rows of SQLite: a table has a column for each field of a NamedTuple or Struct.

Texts, bytes and numbers are stored unchanged, None is stored as NULL, and any other value is stored as JSON.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from host.base.counts import Seconds
from host.base.value_types import plain_word

V = TypeVar("V")
AFFINITY = {str: "TEXT", bool: "INTEGER", int: "INTEGER", float: "REAL", bytes: "BLOB"}
_encode = msgspec.json.Encoder(enc_hook=plain_word).encode


class Column(NamedTuple):
    """A column: its name and definition, and the functions that turn a value of its field into a cell and back."""

    name: str
    definition: str
    stored: Callable[[Any], Any]
    read: Callable[[Any], Any]


class Table(Generic[V]):
    """A table of a database, whose rows are values of the type `kind`.

    `key` has the columns of the primary key. `own` has SQL that is added to the definition of a column, for example
    UNIQUE, by column. `more` is SQL that is added to the definition of the table.
    """

    def __init__(
        self, name: str, kind: type[V], *key: str, own: Mapping[str, str] = MappingProxyType({}), more: str = ""
    ) -> None:
        self.name, self._kind = name, kind
        hints = get_type_hints(kind, include_extras=True)
        self._columns = [_column(field, hint, own.get(field, "")) for field, hint in hints.items()]
        names = [column.name for column in self._columns]
        self.names, marks = ", ".join(names), ", ".join("?" * len(names))
        definitions = ", ".join(column.definition for column in self._columns)
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {name} ({definitions}, PRIMARY KEY ({', '.join(key)}){more}) WITHOUT ROWID;"
        )
        self.add = f"INSERT INTO {name}({self.names}) VALUES ({marks})"
        changed = ", ".join(f"{each} = excluded.{each}" for each in names)
        excluded = ", ".join(f"excluded.{each}" for each in names)
        old = ", ".join(f"{name}.{each}" for each in names)
        self.put = f"{self.add} ON CONFLICT DO UPDATE SET {changed} WHERE ({old}) IS NOT ({excluded})"
        """The statement that adds a row, or replaces the row with its key. It changes 0 rows if an equal row exists."""

    def row(self, value: V) -> tuple[Any, ...]:
        """Return the row of a value: its cells in the order of the columns."""
        return tuple(column.stored(getattr(value, column.name)) for column in self._columns)

    def value(self, row: tuple[Any, ...]) -> V:
        """Return the value of a row. Raise ValueError or MsgspecError if a cell does not fit the type of its field."""
        return self._kind(**{column.name: column.read(cell) for column, cell in zip(self._columns, row, strict=True)})


def _column(name: str, hint: Any, own: str) -> Column:
    kinds = [each for each in (get_args(hint) or [hint]) if each is not NoneType] if _optional(hint) else [hint]
    kind = str if get_origin(kinds[0]) is Literal else kinds[0]
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    nullable = "" if _optional(hint) else " NOT NULL"
    native = next((each for each in AFFINITY if isinstance(kind, type) and issubclass(kind, each)), None)
    if native is None:
        decode = msgspec.json.Decoder(kind).decode
        return Column(
            name, f"{name} BLOB{nullable} {own}".rstrip(), _json, lambda cell: None if cell is None else decode(cell)
        )
    affinity = AFFINITY[bool] if kind is bool else AFFINITY[native]
    read = partial(msgspec.convert, type=Seconds | None if kind is float else hint, strict=kind is not bool)
    return Column(name, f"{name} {affinity}{nullable} {own}".rstrip(), _same, read)


def _optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _json(value: Any) -> bytes | None:
    return None if value is None else _encode(value)


def _same(value: Any) -> Any:
    return value
