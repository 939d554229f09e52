"""Settings for all tests."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from forked_workers import workers_by_fork
from hypothesis import HealthCheck, settings

from host.backends.worker_process import start_worker

# A shell starts background jobs with SIGINT ignored, and every croupier that a test interrupts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What tests import is no garbage. To look at it as often as Python does would take a fifth of the time of pytest's processes.
gc.set_threshold(100_000)

# Property tests use the same examples each time, and have no deadline, because machines differ.
settings.register_profile(
    "croupier", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("croupier")

TESTS = Path(__file__).parent
sys.path += [str(room) for room in sorted(TESTS.iterdir()) if room.is_dir()]  # a test may import another room's


def pytest_configure() -> None:
    """Create the folder of built bots that all test processes of this run share; they inherit the variable."""
    if "CROUPIER_TEST_BUILDS" not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="croupier-test-builds-"))
        folder.chmod(0o755)  # the user of the sandboxes can enter it, but not write to it
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["CROUPIER_TEST_BUILDS"] = str(folder)


TIMING_RUNS, MAX_REPEATS = 3, 5
"""A test marked `timing` runs this many times at most; a run of pytest with more repeats than that in all fails."""


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks that its command line names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard, those of containers first. Repeat tests whose claim depends on the speed of the machine, and
    no others. Leave most cases of some to proofs."""
    if shard := config.getoption("shard"):
        number, shards = shard
        places = [crc32(item.nodeid.partition("[")[0].encode()) % shards + 1 for item in items]  # the same in every run
        config.hook.pytest_deselected(items=[item for item, at in zip(items, places, strict=True) if at != number])
        items[:] = [item for item, at in zip(items, places, strict=True) if at == number]
    items.sort(
        key=lambda item: item.path.name != "test_docker.py"
    )  # they wait for minutes: begun first, they delay nobody
    cases = Counter[str]()
    for item in items:
        if item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.flaky(reruns=TIMING_RUNS - 1, reruns_delay=1))
        not_default = item.get_closest_marker("long") or item.get_closest_marker("toolchains")
        if (one_in := item.get_closest_marker("one_in")) and not_default:
            test = item.nodeid.partition("[")[0]
            if cases[test] % one_in.args[0]:
                item.add_marker(pytest.mark.proof)
            cases[test] += 1


def pytest_collection_finish() -> None:
    """Keep what was imported out of the search for garbage."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run with too many repeats."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    repeats = reporter.stats.get("rerun", []) if reporter is not None else []
    if len(repeats) > MAX_REPEATS and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print each repeat."""
    repeats = terminalreporter.stats.get("rerun", [])
    for report in repeats:
        terminalreporter.write_line(f"REPEATED {report.nodeid}")
    if len(repeats) > MAX_REPEATS:
        terminalreporter.write_line(f"more than {MAX_REPEATS} repeats: this run has failed")


@pytest.fixture(scope="session", autouse=True)
def _workers_by_fork() -> Iterator[None]:
    """Start the workers of commands that run in this process by fork."""
    with workers_by_fork():
        yield


@pytest.fixture
def workers_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers as users do, in a test whose claim is about their processes."""
    monkeypatch.setattr("host.backends.local.start_worker", start_worker)


OUR_VECTORS = TESTS / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--vectors DIR`, which runs the tests of recordings with other recordings of the same format, and `--shard`."""
    parser.addoption(
        "--vectors", type=Path, default=OUR_VECTORS, metavar="DIR", help="the folder of recordings to reproduce"
    )
    parser.addoption(
        "--shard", type=_shard, metavar="N/ALL", help="run the Nth of ALL shards into which tests are divided"
    )


def _shard(text: str) -> tuple[int, int]:
    """Return the number of a shard, from 1, and how many there are."""
    number, shards = map(int, text.split("/"))
    if not 1 <= number <= shards:
        raise ValueError
    return number, shards
