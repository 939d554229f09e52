"""What a bot.toml may say, and what it may not say together."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar

from host.base.config_file import (
    Flag,
    InvalidValue,
    Text,
    Toml,
    ValueType,
    closest_match,
    integer,
    matches,
    one_of,
    plain_string,
    to_toml,
)
from host.base.errors import Problem
from host.games import GAMES
from host.sandbox.limits import BYTES, SECONDS, Limits, seconds, size
from host.submissions.adapters import ADAPTERS, Adapter
from host.submissions.file_tree import unsafe_name
from host.submissions.languages import LANGUAGES, languages_with
from host.submissions.sample_bots import PREFIX
from protocols import PROTOCOLS

LONGEST_NAME = 40
LONGEST_AMOUNT = 40  # characters of a number with its unit
COMPILERS = [name for row in LANGUAGES.values() for name in row.compilers]


def amount_of(
    read: Callable[[str], float], units: Iterable[str], usual: tuple[str, str], step: int, most: float
) -> Callable[[Any], float]:
    """Return the check of a value with a unit; `usual` are two units, the second `step` times smaller."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidValue("C006", "is no number with a unit", f'"1 {usual[0]}"')
        text = str(value).strip()
        if len(text) > LONGEST_AMOUNT:
            raise InvalidValue("C006", "is no number with a unit", f'"1 {usual[0]}"')
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            smaller = float(text) * step
            other = f' or "{int(smaller)} {usual[1]}"' if smaller < 1e9 and smaller.is_integer() else ""
            raise InvalidValue("C002", " has no unit", f'"{text} {usual[0]}"{other}')
        try:
            found = read(text)
        except ValueError:
            number, _, unit = re.sub(r"^([0-9.]+)\s*", r"\1 ", text).partition(" ")
            close = closest_match(unit, units) or next((known for known in units if unit[:1] == known[:1]), "")
            good = re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) and close
            hint = f'"{number} {close}"' if good else f'a number and one of {", ".join(units)}: "1 {usual[0]}"'
            raise InvalidValue("C002", " has no unit that croupier knows", hint) from None
        if not 0 < found <= most:
            raise InvalidValue("C009", "is out of range", f'more than 0, "1 {usual[0]}" say')
        return found

    return check


_seconds = amount_of(seconds, SECONDS, ("s", "ms"), 1000, 1e6)
_size = amount_of(size, BYTES, ("MiB", "KiB"), 1024, 1 << 50)


def _bytes(value: Any) -> int:
    return int(_size(value))


def _bytes_or_none(value: Any) -> int:
    return 0 if type(value) is int and value == 0 else _bytes(value)


Seconds = Annotated[float, ValueType(_seconds, {"type": "string", "examples": ["1 s", "250 ms"]})]
Size = Annotated[int, ValueType(_bytes, {"type": "string", "examples": ["512 MiB"]})]
SizeOrNone = Annotated[int, ValueType(_bytes_or_none, {"type": ["string", "integer"], "examples": ["1 MiB", 0]})]
Count = Annotated[int, integer(1, 4096)]


def spelled_limit(value: float) -> str:
    """Return a limit as a file says it: a duration when it is a float, a size or number when it is an int."""
    if isinstance(value, float):
        return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
    unit = next((unit for unit, step in reversed(BYTES.items()) if value >= step and value % step == 0), "B")
    return f"{value // BYTES[unit]} {unit}"


COUNTED = ("tasks", "open_files", "clock")
"""The limits that have no unit."""


@dataclass(frozen=True)
class RequestedLimits:
    """A [limits] table: the fields of Limits, -1 where nothing is said."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    move: Seconds = -1.0
    startup: Seconds = -1.0
    cpu: Seconds = -1.0
    cpu_table: Seconds = -1.0
    memory: Size = -1
    tasks: Count = -1
    output: Size = -1
    state: SizeOrNone = -1
    files: Size = -1
    open_files: Count = -1

    def with_defaults(self, usual: Limits) -> Limits:
        """Return the limits, with the usual ones where this table is silent."""
        return usual._replace(**self.said())

    def said(self) -> dict[str, Any]:
        """Return what the table says."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != -1}


def bot_name(value: Any) -> str:
    """Return a name that a bot may have; raise Wrong for one that would be mistaken for something else."""
    name = plain_string(value)
    if len(name) > LONGEST_NAME:
        raise InvalidValue("C009", f"is longer than {LONGEST_NAME} characters")
    if name != name.strip():
        raise InvalidValue("C009", "begins or ends with a blank")
    if "/" in name or "#" in name:
        raise InvalidValue("C009", 'has a "/" or "#": these part a bot from its tables')
    if name.startswith(("-", ".", PREFIX)):
        raise InvalidValue("C009", f'begins with "-", "." or "{PREFIX}"')
    return name


def file_name(value: Any) -> str:
    """Return a path below the bot's folder; raise Wrong for one that leads elsewhere."""
    path = PurePosixPath(plain_string(value))
    if path.is_absolute() or ".." in path.parts:
        raise InvalidValue("C009", "leads out of the bot's folder")
    if unsafe_name(str(path)):
        raise InvalidValue("C009", "is no name that a file of a bot may have")
    return str(path)


SET_BY_CROUPIER = re.compile(r"CROUPIER_SEED|LD_.*|GCONV_PATH|LOCPATH")
"""All but the first have a program load what they name, before its own first line: also those that start the bot."""


def environment(value: Any) -> dict[str, str]:
    """Return variables that a bot may set for itself."""
    if not isinstance(value, dict):
        raise InvalidValue("C006", "is no table", 'env = { LANG = "C.UTF-8" }')
    for name, text in value.items():
        if not re.fullmatch("[A-Z_][A-Z0-9_]{0,63}", name):
            raise InvalidValue("C009", f"names a variable {to_toml(name)}", "capital letters, digits and _")
        if SET_BY_CROUPIER.fullmatch(name):
            raise InvalidValue("C009", f"sets {name}, which is croupier's to set", "leave it out")
        if not isinstance(text, str):
            raise InvalidValue("C006", f"sets {name} to what is no text", f'{name} = "{to_toml(text)}"')
        if "\0" in text or len(text) > 4096:
            raise InvalidValue("C009", f"sets {name} to what no variable can hold")
    if len(value) > 64:
        raise InvalidValue("C009", "sets more than 64 variables")
    return dict(value)


GameName = Annotated[str, one_of(lambda: GAMES, "game")]
FileName = Annotated[str, ValueType(file_name, {"type": "string"})]
Requirement = Annotated[
    str,
    matches(
        r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._ -]+\])?\s*"
        r"((~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!]+\s*(,\s*(~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!]+\s*)*)?",
        "requirement",
        '"numpy>=2": a name and its versions, no options, no addresses',
    ),
]


@dataclass(frozen=True)
class Manifest:
    """What a bot.toml says."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    name: Annotated[str, ValueType(bot_name, {"type": "string", "maxLength": LONGEST_NAME})] = ""
    author: Text = ""
    game: GameName = ""
    language: Annotated[str, one_of(lambda: LANGUAGES, "language")] = ""
    protocol: Annotated[str, one_of(lambda: PROTOCOLS, "protocol")] = ""
    sources: tuple[FileName, ...] = ()
    entry: FileName = ""
    main: Annotated[str, matches(r"[\w$]+(\.[\w$]+)*", "class", 'main = "Players.Mine"')] = ""
    run: tuple[Text, ...] = ()
    build: tuple[Text, ...] = ()
    compiler: Annotated[str, one_of(lambda: COMPILERS, "Lisp that is known here")] = ""
    adapter: Annotated[str, one_of(lambda: ADAPTERS, "adapter")] = ""
    heap: Size = 0
    python: Annotated[str, matches(r"(>=|==)?\s*[0-9]+(\.[0-9]+){0,2}", "version", '">=3.11", or "3.12"')] = ""
    requires: tuple[Requirement, ...] = ()
    env: Annotated[dict[str, str], ValueType(environment, {"type": "object"})] = field(default_factory=dict)
    needs: tuple[Annotated[str, matches(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "name of a program")], ...] = ()
    parallel_tables: Annotated[int, integer(1, 1024)] = 1
    table_ids: Flag = False
    lifetime: Annotated[str, one_of(lambda: ("fixture", "table"), "lifetime")] = "fixture"
    warm: Flag = False
    state: Annotated[str, matches(r"(?!bot\.toml$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "name of one file")] = ""
    state_lifetime: Annotated[str, one_of(lambda: ("fixture", "stage"), "lifetime of a state")] = "fixture"
    limits: RequestedLimits = RequestedLimits()


def adapter_of(said: Manifest) -> Adapter | None:
    """Return the adapter that a manifest names; None when it names none."""
    return ADAPTERS.get(said.adapter)


def contradictions(said: Manifest, language: str, toml: Toml) -> list[Problem]:
    problems = []

    def against(key: str, message: str, hint: str) -> None:
        value = toml.data.get(key)
        problems.append(Problem("C013", toml.where(key), f"{key} = {to_toml(value)} {message}", hint=hint))

    for key in toml.data:
        if (languages := languages_with(key)) and language not in languages:
            against(key, f"means nothing to a bot in {language}", f"it is for {' and '.join(languages)}")
    if adapter := adapter_of(said):
        for key in ("game", "language", "protocol"):
            if getattr(said, key) not in ("", right := getattr(adapter, key)):
                against(key, f'does not go with adapter = "{adapter.name}"', f'{key} = "{right}", or no {key}')
        if said.table_ids:
            against("table_ids", f'does not go with adapter = "{adapter.name}"', "take it out")
    protocol = (
        adapter.protocol if adapter else said.protocol or (GAMES[said.game].protocol if said.game in GAMES else "")
    )
    if protocol == "argv":
        for key, given in (
            ("table_ids", said.table_ids),
            ("parallel_tables", said.parallel_tables > 1),
            ("lifetime", "lifetime" in toml.data),
        ):
            if given:
                against(key, "means nothing by argv, which starts a process per question", 'protocol = "lines"')
    if said.state_lifetime == "stage" and not said.state:
        against("state_lifetime", "keeps a file that bot.toml does not name", 'state = "memory.bin"')
    return problems


def limits_exceeded(said: Manifest, granted: Limits, toml: Toml) -> list[Problem]:
    """Return what a bot asks for beyond what it is granted."""
    problems = []
    for key, asked in said.limits.said().items():
        most = getattr(granted, key)
        if asked > most:
            least = str(most) if key in COUNTED else f'"{spelled_limit(most)}"'
            message = f"{key} = {to_toml(toml.data['limits'][key])} is more than the {least.strip(chr(34))} granted"
            hint = f"{key} = {least} or less; more is the organiser's to give, to everybody"
            problems.append(Problem("C014", toml.where("limits", key), message, hint=hint))
    memory = said.limits.with_defaults(granted).memory
    if said.heap > memory:
        message = f"heap = {to_toml(toml.data['heap'])} is more than the memory limit of {spelled_limit(memory)}"
        problems.append(Problem("C013", toml.where("heap"), message, hint=f'heap = "{spelled_limit(memory // 4)}"'))
    return problems
