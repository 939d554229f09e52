"""Settings for all tests."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell starts background jobs with SIGINT ignored, and every croupier that a test interrupts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Property tests use the same examples each time, and have no deadline, because machines differ.
settings.register_profile(
    "croupier", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("croupier")


OUR_VECTORS = Path(__file__).parent / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--vectors DIR`, which runs the tests of recordings with other recordings of the same format."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
