"""A bot as its author handed it in: a folder with bot.toml, or a lone file."""

import glob
import json
import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, NamedTuple

from host import places
from host.bots.limits import BYTES, MIB, SECONDS, Limits, seconds, size
from host.games import GAMES
from host.problems import Problem, Refused
from host.samples import PREFIX, sample, samples
from host.tomlfile import (
    Flag,
    Said,
    Text,
    Toml,
    Wrong,
    escaped,
    matching,
    nearest,
    one_of,
    plain,
    read_guest,
    shown,
    spelled,
    validated,
    whole,
)
from protocols import PROTOCOLS

MANIFEST = "bot.toml"
MOST_FILES, LARGEST_FILE, LARGEST_FOLDER, DEEPEST = 1000, 16 * MIB, 64 * MIB, 20
LONGEST_NAME = 40
LEFT_OUT = frozenset((".git", ".hg", ".svn", ".idea", ".vscode", ".DS_Store", "__pycache__", ".mypy_cache"))
"""What tools leave in a folder: no part of a bot."""

SCRIPTS = ("python", "lisp")
"""The languages whose bots have one entry; of the others all sources together are the bot."""

ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "main": ("java",),
    "heap": ("java", "lisp"),
    "compiler": ("lisp",),
    "python": ("python",),
    "requires": ("python",),
    "warm": ("python", "lisp"),
    "entry": ("python", "lisp", "any"),
    "sources": ("c", "cpp", "java", "any"),
}
"""Keys of bot.toml that mean something to some languages only."""


class Spec(NamedTuple):
    """A bot that is not built yet. Empty means "not said": the language's, the game's or croupier's own default."""

    name: str
    folder: Path  # where its files lie
    files: tuple[str, ...]  # what belongs to it, relative to the folder, sorted; regular files only
    language: str  # a row of LANGUAGES
    author: str = ""
    game: str = ""
    protocol: str = ""
    sources: tuple[str, ...] = ()  # what is compiled
    entry: str = ""  # the script or class file that is run
    main: str = ""  # Java's main class
    run: tuple[str, ...] = ()
    build: tuple[str, ...] = ()  # commands, one string each, run by sh
    compiler: str = ""
    adapter: str = ""
    heap: int = 0  # bytes
    python: str = ""
    requires: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()
    abreast: int = 1
    tables: bool = False
    lifetime: str = "fixture"
    warm: bool = False
    state: str = ""
    state_lifetime: str = "fixture"
    limits: Limits = Limits()  # what it asks for
    manifest: str = ""  # the path of its bot.toml, for messages; empty for a lone file


# What bot.toml may say.


def amount_of(
    read: Callable[[str], float], units: Iterable[str], usual: tuple[str, str], step: int, most: float
) -> Callable[[Any], float]:
    """Return the check of a value with a unit; `usual` are two units, the second `step` times smaller."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Wrong("C006", "is no number with a unit", f'"1 {usual[0]}"')
        text = str(value).strip()
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            smaller = float(text) * step
            other = f' or "{int(smaller)} {usual[1]}"' if smaller < 1e9 and smaller.is_integer() else ""
            raise Wrong("C002", " has no unit", f'"{text} {usual[0]}"{other}')
        try:
            found = read(text)
        except ValueError:
            number, _, unit = re.sub(r"^([0-9.]+)\s*", r"\1 ", text).partition(" ")
            close = nearest(unit, units) or next((known for known in units if unit[:1] == known[:1]), "")
            good = re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) and close
            hint = f'"{number} {close}"' if good else f'a number and one of {", ".join(units)}: "1 {usual[0]}"'
            raise Wrong("C002", " has no unit that croupier knows", hint) from None
        if not 0 < found <= most:
            raise Wrong("C009", "is out of range", f'more than 0, "1 {usual[0]}" say')
        return found

    return check


_seconds = amount_of(seconds, SECONDS, ("s", "ms"), 1000, 1e6)
_size = amount_of(size, BYTES, ("MiB", "KiB"), 1024, 1 << 50)


def _bytes(value: Any) -> int:
    return int(_size(value))


def _bytes_or_none(value: Any) -> int:
    return 0 if type(value) is int and value == 0 else _bytes(value)


Seconds = Annotated[float, Said(_seconds, {"type": "string", "examples": ["1 s", "250 ms"]})]
Size = Annotated[int, Said(_bytes, {"type": "string", "examples": ["512 MiB"]})]
SizeOrNone = Annotated[int, Said(_bytes_or_none, {"type": ["string", "integer"], "examples": ["1 MiB", 0]})]
Count = Annotated[int, whole(1, 4096)]


def spelled_limit(value: float) -> str:
    """Return a limit as a file says it: a duration when it is a float, a size or number when it is an int."""
    if isinstance(value, float):
        return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
    unit = next((unit for unit, step in reversed(BYTES.items()) if value >= step and value % step == 0), "B")
    return f"{value // BYTES[unit]} {unit}"


COUNTED = ("tasks", "open_files", "clock")
"""The limits that have no unit."""


@dataclass(frozen=True)
class Asked:
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

    def over(self, usual: Limits) -> Limits:
        """Return the limits, with the usual ones where this table is silent."""
        return usual._replace(**self.said())

    def said(self) -> dict[str, Any]:
        """Return what the table says."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != -1}


def bot_name(value: Any) -> str:
    """Return a name that a bot may have; raise Wrong for one that would be mistaken for something else."""
    name = plain(value)
    if len(name) > LONGEST_NAME:
        raise Wrong("C009", f"is longer than {LONGEST_NAME} characters")
    if name != name.strip():
        raise Wrong("C009", "begins or ends with a blank")
    if "/" in name or "#" in name:
        raise Wrong("C009", 'has a "/" or "#": these part a bot from its tables')
    if name.startswith(("-", ".", PREFIX)):
        raise Wrong("C009", f'begins with "-", "." or "{PREFIX}"')
    return name


def file_name(value: Any) -> str:
    """Return a path below the bot's folder; raise Wrong for one that leads elsewhere."""
    path = PurePosixPath(plain(value))
    if path.is_absolute() or ".." in path.parts:
        raise Wrong("C009", "leads out of the bot's folder")
    if odd(str(path)):
        raise Wrong("C009", "is no name that a file of a bot may have")
    return str(path)


SET_BY_CROUPIER = re.compile(r"CROUPIER_SEED|LD_.*")


def environment(value: Any) -> dict[str, str]:
    """Return variables that a bot may set for itself."""
    if not isinstance(value, dict):
        raise Wrong("C006", "is no table", 'env = { LANG = "C.UTF-8" }')
    for name, text in value.items():
        if not re.fullmatch("[A-Z_][A-Z0-9_]{0,63}", name):
            raise Wrong("C009", f"names a variable {spelled(name)}", "capital letters, digits and _")
        if SET_BY_CROUPIER.fullmatch(name):
            raise Wrong("C009", f"sets {name}, which is croupier's to set", "leave it out")
        if not isinstance(text, str):
            raise Wrong("C006", f"sets {name} to what is no text", f'{name} = "{spelled(text)}"')
        if "\0" in text or len(text) > 4096:
            raise Wrong("C009", f"sets {name} to what no variable can hold")
    if len(value) > 64:
        raise Wrong("C009", "sets more than 64 variables")
    return dict(value)


def _languages() -> Iterable[str]:
    from host.bots.languages import LANGUAGES

    return LANGUAGES


def _adapters() -> Iterable[str]:
    from host.bots.adapters import ADAPTERS

    return ADAPTERS


def adapter_of(said: "Manifest") -> Any:
    """Return the adapter that a manifest names; None when it names none."""
    from host.bots.adapters import ADAPTERS

    return ADAPTERS.get(said.adapter)


GameName = Annotated[str, one_of(lambda: GAMES, "game")]
FileName = Annotated[str, Said(file_name, {"type": "string"})]
Requirement = Annotated[
    str,
    matching(
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

    name: Annotated[str, Said(bot_name, {"type": "string", "maxLength": LONGEST_NAME})] = ""
    author: Text = ""
    game: GameName = ""
    language: Annotated[str, one_of(_languages, "language")] = ""
    protocol: Annotated[str, one_of(lambda: PROTOCOLS, "protocol")] = ""
    sources: tuple[FileName, ...] = ()
    entry: FileName = ""
    main: Annotated[str, matching(r"[\w$]+(\.[\w$]+)*", "class", 'main = "Players.Mine"')] = ""
    run: tuple[Text, ...] = ()
    build: tuple[Text, ...] = ()
    compiler: Annotated[str, one_of(lambda: ("sbcl", "ecl", "clisp"), "Lisp that is known here")] = ""
    adapter: Annotated[str, one_of(_adapters, "adapter")] = ""
    heap: Size = 0
    python: Annotated[str, matching(r"(>=|==)?\s*[0-9]+(\.[0-9]+){0,2}", "version", '">=3.11", or "3.12"')] = ""
    requires: tuple[Requirement, ...] = ()
    env: Annotated[dict[str, str], Said(environment, {"type": "object"})] = field(default_factory=dict)
    needs: tuple[Annotated[str, matching(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "name of a program")], ...] = ()
    abreast: Annotated[int, whole(1, 1024)] = 1
    tables: Flag = False
    lifetime: Annotated[str, one_of(lambda: ("fixture", "table"), "lifetime")] = "fixture"
    warm: Flag = False
    state: Annotated[str, matching(r"(?!bot\.toml$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "name of one file")] = ""
    state_lifetime: Annotated[str, one_of(lambda: ("fixture", "stage"), "lifetime of a state")] = "fixture"
    limits: Asked = Asked()


# What may lie in a bot's folder.


SPECIAL = {
    stat.S_IFLNK: "is a link",
    stat.S_IFIFO: "is a FIFO",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}
TAKEN = "a bot is made of regular files: no links, no devices, no odd names"


def odd(path: str) -> bool:
    """Return whether a name could be mistaken for an option or a command, or cannot be printed."""
    parts = PurePosixPath(path).parts
    return not path.isprintable() or any(c in path for c in "\"'\\`") or any(part[0] in "-@" for part in parts)


class Contents:
    """The regular files of a folder and their modes, looked at without following or opening anything special."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modes: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._room, self._left = LARGEST_FOLDER, MOST_FILES
        try:
            self._look(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC), "", 0)
        except OSError as error:
            self._refuse("", f"cannot be looked at: {error.strerror}")
        self.names = tuple(sorted(self.modes))

    def _look(self, at: int, inside: str, depth: int) -> None:
        folders = []
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.name in LEFT_OUT:
                        continue
                    self._left -= 1
                    if self._left < 0 or len(self.problems) >= 20:
                        break
                    status = os.stat(entry.name, dir_fd=at, follow_symlinks=False)
                    path = inside + entry.name
                    if odd(path):
                        self._refuse(path, "has a name that no file of a bot may have")
                    elif stat.S_ISDIR(status.st_mode):
                        folders.append(entry.name)
                    else:
                        self._file(path, status)
            for name in folders:
                if depth == DEEPEST:
                    self._refuse(inside + name, f"is more than {DEEPEST} folders deep")
                elif self._left >= 0:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                    self._look(os.open(name, flags, dir_fd=at), f"{inside}{name}/", depth + 1)
        except OSError as error:
            self._refuse(inside, f"cannot be looked at: {error.strerror}")
        finally:
            os.close(at)
        if depth == 0 and self._left < 0:
            self._refuse("", f"has more than {MOST_FILES} files")

    def _file(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse(path, SPECIAL.get(stat.S_IFMT(status.st_mode), "is no regular file"))
        elif status.st_size > LARGEST_FILE:
            self._refuse(path, f"is larger than {LARGEST_FILE // MIB} MiB")
        elif status.st_size > self._room:
            self._refuse(path, f"makes the folder larger than {LARGEST_FOLDER // MIB} MiB")
        else:
            self._room -= status.st_size
            self.modes[path] = status.st_mode

    def _refuse(self, path: str, why: str) -> None:
        self.problems.append(Problem("B016", self.where(path), why, hint=TAKEN))

    def where(self, path: str) -> str:
        """Return a file's name for messages."""
        return shown(self.folder / path)

    def start_of(self, path: str, most: int = 4096) -> bytes:
        """Return the first bytes of one of the files; none when it has gone, or become a link."""
        try:
            descriptor = os.open(self.folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""

    def has(self) -> str:
        """Return the list of files for a message."""
        names = ", ".join(map(escaped, self.names[:8])) or "nothing"
        return f"{self.where('')} has: {names}" + (", …" if len(self.names) > 8 else "")


class _Lone(Contents):
    """A bot that is one file: its folder may have others, which are not its own."""

    def __init__(self, path: Path, status: os.stat_result) -> None:
        self.folder, self.modes, self.problems, self._room = path.parent, {}, [], LARGEST_FOLDER
        if odd(path.name):
            self._refuse(path.name, "has a name that no file of a bot may have")
        else:
            self._file(path.name, status)
        self.names = tuple(self.modes)


# Finding bots.


HOUSE_LIMITS = Limits()


def find(path: Path, granted: Limits = HOUSE_LIMITS) -> Spec:
    """Return the bot that a file or folder is, its limits at most those granted.

    Raise Refused with everything that is wrong: exit code 2 when nothing is there, 3 for its bot.toml, 4 for its files.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    try:
        status = path.lstat()
    except OSError as error:
        near = nearest(path.name, (each.name for each in path.parent.glob("*"))) if path.parent.is_dir() else ""
        hint = shown(path.with_name(near)) if near else "a bot is named by a file, a folder, or sample:NAME"
        raise Refused([Problem("C012", shown(path), f"no bot is here: {error.strerror}", hint=hint)], 2) from None
    if stat.S_ISDIR(status.st_mode):
        return _from_folder(path, Contents(path), granted)
    contents = _Lone(path, status)
    _refuse_if(contents.problems)
    return _from_file(path, contents, granted)


class Entry(NamedTuple):
    """A bot that has been entered: what it is, or what is wrong with it."""

    place: Path
    spec: Spec | None
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """What it is called, as far as anybody can tell."""
        if self.spec:
            return self.spec.name
        return self.place.name if self.place.is_dir() else self.place.stem


def entries(patterns: Sequence[str], base: Path, game: str = "", granted: Limits = HOUSE_LIMITS) -> list[Entry]:
    """Return what patterns mean, each once, in the order of the patterns, with whatever is wrong with any of them."""
    found = [_entered(place, game, granted) for place in bots_at(patterns, base, game)]
    for name, count in Counter(entry.spec.name for entry in found if entry.spec).items():
        if count > 1:
            twins = [entry for entry in found if entry.spec and entry.spec.name == name]
            at = ", ".join(_place(twin.spec) for twin in twins if twin.spec)
            told = f"{count_word(count)} bots are called {spelled(name)}: {at}"
            problem = Problem("C003", "", told, hint="name = … in bot.toml")
            found = [
                entry._replace(problems=(*entry.problems, problem)) if entry in twins else entry for entry in found
            ]
    return found


def _entered(place: Path, game: str, granted: Limits) -> Entry:
    try:
        spec = find(place, granted)
    except Refused as refused:
        return Entry(place, None, tuple(refused.problems))
    if game and spec.game not in ("", game):
        problem = Problem("C015", spec.manifest, f"{spec.name} plays {spec.game}, and this is {game}")
        return Entry(place, spec, (problem._replace(hint=f'game = "{game}", or take it out of `bots`'),))
    return Entry(place, spec)


def refuse_broken(entered: Sequence[Entry]) -> None:
    """Raise Refused with everything that is wrong, each once."""
    _refuse_if(list(dict.fromkeys(problem for entry in entered for problem in entry.problems)))


def find_all(patterns: Sequence[str], base: Path, game: str = "", granted: Limits = HOUSE_LIMITS) -> list[Spec]:
    """Return the bots that patterns mean, each once, in the order of the patterns; raise Refused with every problem."""
    found = entries(patterns, base, game, granted)
    refuse_broken(found)
    return [entry.spec for entry in found if entry.spec]


def count_word(count: int) -> str:
    """Return a small number in words."""
    return {2: "two", 3: "three", 4: "four"}.get(count, str(count))


def bots_at(patterns: Sequence[str], base: Path, game: str = "") -> list[Path]:
    """Return the files and folders that patterns mean, each once: globs from `base`, and `sample:NAME`.

    Hidden files and READMEs are no bots. Raise Refused for a name that means nothing; a pattern may mean nothing.
    """
    found: dict[Path, None] = {}
    problems = []
    for pattern in patterns:
        try:
            found |= dict.fromkeys(_matches(pattern, base, game))
        except Refused as refused:
            problems += refused.problems
    if problems:
        raise Refused(problems, 3)
    return list(found)


def _matches(pattern: str, base: Path, game: str) -> list[Path]:
    if pattern.startswith(PREFIX):
        name = pattern.removeprefix(PREFIX)
        if glob.has_magic(name):
            return [place for known, place in samples(game).items() if fnmatchcase(known, name)]
        return [sample(name, game)]
    if not glob.has_magic(pattern):
        place = base / pattern
        if not os.path.lexists(place):
            near = nearest(place.name, (each.name for each in place.parent.glob("*")))
            hint = str(PurePosixPath(pattern).with_name(near)) if near else f"nothing of that name is in {shown(base)}"
            raise Refused([Problem("C012", "", f"{spelled(pattern)} is no bot", hint=hint)], 3)
        return [Path(os.path.abspath(place))]  # noqa: PTH100 - Path.resolve would follow links
    names = sorted(glob.glob(pattern, root_dir=base, recursive=True))  # noqa: PTH207 - takes absolute patterns too
    return [
        Path(os.path.abspath(base / name))  # noqa: PTH100
        for name in names
        if not Path(name).name.startswith(("README", "__")) and Path(name).suffix != ".md"
    ]


def named_apart(specs: Sequence[Spec]) -> list[Spec]:
    """Return the bots with names of their own: the second of one name is called `name#2`."""
    seen: Counter[str] = Counter()
    apart = []
    for spec in specs:
        seen[spec.name] += 1
        number = seen[spec.name]
        apart.append(spec if number == 1 else spec._replace(name=f"{spec.name}#{number}"))
    return apart


def _place(spec: Spec) -> str:
    return shown(spec.folder if spec.manifest or len(spec.files) != 1 else spec.folder / spec.files[0])


def _refuse_if(problems: Sequence[Problem]) -> None:
    if problems:
        raise Refused(list(problems), 3 if any(problem.code[0] == "C" for problem in problems) else 4)


def _name(path: Path, name: str) -> list[Problem]:
    try:
        bot_name(name)
    except Wrong as wrong:
        hint = 'rename it, or name = "…" in a bot.toml'
        return [Problem("C009", shown(path), f"the bot's name {spelled(name)} {wrong.message}", hint=hint)]
    return []


def _from_file(path: Path, contents: Contents, granted: Limits) -> Spec:
    from host.bots.languages import LANGUAGES

    language = next((row.name for row in LANGUAGES.values() if path.suffix in row.suffixes), "any")
    problems = _name(path, path.stem)
    if language == "any":
        problems += program_problems(contents, path.name)
    if language == "python":
        problems += python_problems(contents, path.name)
    _refuse_if(problems)
    scripted = language in (*SCRIPTS, "any")
    return Spec(
        path.stem,
        path.parent,
        (path.name,),
        language,
        entry=path.name if scripted else "",
        sources=() if scripted else (path.name,),
        limits=granted,
    )


def _from_folder(folder: Path, contents: Contents, granted: Limits) -> Spec:
    toml = Toml(contents.where(""), {}, {})
    said = Manifest()
    if MANIFEST in contents.modes:
        try:
            toml = read_guest(folder / MANIFEST)
            said = validated(toml, Manifest)
        except Refused as refused:
            raise Refused([*refused.problems, *contents.problems], 3) from None
    _refuse_if(contents.problems)
    problems = [] if said.name else _name(folder, folder.name)
    language, unclear = _language(contents, said, toml)
    problems += unclear
    sources, entry = said.sources, said.entry
    if language and not unclear:
        if not sources and language not in (*SCRIPTS, "any"):
            sources = tuple(_of_language(contents, language))
        if not entry and not said.run and language in (*SCRIPTS, "any"):
            entry, unclear = _entry(contents, said, language, toml)
            problems += unclear
        problems += _missing(contents, said, toml)
        problems += _contradictions(said, language, toml)
        if language == "any" or (said.run and not said.build):
            problems += _run_problems(contents, said, entry, toml)
        if language == "python" and entry in contents.modes and not said.python.lstrip(">= ").startswith("2"):
            problems += python_problems(contents, entry)
        if not (sources or entry or said.run or said.build or problems):
            needed = f"has no source file of {language}"
            problems.append(Problem("B014", contents.where(""), needed, contents.has(), 'sources = ["…"] in bot.toml'))
    problems += _too_much(said, granted, toml)
    _refuse_if(problems)
    return Spec(
        name=said.name or folder.name,
        folder=folder,
        files=contents.names,
        language=language,
        author=said.author,
        game=said.game or (adapter.game if (adapter := adapter_of(said)) else ""),
        protocol=said.protocol,
        sources=sources,
        entry=entry,
        main=said.main,
        run=said.run,
        build=said.build,
        compiler=said.compiler,
        adapter=said.adapter,
        heap=said.heap,
        python=said.python,
        requires=said.requires,
        env=tuple(said.env.items()),
        needs=said.needs,
        abreast=said.abreast,
        tables=said.tables,
        lifetime=said.lifetime,
        warm=said.warm,
        state=said.state,
        state_lifetime=said.state_lifetime,
        limits=said.limits.over(granted).at_most(granted),
        manifest=toml.name if MANIFEST in contents.modes else "",
    )


# What a folder does not say, and must not say.


def _of_language(contents: Contents, language: str) -> list[str]:
    from host.bots.languages import LANGUAGES

    row = LANGUAGES[language]
    return [name for name in contents.names if PurePosixPath(name).suffix in (*row.sources, *row.suffixes)]


def _language(contents: Contents, said: Manifest, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the language of a folder: what it says, else the only one it has sources of."""
    if said.language or said.run or said.adapter:
        adapter = adapter_of(said)
        return said.language or (adapter.language if adapter else "any"), []
    mine = [name for name in _languages() if name != "any" and _of_language(contents, name)]
    if named := [name for name in mine if {said.entry, *said.sources} & set(_of_language(contents, name))]:
        mine = named
    if len(mine) > 1:
        which = f"has sources of {' and '.join(mine)}: which is the bot?"
        return "", [Problem("B014", contents.where(""), which, contents.has(), f'language = "{mine[0]}" in bot.toml')]
    return (mine[0] if mine else "any"), []


def _entry(contents: Contents, said: Manifest, language: str, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the script or program that is run when bot.toml does not name it: the only one, or the one called so."""
    top = [name for name in contents.names if "/" not in name and name != MANIFEST]
    if language == "any":
        choice = [name for name in top if runnable(contents.start_of(name))] or (top if len(top) == 1 else [])
        wanted = f'run = ["./{choice[0]}"]' if choice else 'run = ["./…"], or language = "…"'
    else:
        choice = [name for name in top if name in _of_language(contents, language)]
        wanted = f'entry = "{choice[0]}"' if choice else 'entry = "…"'
    if len(choice) == 1:
        return choice[0], []
    usual = ("bot", "main", contents.folder.name, "turn")
    if language != "any" and (known := [name for name in choice if PurePosixPath(name).stem in usual]):
        return min(known, key=lambda name: usual.index(PurePosixPath(name).stem)), []
    what = "program" if language == "any" else f"{language} file"
    told = f"has several: which {what} is the bot?" if choice else f"has no {what} to run"
    if language == "any" and not choice and not toml.data:
        told = "has no source file of a language that is known, and no program"
    return "", [Problem("B014", toml.name, told, contents.has(), f"{wanted} in bot.toml")]


def _missing(contents: Contents, said: Manifest, toml: Toml) -> list[Problem]:
    """Return the files that a manifest names and the folder lacks; what its own commands make need not be there."""
    if said.build:
        return []
    named = [(("sources", number), name) for number, name in enumerate(said.sources)]
    named += [(("entry",), said.entry)] if said.entry else []  # type: ignore[list-item]
    return [
        Problem("B008", toml.where(*key), f"{key[0]}: no file {spelled(name)}", contents.has(), _meant(name, contents))
        for key, name in named
        if name not in contents.modes
    ]


def _meant(name: str, contents: Contents) -> str:
    near = nearest(name, contents.names)
    return f'did you mean "{near}"?' if near else "paths are relative to the folder of bot.toml"


def _contradictions(said: Manifest, language: str, toml: Toml) -> list[Problem]:
    problems = []

    def against(key: str, message: str, hint: str) -> None:
        value = toml.data.get(key)
        problems.append(Problem("C013", toml.where(key), f"{key} = {spelled(value)} {message}", hint=hint))

    for key, languages in ONLY_FOR.items():
        if key in toml.data and language not in languages:
            against(key, f"means nothing to a bot in {language}", f"it is for {' and '.join(languages)}")
    if adapter := adapter_of(said):
        for key in ("game", "language", "protocol"):
            if getattr(said, key) not in ("", right := getattr(adapter, key)):
                against(key, f'does not go with adapter = "{adapter.name}"', f'{key} = "{right}", or no {key}')
        if said.tables:
            against("tables", f'does not go with adapter = "{adapter.name}"', "take it out")
    protocol = (
        adapter.protocol if adapter else said.protocol or (GAMES[said.game].protocol if said.game in GAMES else "")
    )
    if protocol == "argv":
        for key, given in (
            ("tables", said.tables),
            ("abreast", said.abreast > 1),
            ("lifetime", "lifetime" in toml.data),
        ):
            if given:
                against(key, "means nothing by argv, which starts a process per question", 'protocol = "lines"')
    if said.state_lifetime == "stage" and not said.state:
        against("state_lifetime", "keeps a file that bot.toml does not name", 'state = "memory.bin"')
    return problems


def _too_much(said: Manifest, granted: Limits, toml: Toml) -> list[Problem]:
    """Return what a bot asks for beyond what it is granted."""
    problems = []
    for key, asked in said.limits.said().items():
        most = getattr(granted, key)
        if asked > most:
            least = str(most) if key in COUNTED else f'"{spelled_limit(most)}"'
            message = f"{key} = {spelled(toml.data['limits'][key])} is more than the {least.strip(chr(34))} granted"
            hint = f"{key} = {least} or less; more is the organiser's to give, to everybody"
            problems.append(Problem("C014", toml.where("limits", key), message, hint=hint))
    memory = said.limits.over(granted).memory
    if said.heap > memory:
        message = f"heap = {spelled(toml.data['heap'])} is more than the memory limit of {spelled_limit(memory)}"
        problems.append(Problem("C013", toml.where("heap"), message, hint=f'heap = "{spelled_limit(memory // 4)}"'))
    return problems


# Whether a program can be run, before anybody tries.


def runnable(start: bytes) -> bool:
    """Return whether a file that starts so is a program: a binary, or a script that names its interpreter."""
    return start.startswith((b"#!", b"\x7fELF"))


def _run_problems(contents: Contents, said: Manifest, entry: str, toml: Toml) -> list[Problem]:
    """Return what is wrong with the program of a bot of no known language."""
    first = said.run[0] if said.run else entry
    if said.build or (said.run and "/" not in first) or not first:
        return []  # made later, or looked for among the system's programs
    if first.startswith("/"):
        if Path(first).exists():
            return []
    else:
        name = str(PurePosixPath(first))
        if name in contents.modes:
            return program_problems(contents, name)
        if not said.run:
            return []  # an entry that is missing has been named
    message = f"run = {spelled(said.run)}: no such file"
    return [Problem("B001", toml.where("run"), message, contents.has(), _how_to_run(first, contents))]


def _how_to_run(first: str, contents: Contents) -> str:
    """Return what the author of a `run` that names nothing probably wants to write."""
    mine, wanted = [name for name in contents.names if name != MANIFEST], PurePosixPath(first).name
    stems = [name for name in mine if PurePosixPath(name).stem.lower() == wanted.lower()]
    if near := stems[0] if stems else nearest(wanted, mine):
        language = next((name for name in _languages() if near in _of_language(contents, name)), "")
        build = next((name for name in contents.names if name in ("build.sh", "make.sh", "Makefile")), "")
        if not language:
            return f'did you mean  run = ["./{near}"] ?'
        if not build:
            return f'did you mean  language = "{language}"  in the place of run?'
    for name, command in (("build.sh", "sh build.sh"), ("make.sh", "sh make.sh"), ("Makefile", "make")):
        if name in contents.modes:
            return f'did you mean  build = ["{command}"] ?'
    return "run names a file of this folder, ./NAME, or a program of the system"


def program_problems(contents: Contents, name: str) -> list[Problem]:
    """Return what keeps the kernel from running a file: its mode, its first line, or the interpreter that this names."""
    where, start = contents.where(name), contents.start_of(name)
    if not runnable(start):
        line = start.partition(b"\n")
        first = repr((line[0] + line[1])[:40].decode(errors="backslashreplace"))
        python = re.match(rb"(import|from|def|class|print|if|#.*python)\b", start)
        message = "the kernel cannot run this file (Exec format error): no '#!' line, not a binary"
        hint = 'put  #!/usr/bin/env python3  in line 1, or set language = "python"'
        if not python:
            hint = "put  #! and its interpreter  in line 1, or give it the suffix of its language"
        return [Problem("B003", where, message, f"first bytes: {first}" if start else "it is empty", hint)]
    problems = []
    if not contents.modes[name] & 0o111:
        mode = f"{stat.S_IMODE(contents.modes[name]):04o}"
        hint = f"chmod +x {where}     (or `croupier check --fix {where}`)"
        problems.append(Problem("B002", where, f"is not executable (mode {mode})", hint=hint))
    if start.startswith(b"#!"):
        problems += _shebang_problems(contents, name, start.partition(b"\n")[0][2:].decode(errors="replace"))
    return problems


VISIBLE = ("/usr/", "/bin/", "/sbin/", "/lib")
"""Where programs lie that a sandbox can see."""


def _shebang_problems(contents: Contents, name: str, line: str) -> list[Problem]:
    from host.bots.languages import PATH

    where = contents.where(name)
    words = line.rstrip("\r").split()
    interpreter = words[0] if words else ""
    asked = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    by_env = PurePosixPath(interpreter).name == "env" and bool(asked)
    if line.endswith("\r"):
        sought = asked[0] if by_env else interpreter
        hint = rf"sed -i 's/\r$//' {where}  (or --fix)"
        return [
            Problem("B005", where, f'line 1 ends with CR LF: the system looks for "{escaped(sought)}\\r"', hint=hint)
        ]
    shown_line = f"line 1: #!{escaped(line)}"
    if by_env and interpreter.startswith("/") and Path(interpreter).exists():
        if shutil.which(asked[0], path=PATH):
            return []
        message = f"{escaped(interpreter)}: '{escaped(asked[0])}': No such file or directory  (exit 127)"
        hint = f"it is not on {PATH}; change line 1, or say  needs  and have it installed"
        if asked[0] in ("python", "python2") and shutil.which("python3", path=PATH):
            hint = 'this system has python3 only; change line 1, or language = "python" in bot.toml'
        return [Problem("B007", f"{where}:1", message, shown_line, hint)]
    if interpreter.startswith(VISIBLE) and Path(interpreter).exists():
        return []
    if not interpreter.startswith("/") and str(PurePosixPath(interpreter)) in contents.modes:
        return []
    base = PurePosixPath(interpreter).name
    better = shutil.which(base, path=PATH) if base else None
    hint = "#!/usr/bin/env python3" if base.startswith("python") else f"#!{better or '/bin/sh'}"
    message = f"exists, but its interpreter {escaped(interpreter)} does not"
    if interpreter.startswith("/") and Path(interpreter).exists():
        message = (
            f"its interpreter {escaped(interpreter)} does not exist inside a sandbox, which has /usr and /bin only"
        )
    return [Problem("B004", where, message, shown_line, hint)]


COMPILED = """
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
warnings.simplefilter("ignore")
try:
    compile(sys.stdin.buffer.read(), "bot", "exec", dont_inherit=True)
except SyntaxError as error:
    print(json.dumps([type(error).__name__, str(error.msg), error.lineno or 1, error.text or ""]))
except ValueError as error:
    print(json.dumps(["SyntaxError", str(error), 1, ""]))
"""
"""Compiles a guest's source in a process of its own, since a compiler can be made to crash or to eat memory."""

PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized|leading zeros in decimal"
)
PYTHON_2_LINE = re.compile(r"<>|`|\b[0-9]+[lL]\b|^\s*raise\s+\w+\s*,|^\s*(print|exec)\s+[\"'\w]|\bur[\"']")


def python_problems(contents: Contents, name: str) -> list[Problem]:
    """Return what keeps Python from compiling a bot: that it is Python 2, or a slip."""
    from host.bots.languages import PATH

    python = shutil.which("python3", path=PATH)
    if python is None:
        return []  # that it is missing is said where it is needed
    root = os.geteuid() == 0
    uid, gid = places.sandbox_user()
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-B", "-c", COMPILED],
            input=contents.start_of(name, LARGEST_FILE),
            capture_output=True,
            cwd="/",
            env={},
            timeout=10,
            user=uid if root else None,
            group=gid if root else None,
            extra_groups=[] if root else None,
        )
        kind, said, line, text = json.loads(done.stdout[:10_000])
    except (subprocess.SubprocessError, OSError, ValueError):
        return []  # it compiles, or cannot be looked at so: then its first question will tell
    where, text = f"{contents.where(name)}:{line}", escaped(text.strip())[:80]
    words = f"{kind}: {escaped(said.partition('. Did you mean')[0])}"
    if not (PYTHON_2.search(said) or PYTHON_2_LINE.search(text)):
        return [Problem("B015", where, words, text, f"python3 -m py_compile {contents.where(name)}")]
    printed = re.match(r"print\s+(.+)", text)
    change = f"change to print({printed[1]})" if printed else "mend it for Python 3"
    hint = f'python3 -m lib2to3 is gone from 3.13; {change}, or set python = "2.7" if you have it'
    return [Problem("B006", where, f"is Python 2:  {text}", words, hint)]
