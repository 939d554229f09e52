"""What every test may ask for."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell's background jobs begin with ^C ignored, and would hand that on to every croupier that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Properties are looked at for the same examples each time, and for as long as that takes on whatever machine.
settings.register_profile(
    "croupier", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("croupier")

OUR_VECTORS = Path(__file__).parent / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--vectors DIR` point the recordings' tests at any other recordings of the same format."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
