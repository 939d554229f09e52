"""Files of earlier versions write `mixed_tables` for the kind of stage `mixed-tables`. Both words mean the same."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import FAST, croupier, cup_in
from jsonschema import Draft202012Validator

from host.base.toml_file import read
from host.config.reference import schema_of_config

OLD, NEW = "mixed_tables", "mixed-tables"
FINAL = f'[[stage]]\nname = "final"\nkind = "{NEW}"\ntourneys = 1\npractice = true\n'
COUNTED = ("rank", "bot", "tables", "score", "points")


def cup_with(word: str, place: Path) -> Path:
    """Create a tournament of two stages whose croupier.toml has this word for their kind; return its folder."""
    cup = cup_in(place, FAST[:2], tourneys=2, rounds=2)
    config = (cup / "croupier.toml").read_text().replace("[limits]", f"{FINAL}[limits]")
    (cup / "croupier.toml").write_text(config.replace(NEW, word))
    return cup


def run(cup: Path, *words: object) -> None:
    done = croupier("-C", cup, "run", "--progress", "none", "--workers", 1, *words)
    assert done.code == 0, done.err


def results(cup: Path, stage: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the kind and the rows of a stage, as `standings --json` prints them."""
    shown = croupier("-C", cup, "standings", stage, "--json").json
    return shown["kind"], [{key: row[key] for key in COUNTED} for row in shown["rows"]]


@pytest.mark.long
@pytest.mark.parametrize(("begun", "then"), [(OLD, NEW), (NEW, OLD)])
def test_a_run_goes_on_with_the_other_word_for_a_kind(begun: str, then: str, tmp_path: Path) -> None:
    whole, cup = cup_with(then, tmp_path / "whole"), cup_with(begun, tmp_path / "cup")
    run(whole)
    run(cup, "--stage", "tables")
    (cup / "croupier.toml").write_text((whole / "croupier.toml").read_text())
    run(cup)
    for stage in ("tables", "final"):
        (kind, rows), (other, same) = results(cup, stage), results(whole, stage)
        assert (kind, other) == (begun, then)  # programs that read the old word go on
        assert rows == same
    assert croupier("-C", cup, "verify", "--json").json["differences"] == []


@pytest.mark.long
def test_a_run_with_the_old_word_gets_more_tourneys_under_the_new_one(tmp_path: Path) -> None:
    cup = cup_with(OLD, tmp_path / "cup")
    run(cup)
    config = (cup / "croupier.toml").read_text().replace(OLD, NEW)
    (cup / "croupier.toml").write_text(config.replace("tourneys = 1\n", "tourneys = 3\n"))
    run(cup, "--reason", "too few")
    assert croupier("-C", cup, "standings", "final", "--json").json["fixtures"] == 3


def test_a_public_folder_with_the_old_word_is_checked_completely(tmp_path: Path) -> None:
    cup = cup_with(OLD, tmp_path / "cup")
    run(cup)
    assert croupier("-C", cup, "export", "public", cup / "public").code == 0
    assert f'"kind":"{OLD}"' in (cup / "public" / "records.ndjson").read_text()
    check = [sys.executable, "-I", "-S", cup / "public" / "check.py"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "whether fixtures are missing" not in done.stdout  # which it says of a kind that it does not know


def test_new_files_have_the_new_word_and_both_are_valid(tmp_path: Path) -> None:
    for word in (OLD, NEW):
        assert croupier("new", tmp_path / word, "-g", "cardshark", "--kind", word).code == 0
        assert f'"{NEW}"' in (tmp_path / word / "croupier.toml").read_text()
        config = read(cup_with(word, tmp_path / f"cup {word}") / "croupier.toml")
        Draft202012Validator(schema_of_config()).validate(config.data)
