"""Check docs/architecture.md against the source tree: every path exists, and all packages are listed in import order."""

import re

from command import ROOT
from test_floors import FLOORS, MODULES

PAGE = (ROOT / "docs" / "architecture.md").read_text()
PATH = re.compile(r"\b(?:croupier|host|protocols|tests|sample_bots|docker|benchmarks)/[\w./-]*\w")
BOX = re.compile(r"[+|] (host/\w+|protocols) ")


def test_every_path_of_the_page_exists() -> None:
    paths = set(PATH.findall(PAGE))
    assert len(paths) > 40
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_package_is_a_box() -> None:
    packages = {"/".join(module.split(".")[:2]) for module in MODULES if module.count(".") > 1} | {"protocols"}
    assert set(BOX.findall(PAGE)) == packages


def test_the_boxes_are_in_the_order_of_imports() -> None:
    rows = [{name.replace("/", ".") for name in BOX.findall(line)} for line in PAGE.splitlines() if BOX.search(line)]
    packages = set().union(*rows)
    floors = [floor & packages for floor in FLOORS]
    assert rows[::-1] == [floor for floor in floors if floor]
