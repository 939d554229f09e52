"""Declares a submitted bot: the keys of its bot.toml, the submission, and the program that croupier builds from it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from host.base.errors import Problem, closest_match
from host.base.paths import SAMPLE_PREFIX
from host.base.toml_file import Toml, to_toml
from host.base.value_types import OWN_CODE, Flag, InvalidValue, Text, ValueType, integer, matches, one_of, plain_string
from host.games import GAMES
from host.games.engine import Game
from host.sandbox.limits import BANK_KEYS, BANK_SCOPES, BYTES, NO_BANK, SECONDS, Bank, Limits, seconds, size
from protocols import PROTOCOLS, argv
from protocols.wire import MAX_ANSWER_BYTES, View

MANIFEST = "bot.toml"

MAX_BOT_NAME_CHARS = 40
QUOTES = "\"'\\`"
"""Characters that no file name of a bot may contain: a shell would read them as quotes."""

MAX_ARGV_ANSWER_BYTES = 64 << 10  # of the output of a process for one question; keeper.c has the same number
MAX_AMOUNT_CHARS = 40  # length of a number with its unit
MODEL_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}"


def amount_of(
    read: Callable[[str], float], units: Iterable[str], usual: tuple[str, str], step: int, most: float
) -> Callable[[Any], float]:
    """Return a function that reads a value with a unit: it returns the number in the base unit, or raises InvalidValue.

    `read` reads the text of a value. `usual` has two of the `units` for hints; the second is `step` times smaller. `most`
    is the largest value, in the base unit.
    """

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidValue("C006", "is not a number with a unit", f'"1 {usual[0]}"')
        text = str(value).strip()
        if len(text) > MAX_AMOUNT_CHARS:
            raise InvalidValue("C006", "is not a number with a unit", f'"1 {usual[0]}"')
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            smaller = float(text) * step
            other = f' or "{int(smaller)} {usual[1]}"' if smaller < 1e9 and smaller.is_integer() else ""
            raise InvalidValue("C002", "has no unit", f'"{text} {usual[0]}"{other}')
        try:
            found = read(text)
        except ValueError:
            number, _, unit = re.sub(r"^([0-9.]+)\s*", r"\1 ", text).partition(" ")
            close = closest_match(unit, units) or next((known for known in units if unit[:1] == known[:1]), "")
            good = re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) and close
            hint = f'"{number} {close}"' if good else f'a number and one of {", ".join(units)}: "1 {usual[0]}"'
            raise InvalidValue("C002", "has no unit that croupier knows", hint) from None
        if not 0 < found <= most:
            raise InvalidValue("C009", "is out of range", f'more than 0, for example "1 {usual[0]}"')
        return found

    return check


_seconds = amount_of(seconds, SECONDS, ("s", "ms"), 1000, 1e6)
_size = amount_of(size, BYTES, ("MiB", "KiB"), 1024, 1 << 50)


def _bytes(value: Any) -> int:
    return int(_size(value))


def _bytes_or_none(value: Any) -> int:
    return 0 if type(value) is int and value == 0 else _bytes(value)


def _bank(value: Any) -> Bank:
    """Return a time bank such as "60 s / table". Raise InvalidValue for a wrong value."""
    if not isinstance(value, str):
        raise InvalidValue("C006", 'should look like "60 s / table" or "5 min / fixture"', f'"60 s / {BANK_SCOPES[0]}"')
    time, slash, scope = value.partition("/")
    time, scope = time.strip(), scope.strip()
    if not slash:
        shown = time if re.fullmatch(r"[0-9.]+ ?[a-z]+", time) else "60 s"
        either = " or ".join(f'"{shown} / {each}"' for each in BANK_SCOPES)
        raise InvalidValue("C002", "does not say what the bank lasts for", either)
    if scope not in BANK_SCOPES:
        known = closest_match(scope, BANK_SCOPES)
        either = " or ".join(f'"{time} / {each}"' for each in ([known] if known else BANK_SCOPES))
        raise InvalidValue("C008", "is not a bank for each table or each fixture", either)
    try:
        return Bank(_seconds(time), scope)
    except InvalidValue as wrong:
        raise InvalidValue(wrong.code, wrong.message, f'"60 s / {scope}"') from None


A_TIME = f"time with a unit: {', '.join(SECONDS)}"
A_SIZE = f"size with a unit: {', '.join(BYTES)}"
Seconds = Annotated[float, ValueType(_seconds, {"type": "string", "title": A_TIME, "examples": ["250 ms", "1 s"]})]
BankSetting = Annotated[
    Bank,
    ValueType(
        _bank,
        {"type": "string", "title": f"{A_TIME}; / table or / fixture", "examples": ["60 s / table", "5 min / fixture"]},
    ),
]
ByteCount = Annotated[int, ValueType(_bytes, {"type": "string", "title": A_SIZE, "examples": ["256 MiB"]})]
SizeOrNone = Annotated[
    int,
    ValueType(_bytes_or_none, {"type": ["string", "integer"], "title": f"{A_SIZE}; or 0", "examples": ["1 MiB", 0]}),
]
MAX_SUBMISSION_BYTES = 256 << 20
_submission_size = amount_of(size, BYTES, ("MiB", "KiB"), 1024, MAX_SUBMISSION_BYTES)
SubmissionSize = Annotated[
    int,
    ValueType(lambda value: int(_submission_size(value)), {"type": "string", "title": A_SIZE, "examples": ["64 MiB"]}),
]
Count = Annotated[int, integer(1, 4096)]


def format_limit(value: float | Bank) -> str:
    """Return a limit as text for a file: a float is a duration in seconds, an int a size in bytes."""
    if isinstance(value, Bank):
        return f"{format_limit(value.seconds)} / {value.scope}"
    if isinstance(value, float):
        return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
    unit = next((unit for unit, step in reversed(BYTES.items()) if value >= step and value % step == 0), "B")
    return f"{value // BYTES[unit]} {unit}"


UNITLESS_LIMITS = ("tasks", "open_files", "cores", "retries")
"""The limits that have no unit."""


@dataclass(frozen=True)
class RequestedLimits:
    """A [limits] table: the fields of Limits. A field that the table does not set is -1."""

    move: Seconds = -1.0
    """Time of one answer, without the time in which the bot waited for a processor, where the kernel counts that. A later
    answer is a fault of the kind `timeout`."""
    startup: Seconds = -1.0
    """Additional time for the first answer of the first process of a fixture. Example: `startup = "2 s"`"""
    cpu: Seconds = -1.0
    """Processor time of one answer, of all processes of the bot together."""
    cpu_table: Seconds = -1.0
    """Processor time of one table. Later tables of the fixture may use what is left over. Example: `cpu_table = "30 s"`"""
    memory: ByteCount = -1
    """Memory of all processes of the bot together."""
    tasks: Count = -1
    """Processes and threads of the bot. Example: `tasks = 32`"""
    output: ByteCount = -1
    """Bytes of one answer on standard output, at most 1 MiB, or 64 KiB over argv. Example: `output = "8 KiB"`"""
    state: SizeOrNone = -1
    """Size of the file or folder that a bot may keep (the key `state` of bot.toml). 0: bots may keep nothing.
    Example: `state = "64 KiB"`"""
    files: ByteCount = -1
    """Size of each file that a bot writes in its temporary folder, and of all of them together. Example: `files = "8 MiB"`"""
    open_files: Count = -1
    """Open files of each process, connections and pipes included. Example: `open_files = 32`"""
    bank: BankSetting = NO_BANK
    """A time bank: the time that all answers of a table, or of a fixture, may together take beyond `floor`. Such a bot plays
    one table at a time. Default: none. Example: `bank = "60 s / table"`"""
    increment: Seconds = -1.0
    """Time that each move adds to the bank. Default: none. Example: `increment = "500 ms"`"""
    floor: Seconds = -1.0
    """With a bank, the time that every answer has and that costs nothing from the bank; at most `move`. Default: `move`.
    Example: `floor = "100 ms"`"""

    def with_defaults(self, usual: Limits) -> Limits:
        """Return all limits: those that this table sets, and the others from `usual`."""
        return usual._replace(**self.given())

    def given(self) -> dict[str, Any]:
        """Return the limits that the table sets, by name."""
        named = [each.name for each in fields(self) if each.name in Limits._fields]
        return {name: value for name in named if (value := getattr(self, name)) not in (-1, NO_BANK)}


def bot_name(value: Any) -> str:
    """Return the name of a bot. Raise InvalidValue if the name is not allowed.

    A name has at most MAX_BOT_NAME_CHARS characters and no blank at its start or end. It must not look like a path, an option,
    a sample bot, or a bot with the number of its tables.
    """
    name = plain_string(value)
    if len(name) > MAX_BOT_NAME_CHARS:
        raise InvalidValue("C009", f"is longer than {MAX_BOT_NAME_CHARS} characters")
    if name != name.strip():
        raise InvalidValue("C009", "begins or ends with a blank")
    if "/" in name or "#" in name:
        raise InvalidValue("C009", 'contains "/" or "#", which separate a bot from its tables')
    if name.startswith(("-", ".", SAMPLE_PREFIX)):
        raise InvalidValue("C009", f'begins with "-", "." or "{SAMPLE_PREFIX}"')
    return name


def unsafe_name(path: str) -> bool:
    """Return whether a program may misread a path: a part begins with "-" or "@", it has a quote, or cannot be printed."""
    parts = PurePosixPath(path).parts
    return not path.isprintable() or any(c in path for c in QUOTES) or any(part[0] in "-@" for part in parts)


def file_name(value: Any) -> str:
    """Return a path inside the bot's folder. Raise InvalidValue for a path outside it, or for an unsafe name."""
    path = PurePosixPath(plain_string(value))
    if path.is_absolute() or ".." in path.parts:
        raise InvalidValue("C009", "points outside the bot's folder")
    if unsafe_name(str(path)):
        raise InvalidValue("C009", "is not allowed as a file name of a bot")
    return str(path)


SET_BY_CROUPIER = re.compile(r"CROUPIER_SEED|CROUPIER_BANK|CROUPIER_MODEL_URL|LD_.*|GCONV_PATH|LOCPATH")
"""Variables that a bot may not set. croupier sets the first three.

Each of the others makes a program load a file before its own first line. The programs that start the bot would load it too.
"""


def environment(value: Any) -> dict[str, str]:
    """Return the variables that a bot sets for itself. Raise InvalidValue for a name or a value that is not allowed."""
    if not isinstance(value, dict):
        raise InvalidValue("C006", "is not a table", 'env = { LANG = "C.UTF-8" }')
    for name, text in value.items():
        if not re.fullmatch("[A-Z_][A-Z0-9_]{0,63}", name):
            raise InvalidValue("C009", f"names a variable {to_toml(name)}", "capital letters, digits and _")
        if SET_BY_CROUPIER.fullmatch(name):
            raise InvalidValue("C009", f"sets {name}, which only croupier sets", "leave it out")
        if not isinstance(text, str):
            raise InvalidValue("C006", f"sets {name} to a value that is not a string", f'{name} = "{to_toml(text)}"')
        if "\0" in text or len(text) > 4096:
            raise InvalidValue("C009", f"sets {name} to a value that no variable can have")
    if len(value) > 64:
        raise InvalidValue("C009", "sets more than 64 variables")
    return dict(value)


GameName = Annotated[str, one_of(lambda: GAMES, "game", OWN_CODE)]
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
class BotSpec:
    """The keys of a bot.toml: their types, their limits and their defaults. An empty value means "not given".

    `host/submissions/discovery.py` checks the names of languages, compilers and adapters, and keys that exclude each
    other. It fills in the keys that the file may leave out: name, game, language, sources and entry.
    """

    name: Annotated[str, ValueType(bot_name, {"type": "string", "maxLength": MAX_BOT_NAME_CHARS})] = ""
    """The bot's name in standings and commands. Default: the name of the folder. Example: `name = "Seventeen"`"""
    author: Text = ""
    """The author's name, for lists and reports. Example: `author = "Ada Lovelace"`"""
    game: GameName = ""
    """The game that the bot plays. Default: the tournament's game, or the one given with `-g`."""
    language: Text = ""
    """The language of the bot: a row of the table of languages. Default: the language of its sources."""
    protocol: Annotated[str, one_of(lambda: PROTOCOLS, "protocol")] = ""
    """How the bot is asked. Default: the usual protocol of the game. Example: `protocol = "lines"`"""
    sources: tuple[FileName, ...] = ()
    """The files to compile. Default: all files of the language. Example: `sources = ["bot.c", "cards.c"]`"""
    entry: FileName = ""
    """The script to run. Default: the only one, or the one called bot or main. Example: `entry = "bot.py"`"""
    main: Annotated[str, matches(r"[\w$]+(\.[\w$]+)*", "class", 'main = "Players.Mine"')] = ""
    """The class with the main method. Default: the only one. Example: `main = "players.Mine"`"""
    run: tuple[Text, ...] = ()
    """The program that is started, and its first arguments. Default: that of the language. Example: `run = ["./bot", "17"]`"""
    build: tuple[Text, ...] = ()
    """Build commands, one string each, run by sh. Default: those of the language. Example: `build = ["cc -O3 -o bot bot.c"]`"""
    compiler: Text = ""
    """The compiler or interpreter, for a language with several. Default: the first of the language."""
    adapter: Text = ""
    """The adapter that runs a bot of an older competition unchanged."""
    heap: ByteCount = 0
    """The heap that the runtime may reserve. Default: 128 MiB for a JVM, else the runtime's own. Example: `heap = "64 MiB"`"""
    python: Annotated[str, matches(r"(>=|==)?\s*[0-9]+(\.[0-9]+){0,2}", "version", '">=3.11", or "3.12"')] = ""
    """The Python version that the bot needs. Default: any `python3`. Example: `python = ">=3.11"`"""
    requires: tuple[Requirement, ...] = ()
    """Packages from the Python package index. croupier downloads their wheels. Example: `requires = ["numpy>=2"]`"""
    env: Annotated[dict[str, str], ValueType(environment, {"type": "object"})] = field(default_factory=dict)
    """Environment variables for the bot. Variables that make a program load other code are refused: `LD_…`, `GCONV_PATH`,
    `LOCPATH`. Example: `env = { TABLES = "9" }`"""
    needs: tuple[Annotated[str, matches(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "name of a program")], ...] = ()
    """Programs that the machine must have. croupier reports the missing ones. Example: `needs = ["make"]`"""
    parallel_tables: Annotated[int, integer(1, 1024)] = 1
    """The number of questions that may wait for an answer at the same time. A bot that remembers nothing between
    questions can set it, and plays much faster. Example: `parallel_tables = 64`"""
    table_ids: Flag = False
    """`true`: each question begins with the number of its table."""
    lifetime: Annotated[str, one_of(lambda: ("fixture", "table", "question"), "lifetime")] = ""
    """How long a process of the bot lives. Default: that of the protocol, `"fixture"` over lines and json.
    Example: `lifetime = "table"`"""
    warm: Flag = False
    """`true`: over argv, fork the bot from an interpreter that has already started."""
    raw_arguments: Flag = False
    """`true`: over argv, a text is an argument as it is, with its blanks and line ends. An empty one is an empty
    argument."""
    state: Annotated[
        str, matches(r"(?!bot\.toml/?$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}/?", "name of one file or folder")
    ] = ""
    """The name of the one file that the bot may write and keep. It is empty at first. A name with a `/` at the end is a
    folder for any files, and needs a sandbox with namespaces. Example: `state = "memory.bin"`"""
    state_absent: Flag = False
    """`true`: the file does not exist at first. This needs a sandbox with namespaces."""
    state_lifetime: Annotated[str, one_of(lambda: ("fixture", "stage"), "lifetime of a state")] = "fixture"
    """How long the file is kept. A folder, or a file that does not exist at first, is kept for a fixture. With `"stage"`, the
    fixtures of the bot are played one after another. Example: `state_lifetime = "stage"`"""
    models: tuple[Annotated[str, matches(MODEL_NAME, "name of a model")], ...] = ()
    """The language models that the bot asks, by the names that the organiser gave them in [models]. Needs a protocol whose
    process lives on. Example: `models = ["small"]`"""
    cores: Annotated[int, integer(1, 1024)] = 1
    """The number of processor cores for the threads of the bot. Only where workers are placed on cores: a worker and its
    bots then share this many cores instead of one. Example: `cores = 2`"""
    limits: RequestedLimits = RequestedLimits()

    def ask(self, view: View) -> list[bytes]:
        """Return the arguments of a question over argv."""
        return argv.ask_raw(view) if self.raw_arguments else argv.ask(view)

    @property
    def state_is_folder(self) -> bool:
        """Return whether the bot keeps a folder of files, not one file."""
        return self.state.endswith("/")

    @property
    def keeps_folder(self) -> bool:
        """Return whether the sandbox keeps a folder for the state: for a folder, or a file that does not exist at first."""
        return self.state_is_folder or self.state_absent

    @property
    def process_lifetime(self) -> str:
        """Return how long a process of the bot lives: "fixture", "table" or "question"."""
        return self.lifetime or next(iter(PROTOCOLS[self.protocol].lifetimes), "fixture")

    def limits_within(self, granted: Limits) -> Limits:
        """Return the limits that the bot requests, but not above the granted ones, with the granted models that it names."""
        models = tuple(each for each in granted.models if each.name in self.models)
        return self.limits.with_defaults(granted).at_most(granted)._replace(models=models)


def limits_exceeded(spec: BotSpec, granted: Limits, toml: Toml) -> list[Problem]:
    """Return a problem for each key of a bot.toml that requests more than is granted: limits, cores, models.

    A heap larger than the memory limit is also a problem, and so is a `floor` above `move`.
    """
    given = spec.limits.given()
    problems = floor_problems(spec.limits.with_defaults(granted), toml) if {"move", "floor"} <= given.keys() else []
    for key, asked in given.items():
        most = granted.per_move if key == "floor" else getattr(granted, key)
        if key in BANK_KEYS and (problem := _bank_exceeded(key, asked, granted, toml)):
            problems.append(problem)
        elif key not in BANK_KEYS[:2] and asked > most:
            least = str(most) if key in UNITLESS_LIMITS else f'"{format_limit(most)}"'
            message = f"{key} = {to_toml(toml.data['limits'][key])} is more than the {least.strip(chr(34))} granted"
            hint = f"{key} = {least} or less; only the organiser can raise it, for all bots"
            problems.append(Problem("C014", toml.where("limits", key), message, hint=hint))
    if spec.cores > granted.cores:
        message = f"cores = {spec.cores} is more than the {granted.cores} granted"
        hint = f"cores = {granted.cores} or less; only the organiser can raise it: [limits] cores = {spec.cores}"
        problems.append(Problem("C014", toml.where("cores"), message, hint=hint))
    known = [each.name for each in granted.models]
    for number, name in enumerate(spec.models):
        if name not in known:
            message = f"models has {to_toml(name)}, and the organiser grants {', '.join(known) or 'no model'}"
            hint = closest_match(name, known) or f"only the organiser can grant it: [models.{name}] in croupier.toml"
            problems.append(Problem("C014", toml.where("models", number), message, hint=hint))
    memory = spec.limits.with_defaults(granted).memory
    if spec.heap > memory:
        message = f"heap = {to_toml(toml.data['heap'])} is more than the memory limit of {format_limit(memory)}"
        problems.append(Problem("C013", toml.where("heap"), message, hint=f'heap = "{format_limit(memory // 4)}"'))
    return problems


def _bank_exceeded(key: str, asked: Any, granted: Limits, toml: Toml) -> Problem | None:
    """Return the problem if a key requests a bank, an increment or a floor that is not granted; otherwise None."""
    most = getattr(granted, key)
    shown = f"{key} = {to_toml(toml.data['limits'][key])}"
    if not granted.bank.seconds:
        message = f"{shown} needs a time bank, and the tournament grants none"
        hint = "leave it out; only the organiser can grant a bank, to all bots"
    elif key == "bank" and asked.scope != most.scope:
        message = f"{shown} is a bank for each {asked.scope}, and the tournament grants one for each {most.scope}"
        hint = f'bank = "{format_limit(most)}" or less'
    elif key != "floor" and asked > most:
        message = f"{shown} is more than the {format_limit(most)} granted" if most else f"{shown}: none is granted"
        hint = f'{key} = "{format_limit(most)}" or less' if most else "leave it out"
        hint += "; only the organiser can raise it, for all bots"
    else:
        return None
    return Problem("C014", toml.where("limits", key), message, hint=hint)


def floor_problems(limits: Limits, toml: Toml) -> list[Problem]:
    """Return the problem of a [limits] table that sets `floor` above `move`; [] if it does not."""
    if limits.floor <= limits.move:
        return []
    message = f"floor = {to_toml(format_limit(limits.floor))} is more than move = {to_toml(format_limit(limits.move))}"
    hint = f'floor = "{format_limit(limits.move)}" or less, or a higher move'
    return [Problem("C013", toml.where("limits", "floor"), message, hint=hint)]


def longest_answer(limits: Limits, protocol: str) -> int:
    """Return the maximum number of bytes of an answer: the limit `output`, but at most MAX_ANSWER_BYTES.

    If a process answers one question only, or croupier does not know the protocol, it is at most MAX_ARGV_ANSWER_BYTES.
    """
    known = PROTOCOLS.get(protocol)  # a journal of a stranger may name any
    return min(limits.output, MAX_ANSWER_BYTES if known and known.persistent else MAX_ARGV_ANSWER_BYTES)


class Submission(NamedTuple):
    """A bot as its author handed it in: its files, and the facts that croupier knows before it runs any of them."""

    spec: BotSpec
    folder: Path  # the folder of its files
    files: tuple[str, ...]  # regular files only, relative to the folder, sorted
    limits: Limits = Limits()  # the requested limits, not above the granted ones
    manifest: str = ""  # the path of its bot.toml, for messages; empty for a single file
    wheels: Path | None = None  # the folder of the required packages, if they are already downloaded
    game: Game | None = None  # the game that `for_game` has set

    @property
    def name(self) -> str:
        """Return the bot's name."""
        return self.spec.name

    @property
    def plays(self) -> Game | None:
        """Return the game that the bot plays, if `for_game` has set it or it is one of croupier's own games; otherwise None."""
        return self.game if self.game and self.game.name == self.spec.game else GAMES.get(self.spec.game)

    def for_game(self, game: Game) -> "Submission":
        """Return the submission with this game, also as the key `game` of its bot.toml."""
        return self.with_keys(game=game.name)._replace(game=game)

    def with_keys(self, **keys: Any) -> "Submission":
        """Return the submission with other values for some keys of its bot.toml."""
        return self._replace(spec=replace(self.spec, **keys))

    def within(self, granted: Limits) -> "Submission":
        """Return the submission with the limits that it requests, but not above the granted ones."""
        return self._replace(limits=self.spec.limits_within(granted))


class BuiltBot(NamedTuple):
    """A bot that is ready to be asked: plain values, equal on every machine that has the folder."""

    spec: BotSpec  # its protocol is never empty here
    argv: tuple[str, ...]
    folder: str  # on the host, read-only for the bot
    sha256: str  # hash of everything that the bot is built from
    env: tuple[tuple[str, str], ...] = ()
    limits: Limits = Limits()
    warm: tuple[str, ...] = ()  # the command of the interpreter that forks the bot for each start; () = cold starts
    empty_start: float = 0.0  # seconds that an empty bot of its language takes to start where it was prepared

    @property
    def name(self) -> str:
        """Return the bot's name."""
        return self.spec.name

    @property
    def longest_answer(self) -> int:
        """Return the maximum number of bytes of an answer."""
        return longest_answer(self.limits, self.spec.protocol)

    @property
    def retries(self) -> int:
        """Return how many times the host may ask the bot the same question again after refused answers.

        It is 0 if the protocol cannot send the reason, or if a process lives for one question only.
        """
        told = PROTOCOLS[self.spec.protocol].refused and self.spec.process_lifetime != "question"
        return self.limits.retries if told else 0

    def with_keys(self, **keys: Any) -> "BuiltBot":
        """Return the bot with other values for some keys of its bot.toml."""
        return self._replace(spec=replace(self.spec, **keys))

    def command(self, warm_count: int) -> list[bytes]:
        """Return the words of the bot's command. The first `warm_count` are those of the interpreter that forks the bot."""
        return [word.encode() for word in (*self.warm[:warm_count], *self.argv[warm_count:])]
