"""Referees that were written for another host: `adapter = "brutaltester"` in game.toml, or `game = "brutaltester:…"`.

croupier starts an adapter (sample_bots/adapters/referee) in the sandbox of such a referee. The adapter speaks referee/1
with croupier, and starts and asks the processes of the referee. This module has the keys of game.toml that follow from
the host, and makes a game.toml for a referee that has none.
"""

import hashlib
import re
import shlex
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from host.base import paths
from host.base.errors import Problem, UserError, closest_match
from host.base.paths import display_path
from host.base.safe_text import one_line
from host.base.toml_file import Toml, to_toml, whole_toml
from host.base.value_types import InvalidValue

OPTIONS: Mapping[str, type] = {"seed": bool, "reuse": bool, "fault": str, "keep_running": bool, "scale": int}
"""The types of the options of an adapter, by name in the table `adapter` of game.toml."""

PATIENCE = "20 s"  # a process is started for each table, and a JVM with its libraries takes seconds on a busy machine
LIMITS: Mapping[str, Any] = {"memory": "2 GiB", "tasks": 512}

MAX_SCALE = 10**9
MAX_FAULT_CHARS = 200
MAX_FILES = 1000  # most files of the program that a short name such as `brutaltester:COMMAND` means


class ForeignHost(NamedTuple):
    """Host for which referees are written."""

    name: str
    options: tuple[str, ...]  # names of the options that its adapter takes
    defaults: Mapping[str, Any]  # values of keys of game.toml
    jar: str = "java -jar {}"  # the command that runs a jar


TEXT: Mapping[str, Any] = {
    "view": ["text: lines", "lines: answer lines"],
    "answer": "<answer: lines>",
    "protocol": "block",
    "edges": {"one line": {"text": "1\n", "lines": 1}},
}
JSON: Mapping[str, Any] = {
    "view": ["request: json"],
    "answer": "<response: json>",
    "protocol": "botzone",
    "edges": {"an empty request": {"request": "{}"}},
}

HOSTS: Mapping[str, ForeignHost] = {
    row.name: row
    for row in (
        ForeignHost("brutaltester", ("seed", "reuse", "fault"), TEXT),
        ForeignHost(
            "codingame",
            ("seed",),
            TEXT,
            "java -Dgame.mode=multi --add-opens java.base/java.lang=ALL-UNNAMED "
            "-cp {} com.codingame.gameengine.core.RefereeMain",
        ),
        ForeignHost("botzone", ("seed", "keep_running", "scale"), JSON),
    )
}


class ForeignAdapter(NamedTuple):
    """Adapter that a game.toml names: a host, and the options that are set."""

    host: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the adapter's command line: the host, then the options."""
        words = [self.host]
        for name, value in self.options:
            flag = f"--{name.replace('_', '-')}"
            if name == "seed":
                words += [] if value else ["--no-seed"]
            elif isinstance(value, bool):
                words += [flag] if value else []
            else:
                words += [f"{flag}={value}"]
        return tuple(words)


def read_adapter(value: Any) -> ForeignAdapter | None:
    """Parse the key `adapter` of a game.toml: the name of a host, or a table with `host` and options.

    Raise InvalidValue if it is wrong.
    """
    example = f'adapter = "{next(iter(HOSTS))}", or adapter = {{ host = "{next(iter(HOSTS))}", seed = false }}'
    table: Any = {"host": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or not isinstance(table.get("host"), str):
        raise InvalidValue("C006", "is not the name of a host", example)
    name = table["host"]
    if name not in HOSTS:
        raise InvalidValue(
            "C008", f"names an unknown host {to_toml(name)}", closest_match(name, HOSTS) or ", ".join(HOSTS)
        )
    options: dict[str, Any] = {option: given for option, given in table.items() if option != "host"}
    for option, given in options.items():
        if option not in HOSTS[name].options:
            raise InvalidValue("C001", f"has an unknown option {option}", f"one of {', '.join(HOSTS[name].options)}")
        if type(given) is not OPTIONS[option]:
            raise InvalidValue("C006", f"has an option {option} of a wrong type", example)
        if isinstance(given, int) and not 0 <= given <= MAX_SCALE:
            raise InvalidValue("C009", f"has {option} = {given}, out of range", f"scale = 100; at most {MAX_SCALE}")
        if isinstance(given, str) and not re.fullmatch(rf"[ -~]{{0,{MAX_FAULT_CHARS}}}", given):
            raise InvalidValue("C009", f"has {option} that is not a line of ASCII", 'fault = "WAIT"')
    return ForeignAdapter(name, tuple(options.items()))


def completed(toml: Toml) -> Toml:
    """Add to a game.toml the default values that follow from its adapter. Without an adapter, return it unchanged."""
    adapter = toml.data.get("adapter")
    name = adapter.get("host") if isinstance(adapter, dict) else adapter
    host = HOSTS.get(name) if isinstance(name, str) else None
    if host is None:
        return toml
    limits = toml.data.get("limits", {})
    data = {"patience": PATIENCE, **host.defaults, **toml.data}
    return toml._replace(data=data | {"limits": {**LIMITS, **limits} if isinstance(limits, dict) else limits})


def has_edges(toml: Toml) -> bool:
    """Return whether a game.toml has its own edge cases, and not the default ones of its adapter."""
    return not any(toml.data.get("edges") is host.defaults["edges"] for host in HOSTS.values())


# The short names.


def is_foreign(game: str) -> bool:
    """Return whether the name of a game is the short name of a referee for another host, as in `botzone:judge/`."""
    return game.partition(":")[0] in HOSTS and ":" in game


def game_folder(game: str, folder: Path, where: str) -> Path:
    """Return a folder with a game.toml for `botzone:judge/`, `codingame:game.jar` or `brutaltester:java Referee`.

    The result is a copy in the cache, named after its contents. `game` is the name of the game, and `folder` is the
    folder of croupier.toml. `where` is the place in croupier.toml that a problem names. If the named file does not exist,
    the copy lacks it: a journal can be read without it.

    Raise UserError (exit code 3) if the name means no file, folder or command, or more than MAX_FILES files.
    """
    name, _, program = game.partition(":")
    host, program = HOSTS[name], program.strip()
    named, called, run = folder / program, program, list[str]()
    if program and named.is_dir():
        files = _files(named, deep=True)
    elif named.is_file() or (named.suffix and " " not in program):
        files = {path.name: _file(path) for path in (named, folder / "game.toml") if path.is_file()}
        run = [word.format(named.name) for word in host.jar.split()] if named.suffix == ".jar" else []
    elif " " in program and (run := _words(program)):
        files, called = _files(folder, deep=False), run[-1]
    else:
        message = f"{one_line(program) or 'nothing'} is not a file or a folder"
        message = message if where == game else f'game = "{one_line(game)}": {message}'
        hint = f'beside croupier.toml; or a command: game = "{name}:./referee --option"'
        raise UserError([Problem("C018", where, message, hint=hint)], 3)
    text = files["game.toml"].content.decode(errors="replace") if "game.toml" in files else ""
    head = [] if re.search(r"(?m)^adapter\b", text) else [f'adapter = "{name}"']
    if not re.search(r"(?m)^name\b", text):
        head += [f'name = "{_game_name(called, name)}"']
    if not re.search(r"(?m)^seats\b", text):
        head += ["seats = 2"]
    if run and not re.search(r"(?m)^run\b", text):
        head += [f"run = {whole_toml(run)}"]
    files["game.toml"] = _File("\n".join([*head, text]).encode())
    return _stored(files)


class _File(NamedTuple):
    """A file of a referee's program: its content and its permissions."""

    content: bytes
    mode: int = 0o644


def _file(path: Path) -> _File:
    return _File(path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)


def _files(folder: Path, *, deep: bool) -> dict[str, _File]:
    """Return the files of a folder, by relative path; with `deep`, also those of its subfolders.

    Leave out links, hidden files and croupier.toml. Raise UserError (exit code 3) if there are more than MAX_FILES.
    """
    found = sorted(folder.rglob("*") if deep else folder.iterdir())
    plain = [path for path in found if path.is_file() and not path.is_symlink()]
    shown = [path for path in plain if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    kept = [path for path in shown if path.name != "croupier.toml"]
    if len(kept) > MAX_FILES:
        message = f"{len(kept)} files; the program of a game has at most {MAX_FILES}"
        raise UserError([Problem("C018", display_path(folder), message, hint="a folder with the program alone")], 3)
    return {str(path.relative_to(folder)): _file(path) for path in kept}


def _words(command: str) -> list[str]:
    """Return the words of a command; none if a quotation mark is not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _game_name(program: str, host: str) -> str:
    """Return a name for a game, made from the name of its folder or file, or from the last word of its command."""
    stem = Path(program).name.partition(".")[0].lower()
    name = re.sub("[^a-z0-9]+", "_", stem).strip("_")[:40]
    return name if re.match("[a-z]", name) else f"{host}_{name}".rstrip("_")


def _stored(files: Mapping[str, _File]) -> Path:
    """Write files to a folder in the cache that is named after their contents, unless it exists. Return the folder."""
    what = hashlib.sha256()
    for name, file in sorted(files.items()):
        what.update(f"{name}\0{file.mode}\0{len(file.content)}\0".encode(errors="surrogateescape") + file.content)
    target = paths.cache_dir() / "games" / what.hexdigest()[:32]
    if not target.is_dir():
        target.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            copied = Path(made) / "copied"
            for name, file in files.items():
                path = copied / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content)
                path.chmod(file.mode)
            with suppress(OSError):  # another process has made the folder
                copied.rename(target)
    return target
