"""What every test may ask for."""

import signal
from pathlib import Path

import pytest

# A shell's background jobs begin with ^C ignored, and would hand that on to every croupier that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

OUR_VECTORS = Path(__file__).parent / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--vectors DIR` point the recordings' tests at any other recordings of the same format."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
