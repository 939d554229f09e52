"""CONTRIBUTING.md and the files beside it: what they name exists, and the commands that they show work."""

import re
import runpy
import subprocess
import sys
import tomllib

import pytest
import yaml
from command import ROOT
from helpers import breadth
from test_floors import MODULES

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ROWS = [row.split("|")[1:-1] for row in PAGE.splitlines() if re.match(r"\| (`|the whole)", row)]


def test_every_package_is_in_a_room() -> None:
    rooms = {name for room, _, _ in ROWS for name in re.findall(r"`([\w/]+)`", room)}
    packages = {"/".join(module.split(".")[:2]) for module in MODULES if module.count(".") > 1}
    assert rooms - {"protocols", "croupier"} == packages


def test_every_test_that_a_room_names_exists_and_they_are_ten_at_most() -> None:
    assert len(ROWS) > 10
    for room, _, tests in ROWS:
        folder, _, names = tests.partition(":")
        first, there = {name.strip() for name in names.split(",")}, (ROOT / folder.strip(" `")).glob("test_*.py")
        assert first <= {path.stem.removeprefix("test_") for path in there} and len(first) <= 10, room


def test_the_page_names_the_version_where_it_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert f"`{project['tool']['hatch']['version']['path']}`" in PAGE


def test_make_check_follows_helpers_into_the_folders_of_the_tests() -> None:
    imports = runpy.run_path(str(ROOT / "tools" / "check.py"))["imports"]
    own, helper = (imports(ROOT / "tests" / "report" / f"test_{name}.py") for name in ("public_again", "public"))
    assert "test_public" in own and helper < own


COMMANDS = [
    line.partition("#")[0].split() for line in re.findall(r"^\$ (?:python -m )?((?:pytest|make) .*)", PAGE, re.M)
]


@pytest.mark.parametrize("words", breadth(COMMANDS, 7), ids=" ".join)
def test_the_commands_of_the_page_work(words: list[str]) -> None:
    if words[0] == "pytest":  # of a folder, one file is collected
        words = [str(min((ROOT / word).glob("test_*.py"), default=word)) for word in words]
    only_look = [sys.executable, "-m", "pytest", "--collect-only"] if words[0] == "pytest" else ["make", "-n"]
    done = subprocess.run([*only_look, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_forms_for_issues_are_complete() -> None:
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 2
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert form["name"] and form["description"], path
        asked = [part for part in form["body"] if part["type"] == "textarea"]
        assert asked and all(part["id"] and part["attributes"]["label"] for part in asked), path


def test_the_citation_agrees_with_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])
    assert citation["authors"][0]["name"] in (ROOT / "LICENSE").read_text()
