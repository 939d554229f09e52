"""Verifiable fairness: the seed is fixed before the tournament, secret during it, and revealed afterwards."""

import hashlib
import json
import stat
from pathlib import Path

import pytest
from command import croupier, cup_in
from helpers import breadth

from host.journal.reader import reading
from host.journal.tournament_dir import Folder


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    """Return a small tournament with a random seed; it has not been played."""
    folder = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=1, rounds=1)
    config = folder / "croupier.toml"
    config.write_text(config.read_text().replace('seed = "a seed for tests"', 'seed = "random"'))
    return folder


def test_a_commitment_is_the_hash_of_the_seed_that_is_played_and_revealed(cup: Path) -> None:
    promised = croupier("seed", "commit", "-C", cup, "--json").json
    secret = (cup / "run" / "seed").read_text().strip()
    assert promised["sha256"] == hashlib.sha256(bytes.fromhex(secret)).hexdigest()
    assert promised["seed"] is None and not promised["begun"]
    assert stat.S_IMODE((cup / "run" / "seed").stat().st_mode) == 0o600
    assert croupier("run", "-C", cup).code == 0
    told = croupier("seed", "reveal", "-C", cup, "--json").json
    assert (told["seed"], told["sha256"], told["matches"]) == (secret, promised["sha256"], True)
    assert told["committed"] == promised["committed"]
    standings = croupier("standings", "-C", cup, "--json").json
    assert [standings[key] for key in ("seed", "seed_sha256", "committed")] == [
        *(secret, promised["sha256"], promised["committed"]),
    ]
    verified = croupier("verify", "-C", cup)
    assert f"{promised['sha256']}, committed to on " in verified.out
    page = croupier("report", "-C", cup)
    assert page.code == 0 and "by a commitment of " in (cup / "report.html").read_text()


def test_to_commit_twice_is_to_commit_once(cup: Path) -> None:
    first = croupier("seed", "commit", "-C", cup)
    assert first.out.startswith("sha256 ") and "committed to on " in first.out
    assert croupier("seed", "commit", "-C", cup).out == first.out


def test_a_seed_that_is_not_the_committed_one_is_refused(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    (cup / "run" / "seed").write_text("0" * 32 + "\n")
    done = croupier("run", "-C", cup)
    assert (done.code, done.first) == (3, f"error[R010] {cup}/run/seed: is not the seed that was committed to")


def test_a_seed_in_the_config_is_refused_after_another_was_committed_to(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    config = (cup / "croupier.toml").read_text()
    (cup / "croupier.toml").write_text(config.replace('seed = "random"', 'seed = "mine"'))
    for words in (["run"], ["run", "--dry-run"], ["config", "check"]):
        done = croupier(*words, "-C", cup)
        assert done.code == 3
        assert 'croupier.toml: seed = "mine" is not the seed that was committed to on ' in done.err


def test_a_run_that_did_not_use_the_committed_seed_does_not_verify(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    assert croupier("run", "-C", cup).code == 0
    assert croupier("verify", "-C", cup, "--json").json["used_committed_seed"] is True
    promised = json.loads((cup / "run" / "commitment.json").read_text())
    (cup / "run" / "commitment.json").write_text(json.dumps(promised | {"sha256": "0" * 64}))
    done = croupier("verify", "-C", cup)
    assert done.code == 1 and "the run did not use the committed seed" in done.out


@pytest.mark.long
@pytest.mark.parametrize("text", breadth(["a word", "0123456789abcdef0123456789ABCDEF"], 2))
def test_a_text_gives_the_same_seed_in_a_config_and_on_the_command_line(cup: Path, text: str) -> None:
    config = (cup / "croupier.toml").read_text()
    (cup / "croupier.toml").write_text(config.replace('seed = "random"', f'seed = "{text}"'))
    hashed = croupier("run", "-C", cup, "--json").json["seed_sha256"]
    revealed = croupier("seed", "reveal", "-C", cup, "--json").json["seed"]
    for seed in (text, revealed):
        played = croupier("play", "davey", "cautious", "-n", 1, "--seed", seed, "-C", cup, "--json").json
        assert croupier("verify", "-C", cup, "--journal", played["journal"], "--json").json["seed_sha256"] == hashed
        assert played["seed"] == revealed


def test_a_damaged_commitment_is_refused(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    (cup / "run" / "commitment.json").write_text("{}")
    for words in (["run"], ["seed", "commit"]):
        done = croupier(*words, "-C", cup)
        assert (done.code, done.first) == (3, f"error[R010] {cup}/run/commitment.json: is not a commitment")


@pytest.mark.long
def test_a_published_seed_that_no_table_has_used_outlives_fresh(cup: Path) -> None:
    promised = croupier("seed", "commit", "-C", cup, "--json").json["sha256"]
    assert croupier("run", "-C", cup, "--fresh", "--json").json["seed_sha256"] == promised
    done = croupier("run", "-C", cup, "--fresh", "--json")
    assert (done.json["seed_sha256"] != promised, done.json["committed"]) == (True, None)
    assert "WARNING  --fresh deletes the committed seed too" in done.err


def test_a_seed_is_not_revealed_before_the_cup_is_over(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    assert croupier("seed", "reveal", "-C", cup).code == 3
    config = (cup / "croupier.toml").read_text()
    more = '[[stage]]\nname = "two"\nkind = "mixed-tables"\ntourneys = 1\npractice = true\n[limits]'
    (cup / "croupier.toml").write_text(config.replace("[limits]", more))
    assert croupier("run", "--stage", "tables", "-C", cup).code == 0
    done = croupier("seed", "reveal", "-C", cup)
    assert done.code == 5 and done.first.startswith("error[R011] Cup of tests: the seed is secret")
    assert croupier("standings", "-C", cup, "--json").json["seed"] is None


def test_a_run_that_has_begun_cannot_be_committed_to_any_more(cup: Path) -> None:
    hashed = croupier("run", "-C", cup, "--json").json["seed_sha256"]
    told = croupier("seed", "commit", "-C", cup, "--json").json
    assert (told["sha256"], told["committed"], told["begun"]) == (hashed, None, True)
    assert "fixed when the run began" in croupier("seed", "reveal", "-C", cup).out


def test_a_seed_in_the_open_is_no_secret_to_commit_to(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "cup", ["davey.c"])
    done = croupier("seed", "commit", "-C", folder, "--json")
    assert (done.code, json.loads(done.out)["code"]) == (3, "C010")


def test_a_revealed_seed_that_is_another_is_told(cup: Path) -> None:
    assert croupier("run", "-C", cup).code == 0
    (cup / "run" / "seed").write_text("0" * 32 + "\n")
    done = croupier("seed", "reveal", "-C", cup)
    assert done.code == 1 and "✗ not the hash of this run's seed" in done.out


def test_the_seed_of_a_finished_run_is_known_whatever_the_mode_of_its_file(cup: Path) -> None:
    folder = Folder(cup)
    assert croupier("run", "-C", cup, "--stop-after", "0 s").code == 5
    with reading(folder.journal) as journal:
        assert not folder.revealed(journal)
        folder.seed_file.chmod(0o640)  # a group that may read it
        assert folder.revealed(journal)
    folder.seed_file.chmod(0o600)
    assert croupier("run", "-C", cup).code == 0
    folder.seed_file.chmod(0o600)
    with reading(folder.journal) as journal:
        assert folder.revealed(journal)
