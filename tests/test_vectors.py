"""Every recording is reproduced. `pytest tests/test_vectors.py --vectors DIR` uses other recordings of this format."""

from pathlib import Path

import pytest
from conftest import OUR_VECTORS
from recordings import Check, Line, cardshark, failing, holdem, lines, pazaak, stem

BY_GAME = {"blackjack": cardshark, "holdem": holdem, "pazaak": pazaak}


def competition(line: Line) -> None:
    """Check one line of competition_scenarios with the check of its game."""
    if line["game"] not in BY_GAME:
        raise AssertionError(f"nothing in tests/recordings checks competitions in {line['game']}")
    BY_GAME[line["game"]].COMPETITION(line)


CHECKS: dict[str, Check] = {"competition_scenarios": competition}
for module in BY_GAME.values():
    CHECKS |= module.CHECKS
MOST_SHOWN = 5


def recordings(folder: Path) -> dict[str, list[Path]]:
    """Return the recordings in a folder by name."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")]):
        found.setdefault(stem(path), []).append(path)
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Create a test for every recording that has a check, is in the folder, or both."""
    if "recording" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("vectors")
    if not folder.is_dir():
        raise pytest.UsageError(f"--vectors {folder}: there is no such folder")
    metafunc.parametrize("recording", sorted({*CHECKS, *recordings(folder)}))


def not_there(folder: Path, recording: str) -> None:
    """Skip with a message if another folder lacks a recording; fail if our own folder lacks it."""
    if folder.resolve() != OUR_VECTORS:
        pytest.skip(f"{folder} has no {recording}: NOT CHECKED")
    pytest.fail(f"{folder} has lost {recording}", pytrace=False)


def test_every_line_is_reproduced(recording: str, pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.getoption("vectors")
    paths = recordings(folder).get(recording) or not_there(folder, f"{recording}.jsonl(.gz)")
    if recording not in CHECKS:
        pytest.fail(f"{paths[0]}: nothing in tests/recordings checks a recording of this name", pytrace=False)
    for path in paths:
        checked, wrong = failing(CHECKS[recording], lines(path))
        if wrong or not checked:
            shown = "".join(f"\n  {line}" for line in wrong[:MOST_SHOWN])
            pytest.fail(f"{path}: {len(wrong)} of {checked} lines are not reproduced{shown}", pytrace=False)


def test_every_play_log_is_reproduced(pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.getoption("vectors")
    assert holdem.PLAYLOGS(folder) or not_there(folder, "holdem_playlogs/*.play.log(.gz)")


def test_a_line_that_fails_does_not_hide_the_others() -> None:
    recording = [{"id": "co1", "game": "chess"}, {"id": "co2"}, *lines(OUR_VECTORS / "competition_scenarios.jsonl.gz")]
    checked, wrong = failing(competition, iter(recording))
    assert (checked, [line.partition(":")[0] for line in wrong]) == (len(recording), ["co1", "co2"])


@pytest.mark.parametrize("game", BY_GAME)
def test_a_competition_that_nobody_knows_fails_by_name(game: str) -> None:
    with pytest.raises(AssertionError, match="nothing here checks a line with the fields riddle"):
        competition({"id": "co99", "game": game, "rule": "?", "riddle": 1, "ambiguity": []})
