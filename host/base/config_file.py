"""Reads TOML files into dataclasses by the types of their fields, and reports every problem with its line."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from host.base.errors import Problem, UserError, closest_match
from host.base.safe_text import one_line
from host.base.toml_file import KeyPath, Toml, read, to_toml
from host.base.value_types import PLAIN, DefinedIn, InvalidValue, OtherKeys, OwnCode, TaggedBy, ValueType, one_of

T = TypeVar("T")


def load_model(source: Path | Toml, model: type[T]) -> T:
    """Read a file into an instance of `model`, a dataclass. Raise UserError (exit code 3) with all its problems.

    The type of a field is another dataclass (a table), `Annotated[…, ValueType]`, `Annotated[…, TaggedBy]`,
    `tuple[type, ...]` (a list), `dict[str, type]` (a table with any keys), `Annotated[dict[str, type], OtherKeys]` (the
    keys that no other field has), `type | None`, `Literal[…]`, Any, bool, int or str.
    """
    toml = read(source) if isinstance(source, Path) else source
    reader = _Reader(toml, model)
    value = reader.value(model, toml.data, ())
    if reader.problems:
        raise UserError(sorted_by_line(reader.problems), 3)
    return cast(T, value)


def sorted_by_line(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of one file in the order of its lines."""

    def line(problem: Problem) -> int:
        number = problem.where.rpartition(":")[2]
        return int(number) if number.isdecimal() else 0

    return sorted(problems, key=line)


class _Reader:
    """Reads each value of a file by its type, and collects the problems of all values.

    Each method returns the converted value of a key, or None if it has added a problem.
    """

    def __init__(self, toml: Toml, model: type) -> None:
        self.problems: list[Problem] = []
        self._toml, self._model = toml, model

    def value(self, kind: Any, value: Any, key: KeyPath) -> Any:
        """Return the value of a key that has the type `kind`."""
        origin, arguments = get_origin(kind), get_args(kind)
        how = arguments[1] if origin is Annotated else PLAIN.get(kind) if origin is None else None
        if origin is Literal:
            how = one_of(lambda: arguments, str(key[-1]))
        if isinstance(how, ValueType):
            return self._checked(how, value, key)
        if origin is tuple and arguments[1:] == (...,):
            return self._list(arguments[0], value, key)
        if origin is UnionType and arguments[1:] == (NoneType,):
            return self.value(arguments[0], value, key)
        if kind is Any:
            return value
        if not (origin is dict or isinstance(how, TaggedBy) or dataclasses.is_dataclass(kind)):
            raise TypeError(f"{key[-1]}: the keys of a file cannot have the type {kind}")
        if not isinstance(value, dict):
            header = f"[[{key[-2]}]]" if isinstance(key[-1], int) else f"[{key[-1]}]"
            hint = f"write {header} on a line of its own, and its keys below it"
            return self._add("C006", key, f"{_key_value(key, value)} is not a table", hint)
        if origin is dict:
            return {name: self.value(arguments[1], each, (*key, name)) for name, each in value.items()}
        return self._tagged(how, value, key) if isinstance(how, TaggedBy) else self._table(kind, value, key)

    def _checked(self, value_type: ValueType, value: Any, key: KeyPath) -> Any:
        try:
            return value_type.check(value)
        except InvalidValue as wrong:
            return self._add(wrong.code, key, f"{_key_value(key, value)} {wrong.message}", wrong.hint)

    def _list(self, kind: Any, value: Any, key: KeyPath) -> Any:
        if isinstance(value, list):
            return tuple(self.value(kind, each, (*key, number)) for number, each in enumerate(value))
        hint = f"{key[-1]} = [{to_toml(value)}]" if isinstance(value, str) else ""
        hint = f"[[{key[-1]}]]" if isinstance(value, dict) else hint
        return self._add("C006", key, f"{_key_value(key, value)} is not a list", hint)

    def _tagged(self, tagged: TaggedBy, table: Mapping[str, Any], key: KeyPath) -> Any:
        names = list(tagged.names())
        if tagged.key not in table:
            hint = f"one of {', '.join(names)}"
            return self._add("C007", key, f"{_table_header(key)} has no {tagged.key}", hint)
        tag = table[tagged.key]
        if isinstance(tag, str | OwnCode) and (model := tagged.find(tag)):
            name = tag.name if isinstance(tag, OwnCode) else tag
            return self._table(model, {**table, tagged.key: name}, key)
        hint = closest_match(str(tag), names) or f"one of {', '.join(names)}"
        message = f"{tagged.key} = {to_toml(str(tag))} is not a {tagged.key} of {key[0]}"
        return self._add("C008", (*key, tagged.key), message, hint)

    def _table(self, model: Any, table: Mapping[str, Any], key: KeyPath) -> Any:
        before, types, values = len(self.problems), types_of(model), dict[str, Any]()
        others = next((name for name, kind in types.items() if OtherKeys in get_args(kind)), "")
        for each in dataclasses.fields(model):
            if each.name == others:
                rest = {name: value for name, value in table.items() if name not in types or name == others}
                values[others] = self.value(get_args(types[others])[0], rest, key)
            elif each.name in table:
                values[each.name] = self.value(types[each.name], table[each.name], (*key, each.name))
            elif each.default is each.default_factory is dataclasses.MISSING:
                self._add("C007", key, f"{_table_header(key)} has no {each.name}", f"{each.name} = …")
        for name in table:
            if name not in values and not others:
                where, tables = self._toml.where(*key, name), _tables_of_keys(self._model)
                self.problems.append(unknown_key(where, (*key, name), _fields(model), tables))
        return model(**values) if len(self.problems) == before else None

    def _add(self, code: str, key: KeyPath, message: str, hint: str) -> None:
        self.problems.append(Problem(code, self._toml.where(*key), message, hint=hint))


@cache
def types_of(model: Any) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields, by field name. Replace a `DefinedIn` by the dataclass that it names."""
    return {name: _found(kind) for name, kind in get_type_hints(model, include_extras=True).items()}


def _found(kind: Any) -> Any:
    how = get_args(kind)[1] if get_origin(kind) is Annotated else None
    return how.find() if isinstance(how, DefinedIn) else kind


def _fields(model: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(model)]


RENAMED_KEYS = {"abreast": "parallel_tables", "tables": "table_ids"}  # keys of earlier versions, with their new names

REMOVED_KEYS = {
    "limits.clock": "leave it out: time counts without waits for a processor, where the kernel measures them"
}


def unknown_key(where: str, key: KeyPath, keys: Collection[str], tables: Mapping[str, str]) -> Problem:
    """Return the problem of an unknown key. `keys` are valid in its table; `tables` has the places of other keys."""
    word = str(key[-1])
    new_name = RENAMED_KEYS.get(word, "")
    hint = new_name if new_name in keys else closest_match(word, keys)
    if removed := REMOVED_KEYS.get(".".join(map(str, key))):
        hint = removed
    elif not hint and word in tables:
        hint = f"{word} belongs {tables[word]}"
    inside = f" in {_table_header(key[:-1])}" if key[:-1] else ""
    return Problem("C001", where, f"unknown key {to_toml(word)}{inside}", hint=hint or "known: " + ", ".join(keys))


def _key_value(key: KeyPath, value: object) -> str:
    if isinstance(key[-1], int):
        return f"{key[-2]}: {to_toml(value)}" if len(key) > 1 else to_toml(value)
    return f"{one_line(str(key[-1]))} = {to_toml(value)}"


def _table_header(key: KeyPath) -> str:
    """Return the header of a table for messages; "the file" for the top of a file."""
    names = ".".join(one_line(str(part)) for part in key if isinstance(part, str))
    if not names:
        return "the file"
    return f"[[{names}]]" if isinstance(key[-1], int) else f"[{names}]"


def tables_in(model: type, around: str = "") -> Iterator[tuple[str, type]]:
    """Yield (name with dots, dataclass) for each table of a model, each table before the tables inside it."""
    for name, kind in types_of(model).items():
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            yield f"{around}{name}", kind
            yield from tables_in(kind, f"{around}{name}.")


def _tables_of_keys(model: type) -> dict[str, str]:
    """Return the place of each key of a model, by key, for hints about keys in the wrong place."""
    places: dict[str, str] = {}
    for name, table in tables_in(model):
        keys = [key for key, kind in types_of(table).items() if not dataclasses.is_dataclass(kind)]
        places = dict.fromkeys(keys, f"in [{name}]") | places
    return places | dict.fromkeys(_fields(model), "at the top of the file, above the first [table]")
