"""The chain of a season: it grows with what happens, everybody may read it, and all that is published follows from it."""

import contextlib
import hashlib
import json
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import croupier_process
from season_process import TestSeason, plain_bot

from host.games.luck import derive
from host.journal.chain import seal_of
from host.season.folder import final_seed

AUTHORS = ("ada", "grace", "kim")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestSeason]:
    """A season of three authors and a few rounds, frozen, with its final played; its process has ended."""
    season = TestSeason(tmp_path_factory.mktemp("chain") / "cup")
    season.invite(*AUTHORS)
    with season.opened(site=True):
        for author, answer in zip(AUTHORS, ("END", "STAND", "END"), strict=True):
            season.submit(author, f"{author}s", plain_bot(answer, author))
        season.accepted("adas-1", "graces-1", "kims-1")
        season.until(lambda: sum(len(each["players"]) == 3 for each in of(season, "list")) >= 3, "three lists")
        season.until(lambda: (found := season.page("/chain.ndjson")) and b'"round"' in found, "the chain on the site")
        early = (season.folder / "published/chain.ndjson").read_bytes()
        season.croupier("season", "freeze", "--yes")
        season.until(lambda: season.document("entries"), "the entries")
    assert season.croupier("season", "final", season.folder.parent / "final").code == 0
    assert season.croupier("season", "export", season.folder.parent / "early").code == 0
    assert croupier_process("-C", season.folder.parent / "final", "run", "--progress", "none").code == 0
    assert season.croupier("season", "export", season.folder.parent / "public").code == 0
    assert (season.folder.parent / "public/chain.ndjson").read_bytes().startswith(early)
    yield season


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a chain."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def of(season: TestSeason, kind: str) -> list[Any]:
    """Return what the published lines of a kind say."""
    return [line[kind] for line in lines(season.folder / "published/chain.ndjson") if kind in line]


def test_every_line_holds_the_seal_of_the_one_before_it(played: TestSeason) -> None:
    seal = ""
    for line in (played.folder / "published/chain.ndjson").read_text().splitlines():
        assert json.loads(line)["before"] == seal
        seal = seal_of(line)


def test_the_chain_has_what_happened_in_its_order(played: TestSeason) -> None:
    kinds = [next(key for key in line if key != "before") for line in lines(played.folder / "published/chain.ndjson")]
    assert kinds[0] == "terms" and {"version", "list", "round", "change", "entries", "final", "seed"} <= {*kinds}
    assert kinds.index("list") < kinds.index("round") < kinds.index("entries") < kinds.index("final") < len(kinds) - 1
    assert kinds[-1] == "seed" and kinds.count("version") == 3
    with played.store() as store:
        for version in of(played, "version"):
            known = store.versions.labelled(version["label"])
            assert (version["sha256"], version["entered"]) == (known.sha256, known.entered)
            file = (played.folder / "uploads" / version["file"]).read_bytes()
            assert hashlib.sha256(file).hexdigest() == version["file"]


def test_seeds_are_promised_before_they_deal_and_revealed_after(played: TestSeason) -> None:
    (opening, *_), rounds = of(played, "terms"), {each["number"]: each for each in of(played, "round")}
    seed = bytes.fromhex(of(played, "seed")[0]["seed"])
    assert opening["seed_sha256"] == hashlib.sha256(seed).hexdigest()
    assert opening["final_sha256"] == of(played, "final")[0]["seed_sha256"]
    assert opening["final_sha256"] == hashlib.sha256(final_seed(seed)).hexdigest()
    for listed in of(played, "list"):
        own = derive(seed, f"round/{listed['number']}")[:16]
        assert listed["seed_sha256"] == hashlib.sha256(own).hexdigest()
        if found := rounds.get(listed["number"]):
            assert found["seed"] == own.hex()
    early = (played.folder.parent / "early/chain.ndjson").read_text()
    assert seed.hex() not in early and '"final"' in early and final_seed(seed).hex() not in early
    assert played.document("site")["seed_sha256"] == opening["seed_sha256"]


def test_the_records_of_each_round_end_with_its_seal(played: TestSeason) -> None:
    for each in of(played, "round"):
        records = played.folder.parent / "public/rounds" / f"{each['number']:04d}.ndjson"
        assert seal_of(records.read_text().splitlines()[-1]) == each["seal"]


def test_a_season_without_a_chain_gets_one(played: TestSeason, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    with contextlib.closing(sqlite3.connect(copied / "season.sqlite")) as store:
        store.execute("DROP TABLE chain")
    (copied / "published/chain.ndjson").unlink()
    assert croupier_process("-C", copied, "season", "export", tmp_path / "public").code == 0
    old, new = ({json.dumps({**line, "before": ""}) for line in lines(folder / "published/chain.ndjson")}
                for folder in (played.folder, copied))  # fmt: skip
    assert old == new
