"""Settings for all tests."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from host.games import GAMES
from host.play import custom_games

# A shell starts background jobs with SIGINT ignored, and every croupier that a test interrupts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Property tests use the same examples each time, and have no deadline, because machines differ.
settings.register_profile(
    "croupier", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("croupier")


@pytest.fixture(autouse=True, scope="module")
def unregister_games() -> Iterator[None]:
    """Unregister the games that the tests of a module have loaded."""
    kept = [(each, dict(each)) for each in (GAMES, custom_games._origins)]
    yield
    for games, before in kept:
        games.clear()
        games.update(before)  # type: ignore[arg-type]


OUR_VECTORS = Path(__file__).parent / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--vectors DIR`, which runs the tests of recordings with other recordings of the same format."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
