"""Run the tests that a change touches, those nearest to it first, for 15 seconds.

`make check FILE…` names what has changed; `make check` takes what git does not have yet. A changed test file is run itself. For
another file, these are the tests of its name and those that import it or, if there are none, its package. What did not fit into
the time is named: `make test` runs everything.
"""

import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BUDGET_S = 15.0
ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
STRUCTURE = ("test_floors.py", "test_architecture.py", "test_owners.py")
"""Tests of every change of a module."""
EVERYWHERE = ("helpers", "command")
"""Helpers of most tests: what they import says nothing of a test."""
FILES = {path.stem: path for path in TESTS.rglob("*.py")}
"""The files of the tests, by the names under which others import them."""


def changed() -> list[str]:
    """Return the files that differ from the last commit, and new ones."""
    listing = ["git", "ls-files", "--modified", "--others", "--exclude-standard"]
    staged = ["git", "diff", "--name-only", "--cached"]
    found = [
        subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True).stdout for each in (listing, staged)
    ]
    return sorted({name for each in found for name in each.splitlines() if (ROOT / name).exists()})


def imports(path: Path) -> frozenset[str]:
    """Return the modules that a test file may import, itself or by its helpers: those it names, and the names from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    helpers = [FILES[name] for name in found & FILES.keys() if name not in EVERYWHERE]
    return frozenset(found).union(*(imports(helper) for helper in helpers if helper != path))


def tests_of(name: str, imported: dict[Path, frozenset[str]]) -> Iterator[Path]:
    """Yield the test files of a changed file, the nearest first: of its name, then those that import the fewest others."""
    path = Path(name)
    if path.parts[0] == "tests":
        module = path.stem
        if path.name.startswith("test_"):
            yield ROOT / path
            return
    elif path.suffix == ".py":
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    else:
        module = ".".join(path.parent.parts)
    for stem in (*(f"{room}_{path.stem}" for room in path.parts[1:-1]), path.stem, path.parent.name):
        yield from TESTS.glob(f"*/test_{stem}.py")
    users: list[Path] = []
    while module and not users:  # of the package around it, if nobody names the module itself
        users = [test for test, names in imported.items() if any(f"{each}.".startswith(f"{module}.") for each in names)]
        module = module.rpartition(".")[0]
    yield from sorted(users, key=lambda test: len(imported[test]))
    if path.suffix == ".md":
        yield TESTS / "project" / "test_docs.py"
    elif path.suffix == ".py" and path.parts[0] in ("croupier", "host", "protocols"):
        yield from (TESTS / "project" / each for each in STRUCTURE)


class Budget:
    """Ends a run of pytest in good order when its time is used."""

    def __init__(self) -> None:
        self.ends, self.waiting = time.monotonic() + BUDGET_S, list[str]()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the files of all tests, in their order."""
        self.waiting = [item.path.name for item in session.items]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Count the test as run, and stop after it when the time is used."""
        done = yield
        self.waiting.pop(0)
        if self.waiting and time.monotonic() > self.ends:
            item.session.shouldstop = f"{BUDGET_S:.0f} s are over"
        return done


def main() -> int:
    """Run the tests of the files on the command line, or of what has changed; return the exit code."""
    names = [str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]] or changed()
    imported = {path: imports(path) for path in sorted(TESTS.rglob("test_*.py"))}
    chosen = list(dict.fromkeys(test for name in names for test in tests_of(name, imported)))
    if not chosen:
        print("check: no test names what has changed" if names else "check: nothing has changed")
        return 0
    budget = Budget()
    rest = "not long and not proof and not toolchains and not timing"
    code = pytest.main(["-q", "-x", "--no-header", "-m", rest, *map(str, chosen)], plugins=[budget])
    if budget.waiting and code == pytest.ExitCode.INTERRUPTED:
        files = ", ".join(dict.fromkeys(budget.waiting))
        print(f"check: passed as far as {BUDGET_S:.0f} s went; not run: {len(budget.waiting)} tests of {files}")
        code = pytest.ExitCode.OK
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else int(code)


if __name__ == "__main__":
    sys.exit(main())
