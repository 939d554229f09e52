"""Fairness that anybody can check: the seed is fixed before the cup, kept while it is played, and shown after."""

import hashlib
import json
import stat
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from command import croupier, cup_in

from host.tournament.effects import Seated, effects


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    """Return a small cup with a random seed that has not been played."""
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


def test_a_damaged_commitment_is_refused(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    (cup / "run" / "commitment.json").write_text("{}")
    for words in (["run"], ["seed", "commit"]):
        done = croupier(*words, "-C", cup)
        assert (done.code, done.first) == (3, f"error[R010] {cup}/run/commitment.json: is no commitment")


def test_a_published_seed_that_no_table_has_used_outlives_fresh(cup: Path) -> None:
    promised = croupier("seed", "commit", "-C", cup, "--json").json["sha256"]
    assert croupier("run", "-C", cup, "--fresh", "--json").json["seed_sha256"] == promised
    done = croupier("run", "-C", cup, "--fresh", "--json")
    assert (done.json["seed_sha256"] != promised, done.json["committed"]) == (True, None)
    assert "WARNING  the seed that was committed to goes with what was played" in done.err


def test_a_seed_is_not_revealed_before_the_cup_is_over(cup: Path) -> None:
    croupier("seed", "commit", "-C", cup)
    assert croupier("seed", "reveal", "-C", cup).code == 3
    config = (cup / "croupier.toml").read_text()
    more = '[[stage]]\nname = "two"\nkind = "tables"\ntourneys = 1\npractice = true\n[limits]'
    (cup / "croupier.toml").write_text(config.replace("[limits]", more))
    assert croupier("run", "--stage", "tables", "-C", cup).code == 0
    done = croupier("seed", "reveal", "-C", cup)
    assert done.code == 5 and done.first.startswith("error[R011] Cup of tests: the seed stays secret")
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


# Effects of seats and of the order of play.


def league(chance: Callable[[int, int, str], float], tables: int = 4_000, seed: int = 1) -> list[list[Seated]]:
    """Return pairs' tables, seats alternating, won by `chance(seat, number, bot)` of whoever sits in seat one."""
    luck, meetings = Random(seed), []
    for pair in combinations("ABC", 2):
        meeting = []
        for number in range(tables):
            bots = pair if number % 2 == 0 else pair[::-1]
            first = luck.random() < chance(0, number, bots[0])
            meeting.append(Seated(bots, (float(first), float(not first))))
        meetings.append(meeting)
    return meetings


def test_where_there_is_no_effect_none_is_seen() -> None:
    seen = 0
    for seed in range(60):
        found = effects("games", league(lambda _seat, _number, _bot: 0.5, 400, seed))
        seen += any(effect.seen for effect in found.seats) + any(effect.seen for effect in found.late)
    assert seen <= 12  # 6 expected: each family of intervals misses once in twenty


def test_a_planted_effect_of_a_seat_is_found_and_measured() -> None:
    found = effects("games", league(lambda _seat, _number, bot: 0.55 + 0.2 * (bot == "A") - 0.2 * (bot == "B")))
    first, second = found.seats
    assert first.seen and second.seen
    assert first.low is not None and first.high is not None and first.low < 0.05 < first.high
    assert not any(effect.seen for effect in found.late)
    assert (found.apart, found.gained) == (0, pytest.approx(0.0))


def test_a_strong_bot_is_no_effect_of_its_seat() -> None:
    def strong(_seat: int, _number: int, bot: str) -> float:
        return 0.9 if bot == "A" else 0.5

    lopsided = [[table for table in meeting if table.bots[0] == "A"] for meeting in league(strong)[:2]]
    found = effects("games", lopsided)
    assert not any(effect.seen for effect in found.seats)
    assert found.apart == 4_000


def test_a_planted_effect_of_playing_late_is_found_and_names_its_bot() -> None:
    def tired(_seat: int, number: int, bot: str) -> float:
        return 0.5 if number < 2_000 or bot != "C" else 0.35

    found = effects("games", league(tired))
    assert [effect.what for effect in found.late if effect.seen][-1] == "C"
    assert not any(effect.seen for effect in found.seats if effect.what == "seat 3")


def test_uneven_seats_are_told_with_what_they_brought() -> None:
    tables = [Seated(("A", "B"), (12.0, 8.0))] * 30 + [Seated(("B", "A"), (12.0, 8.0))] * 10
    found = effects("chips", [tables])
    assert (found.apart, found.tables) == (20, 40)
    assert found.gained == pytest.approx(0.75)


def test_too_little_has_no_interval() -> None:
    found = effects("games", [[Seated(("A", "B"), (1.0, 0.0))]])
    assert [(effect.more, effect.seen) for effect in (*found.seats, *found.late)] == [(None, False)] * 4
    assert effects("games", []).tables == 0
