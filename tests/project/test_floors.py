"""Imports go down only, and the two lowest packages use no clock, no process and no randomness."""

import ast
import importlib
import re
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from helpers import offenders

ROOT = Path(__file__).parents[2]
FLOORS = [
    {"protocols"},
    {"host", "host.base"},
    {"host.games"},
    {"host.sandbox"},
    {"host.bots.bot_spec"},
    {"host.rules"},
    {"host.relay"},
    {"host.bots"},
    {"host.play"},
    {"host.referees"},
    {"host.submissions"},
    {"host.rating"},
    {"host.stages"},
    {"host.journal"},
    {"host.results"},
    {"host.config"},
    {"host.tournament"},
    {"host.inspect", "host.backends"},
    {"host.report"},
    {"host.web", "host.ops"},
    {"host.cli"},
    {"host.season.season_config"},
    {"host.season.entries"},
    {"host.season.documents", "host.season.folder"},
    {"host.season.site_database"},
    {"host.season.intake"},
    {"host.season.rounds"},
    {"host.season"},
    {"host.season.site"},
    {"host.season.commands"},
    {"host.__main__", "croupier"},
]
"""From the lowest up. Modules on one floor do not import each other; a package stands for all its modules."""

PURE = ("protocols", "host.games", "host.bots.batch_state", "host.bots.allowance", "host.bots.blame")
HARMLESS = frozenset({
    "bisect", "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "hmac", "itertools", "json", "math",
    "operator", "re", "string", "struct", "typing",
})  # fmt: skip
"""Modules of the standard library that pure floors may import: no clock, and no input or output."""

SOURCES = sorted([*ROOT.glob("croupier/**/*.py"), *ROOT.glob("host/**/*.py"), *ROOT.glob("protocols/**/*.py")])


def name_of(path: Path) -> str:
    """Return a module's name; for a package, the package's name."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in SOURCES}


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a source file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return frozenset(found)


def home_of(module: str) -> str:
    """Return the longest package name in FLOORS that is a prefix of a module's name."""
    homes = [home for floor in FLOORS for home in floor if f"{module}.".startswith(f"{home}.")]
    return max((home for home in homes if home != "host" or module == "host"), key=len, default="")


def floor_of(home: str) -> int:
    """Return the number of a floor, counted from the lowest."""
    return next(number for number, floor in enumerate(FLOORS) if home in floor)


def test_every_module_lives_on_a_floor() -> None:
    assert not [module for module in MODULES if not home_of(module)]


def test_imports_go_down() -> None:
    assert not [
        f"{module} imports {used}"
        for module, path in MODULES.items()
        for used in imports(path)
        if used.partition(".")[0] in ("host", "protocols")
        and home_of(used) != home_of(module)
        and floor_of(home_of(used)) >= floor_of(home_of(module))
    ]


def test_nothing_outside_the_wing_of_seasons_imports_it() -> None:
    others = [module for module in MODULES if not module.startswith("host.season")]
    assert not [f"{module}: {used}" for module in others for used in imports(MODULES[module]) if "host.season" in used]


NAMES_THE_WING = {"host.cli", "host.config.tournament_config"}
"""The table of commands, and the table [season] of a croupier.toml."""


def test_only_the_table_of_commands_and_that_of_keys_name_the_wing_of_seasons() -> None:
    named = {module for module, path in MODULES.items() if "host.season" in path.read_text()}
    assert {module for module in named if not module.startswith("host.season")} == NAMES_THE_WING


def test_the_lowest_floors_are_pure() -> None:
    assert not offenders(check_purity, [(module,) for module in MODULES if module.startswith(PURE)])


def check_purity(module: str) -> None:
    """Check that a module imports and calls only what has no input or output."""
    allowed = {"host", "protocols"} | HARMLESS | ({"random"} if module == "host.games.luck" else set())
    tops = {used.partition(".")[0] for used in imports(MODULES[module])}
    assert tops - {"host"} <= allowed if module.startswith("host") else tops <= allowed - {"host"}
    called = {
        node.func.id
        for node in ast.walk(ast.parse(MODULES[module].read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint"}


def test_what_croupier_imports_is_what_it_says_it_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    said = [*project["dependencies"], *(one for extra, ones in optional.items() if extra != "test" for one in ones)]
    needed = {one.partition(";")[0].split("[")[0].split(">")[0].split("=")[0].strip().lower() for one in said}
    used = {name.partition(".")[0] for path in SOURCES for name in imports(path)}
    foreign = {name.lower() for name in used - sys.stdlib_module_names - {"host", "protocols"}}
    brought = {"markupsafe": "jinja2", "nltk": "textarena", "pyspiel": "open_spiel", "re2": "google-re2"}
    assert {brought.get(name, name.replace("_", "-")) for name in foreign} <= needed


USES_COMMANDS = ("host.cli", "host.season.commands", "host.__main__")
"""The modules that may import commands. Others call what the commands call."""


def test_only_commands_use_commands() -> None:
    others = [module for module in MODULES if not f"{module}.".startswith(tuple(f"{name}." for name in USES_COMMANDS))]
    assert not [
        f"{module} imports {used}" for module in others for used in imports(MODULES[module]) if "host.cli" in used
    ]


def test_what_commands_do_needs_no_command_line() -> None:
    ops = [module for module in MODULES if module.startswith("host.ops")]
    assert ops and not [module for module in ops if "click" in {*imports(MODULES[module])}]


def test_the_modules_of_the_commands_import_each_other_in_no_circle() -> None:
    modules = {name for name in MODULES if name.startswith("host.cli")}
    used = {name: set(imports(MODULES[name])) & modules for name in modules}
    tuple(TopologicalSorter(used).static_order())


def test_every_module_can_be_imported() -> None:
    for module in MODULES.keys() - {"host.__main__"}:
        importlib.import_module(module)


def test_floors_have_no_strangers() -> None:
    assert {home for floor in FLOORS for home in floor} <= set(MODULES) | {"host.web"}


def test_no_level_of_isolation_is_named_outside_the_sandbox_package() -> None:
    name = re.compile(r"\bL[1-9]\b|Level\.NONE")
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*SOURCES, *ROOT.glob("host/**/*.html"), *ROOT.glob("host/**/*.js")]
        if not path.is_relative_to(ROOT / "host" / "sandbox")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if name.search(line)
    ]
    assert not named
