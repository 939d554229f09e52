"""Imports the Python modules that an organiser has written beside croupier.toml.

One process can load two tournaments that have modules of the same name. Therefore the modules of each folder belong to
a separate package, named after the path of the folder, and import each other from it.
"""

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, resolve_name
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

MODULE_PREFIX = "own_code_"
OURS = frozenset({"host", "protocols", "__main__"})
"""Packages that never belong to a tournament, even if its folder is inside a clone of croupier."""


@cache
def _package(folder: str) -> ModuleType:
    """Return the package that contains the modules of a folder."""
    package = ModuleType(MODULE_PREFIX + sha256(folder.encode()).hexdigest()[:20])
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    return package


def import_from(folder: str, name: str) -> ModuleType:
    """Import a module from the folder; if it is not there, from the places where Python searches.

    Raise ImportError if there is no such module.
    """
    return _load(folder, name) if _is_in(folder, name.partition(".")[0]) else importlib.import_module(name)


def files_of(folder: str) -> list[Path]:
    """Return the source files of the modules that were imported from a folder, sorted.

    Of a package, return all files except caches and hidden ones.
    """
    found, package = set[Path](), _package(folder)
    for name, module in list(sys.modules.items()):
        if not name.startswith(f"{package.__name__}."):
            continue
        for inner in getattr(module, "__path__", ()):
            names = (path.relative_to(inner) for path in Path(inner).rglob("*") if path.is_file())
            found |= {Path(inner, name) for name in names if not any(map(_left_out, name.parts))}
        if module.__file__ is not None:
            found.add(Path(module.__file__))
    return sorted(found)


def _left_out(name: str) -> bool:
    """Return whether a file or a folder of a package is left out: a cache or hidden, for example `.git` or `.env`."""
    return name.startswith(".") or name == "__pycache__"


def line_of(error: BaseException | None) -> tuple[Path, int] | None:
    """Return the file and the line of the organiser's code that raised an exception, or one of its causes.

    Return None if no organiser's code took part.
    """
    while error is not None:
        frames = [*walk_tb(error.__traceback__)]
        for frame, number in reversed(frames):
            if str(frame.f_globals.get("__name__")).startswith(MODULE_PREFIX):
                return Path(frame.f_code.co_filename), number
        error = error.__cause__
    return None


def _is_in(folder: str, top: str) -> bool:
    """Return whether a folder contains the module or package `top`.

    A folder without `__init__.py` counts as a package only if Python finds no other module of that name.
    """
    if top in OURS:
        return False
    spec = PathFinder.find_spec(top, [folder])
    return spec is not None and (spec.origin is not None or find_spec(top) is None)


def _load(folder: str, name: str) -> ModuleType:
    """Return a module of a folder. Import it and the packages that contain it, unless they are imported already."""
    module = _package(folder)
    for part in name.split("."):
        whole = f"{module.__name__}.{part}"
        if whole not in sys.modules:
            setattr(module, part, _executed(folder, whole, module))
        module = sys.modules[whole]
    return module


def _executed(folder: str, whole: str, parent: ModuleType) -> ModuleType:
    spec = PathFinder.find_spec(whole, getattr(parent, "__path__", []))
    if spec is None:
        raise ModuleNotFoundError(f"No module named {whole.partition('.')[2]!r}")
    module = sys.modules[whole] = module_from_spec(spec)
    vars(module)["__builtins__"] = vars(builtins) | {"__import__": partial(_import, folder)}
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[whole]
        raise
    return module


def _import(
    folder: str,
    name: str,
    caller: Mapping[str, Any] | None = None,
    local: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import for a module of the folder, in place of Python's `__import__`: modules of the same folder come first.

    The arguments after `folder` and the result are those of `__import__`.
    """
    if level:
        package = str((caller or {}).get("__package__") or "")
        name = resolve_name("." * level + name, package).partition(".")[2]
    elif not _is_in(folder, name.partition(".")[0]):
        return builtins.__import__(name, caller, local, names or (), 0)
    if not names:
        _load(folder, name)
        return _load(folder, name.partition(".")[0])
    module = _load(folder, name) if name else _package(folder)
    for each in names:
        if not hasattr(module, each) and PathFinder.find_spec(each, getattr(module, "__path__", [])):
            _load(folder, f"{name}.{each}".lstrip("."))
    return module
