"""What every test may ask for."""

from pathlib import Path

import pytest

OUR_VECTORS = Path(__file__).parent / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--vectors DIR` point the recordings' tests at any other recordings of the same format."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
