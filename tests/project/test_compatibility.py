"""What an earlier release wrote is still read, and nothing that programs rely on has gone: docs/compatibility.md.

tests/goldens/0.1.0 has what version 0.1.0 wrote: a tournament with a journal that stands after its first stage, a bundle, the
folder of `export public`, a season that was stopped in a round, and the names that programs rely on. Until that version is
released (CHANGELOG.md), its formats may still change; then these tests are skipped, and say so. Write the goldens again, with
one command, and review the difference:

    CROUPIER_WRITE_GOLDENS=1 python -m pytest tests/project/test_compatibility.py
"""

import contextlib
import inspect
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from command import croupier
from helpers import CACHE
from season_process import TestSeason, plain_bot

import croupier as interface
from host import __version__
from host.base.errors import explanations
from host.cli import SCHEMA_NUMBERS, group
from host.config.reference import SCHEMAS
from host.games import GAMES
from host.journal.reader import reading
from host.journal.schema import VERSION
from host.rating.rankings import RANKINGS
from host.sandbox.detect import detect
from host.stages import KINDS, RENAMED_KINDS
from protocols import PROTOCOLS
from protocols.wire import FaultKind

GOLDENS = Path(__file__).parents[1] / "goldens"
WRITTEN = GOLDENS / __version__
REWRITE = bool(os.environ.get("CROUPIER_WRITE_GOLDENS"))
RELEASES = sorted({path for path in GOLDENS.iterdir() if path.is_dir()} | ({WRITTEN} if REWRITE else set()))

CONFIG = """\
game = "pazaak"
name = "Golden cup"
seed = "golden"
bots = ["bots/*"]

[limits]
move = "10 s"
cpu = "10 s"
"""
STAGE = """
[[stage]]
name = "{name}"
kind = "round-robin"
tables_per_pair = 4
practice = true
"""
BOTS = {
    "stands": "while read -r view; do echo STAND; done\n",
    "ends": "n=0\nwhile read -r view; do n=$((n + 1)); [ $((n % 3)) = 0 ] && echo STAND || echo END; done\n",
    "leaves": "n=0\nwhile read -r view; do n=$((n + 1)); [ $n = 9 ] && exit 3; echo END; done\n",
}
SHOWN = ("rank", "bot", "tables", "wins", "rate", "score", "faults_by_kind")


def rows(folder: Path, stage: str) -> list[dict[str, Any]]:
    """Return the standings of a stage."""
    done = croupier("-C", folder, "standings", stage, "--json")
    assert done.code == 0, done.err
    return [{key: row[key] for key in SHOWN} for row in done.json["rows"]]


def names() -> dict[str, list[str]]:
    """Return all names that programs rely on."""
    functions = {name: each for name in interface.__all__ if inspect.isfunction(each := getattr(interface, name))}
    found = {
        "commands and options": options("croupier", group),
        "schemas": (f"{name}/{number}" for name, number in SCHEMA_NUMBERS.items()),
        "keys": (f"{file} {key}" for file, schema in SCHEMAS.items() for key in keys(schema())),
        "interface": interface.__all__,
        "parameters": (
            f"{name}({word})" for name in functions for word in inspect.signature(functions[name]).parameters
        ),
        "error codes": explanations(),
        "faults": (kind.value for kind in FaultKind),
        "games": GAMES,
        "protocols": PROTOCOLS,
        "kinds of stage": [*KINDS, *RENAMED_KINDS],
        "rankings": RANKINGS,
    }
    return {what: sorted(set(each)) for what, each in found.items()}


def options(path: str, command: click.Command) -> Iterator[str]:
    """Yield a command, its options, and those of the commands below it."""
    yield path
    yield from (f"{path} {word}" for option in command.params for word in option.opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options(f"{path} {name}", below)


def keys(schema: Any) -> Iterator[str]:
    """Yield the keys of all tables in a JSON schema."""
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield from schema["properties"]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from keys(part)


def write_season() -> None:
    """Open a season with two bots, stop it while it plays, and store its folder, without what is made again."""
    season = TestSeason(WRITTEN / "season")
    with season.opened():
        season.invite("ada", "grace")
        season.submit("ada", "stands", plain_bot("STAND"))
        season.submit("grace", "ends", plain_bot("END"))
        season.accepted("stands-1", "ends-1")
        season.until_round(2)
    for path in [*season.folder.rglob("*.lock"), *season.folder.rglob("*-shm"), *season.folder.rglob("*-wal")]:
        path.unlink()
    shutil.rmtree(season.folder / "inbox", ignore_errors=True)
    for name in ("1.html", "2.html"):  # a report of 120 kB
        (season.folder / "published" / "rounds" / name).unlink(missing_ok=True)


def write_goldens() -> None:
    """Play the tournament, export the bundle and the public folder, and store them with what they must say."""
    shutil.rmtree(WRITTEN, ignore_errors=True)
    WRITTEN.mkdir()
    write_season()
    cup = WRITTEN / "cup"
    for name, script in BOTS.items():
        (cup / "bots" / name).mkdir(parents=True)
        (cup / "bots" / name / "bot.toml").write_text('language = "any"\nrun = ["./bot.sh"]\n')
        (cup / "bots" / name / "bot.sh").write_text(f"#!/bin/sh\n{script}")
        (cup / "bots" / name / "bot.sh").chmod(0o755)
    (cup / "croupier.toml").write_text(CONFIG + "".join(STAGE.format(name=name) for name in ("league", "decider")))
    run = ("run", "--progress", "none", "--workers", 1)
    assert croupier("-C", cup, *run, "--stage", "league").code == 0
    for name in ("run.sqlite-shm", "run.sqlite-wal", "run.lock"):
        (cup / "run" / name).unlink(missing_ok=True)
    bundle = WRITTEN / "leaves.bundle"
    assert croupier("-C", cup, "export", "bundle", "-o", bundle).code == 0
    finished = CACHE / "goldens"
    shutil.copytree(cup, finished)
    assert croupier("-C", finished, *run).code == 0
    assert croupier("-C", finished, "export", "public", WRITTEN / "public").code == 0
    expected = {"league": rows(cup, "league"), "decider": rows(finished, "decider")}
    for name, value in {"standings.json": expected, "names.json": names()}.items():
        (WRITTEN / name).write_text(json.dumps(value, indent=1) + "\n")
    for path in (cup / "run").iterdir():  # what reading has left
        if path.name != "run.sqlite":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module", autouse=True)
def regenerated() -> None:
    """Write the goldens again if asked to."""
    if REWRITE:
        write_goldens()


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of what a release wrote. Skip if it is not released yet, and has another format or other names by now."""
    folder: Path = request.param
    with contextlib.closing(sqlite3.connect(folder / "cup" / "run" / "run.sqlite")) as journal:
        (version,) = journal.execute("PRAGMA user_version").fetchone()
    unreleased = f"## {folder.name} – unreleased\n" in (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    if unreleased and (version != VERSION or gone(folder)):
        pytest.skip(f"WRITE THE GOLDENS AGAIN BEFORE THE RELEASE: formats have changed since; gone: {gone(folder)}")
    shutil.copytree(folder, tmp_path / "release")
    return tmp_path / "release"


def gone(release: Path) -> dict[str, list[str]]:
    """Return the names of a release that are not here any more."""
    before, now = json.loads((release / "names.json").read_text()), names()
    return {what: missing for what in before if (missing := sorted(set(before[what]) - set(now[what])))}


def expected(release: Path, stage: str) -> Any:
    """Return the standings that a release printed."""
    return json.loads((release / "standings.json").read_text())[stage]


def test_a_journal_is_read(release: Path) -> None:
    cup = release / "cup"
    assert rows(cup, "league") == expected(release, "league")
    assert croupier("-C", cup, "verify", "--json").json["differences"] == []
    assert croupier("-C", cup, "faults", "leaves").out.startswith("leaves  crash  ×")
    for words in (("replay", "last"), ("export", "jsonl"), ("report", "-o", cup / "report.html"), ("status",)):
        done = croupier("-C", cup, *words)
        assert done.code == 0 and not done.err.startswith("error"), (words, done.err)


def test_a_run_that_has_begun_goes_on(release: Path) -> None:
    cup = release / "cup"
    with reading(cup / "run" / "run.sqlite") as journal:
        if not journal.state().level <= detect().level:
            pytest.skip(f"the run began at {journal.state().level.label}, and THIS MACHINE HAS LESS")
    done = croupier("-C", cup, "run", "--progress", "none")
    assert done.code == 0, done.err
    assert rows(cup, "league") == expected(release, "league")
    assert rows(cup, "decider") == expected(release, "decider")


@pytest.mark.long
def test_a_season_that_was_stopped_goes_on(release: Path) -> None:
    season = TestSeason(release / "season")
    journals = sorted(season.folder.glob("rounds/*/run/run.sqlite"))
    with reading(journals[-1]) as journal:
        if not journal.state().level <= detect().level:
            pytest.skip(f"its last round began at {journal.state().level.label}, and THIS MACHINE HAS LESS")
    chain = season.folder / "published" / "chain.ndjson"
    before, rounds = chain.read_bytes(), len(season.events("round", "is over"))
    assert rounds >= 2
    with season.opened():
        season.submit("grace", "returns", plain_bot("END", "after the upgrade"))
        season.accepted("returns-1")
        season.until_round(rounds + 3)
    assert season.croupier("season", "verify").code == 0
    assert chain.read_bytes().startswith(before)  # what was said before the upgrade stands
    assert {"stands", "ends"} <= {row["bot"] for row in season.document("ladder")["rows"]}


def test_a_bundle_is_asked_again(release: Path) -> None:
    done = croupier("ask", release / "cup" / "bots" / "leaves", release / "leaves.bundle", cwd=release)
    assert done.code == 0, done.err
    assert "now      (crash)" in done.out and "then     (crash)" in done.out


def test_a_public_folder_is_confirmed_by_its_own_program_and_by_that_of_today(release: Path) -> None:
    today = Path(__file__).parents[2] / "host" / "report" / "public_check.py"
    own = release / "public" / "check.py"
    for text in (own.read_bytes(), today.read_bytes()):
        own.write_bytes(text)
        done = subprocess.run([sys.executable, "-I", "-S", own], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "✓ the seed has the sealed hash" in done.stdout, done.stdout + done.stderr


def test_no_name_that_programs_rely_on_has_gone(release: Path) -> None:
    assert not gone(release), "docs/compatibility.md says how a name goes"
