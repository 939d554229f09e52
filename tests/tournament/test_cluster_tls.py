"""A cluster with TLS, with certificates made as in docs/running.md, and the errors when it fails."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dask.config
import pytest
from command import Done, croupier_process, cup_in, environment
from machines import LOOPBACK, Machines, certificates, machines
from test_cluster import outcome

from host.backends.dask_problems import in_the_clear

OPENSSL = shutil.which("openssl") is not None
needs_openssl = pytest.mark.skipif(not OPENSSL, reason="NOT INSTALLED: openssl; TLS is not tested")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return Dask's settings with our own certificate authority."""
    return certificates(tmp_path_factory.mktemp("authority") / "ours")


@pytest.fixture(scope="module")
def guarded(ours: dict[str, str]) -> Iterator[Machines]:
    """Start a cluster that accepts only TLS."""
    with machines("alice", tls=ours) as standing:
        yield standing


def run(cup: Path, address: str, **settings: str) -> Done:
    """Play on a cluster with these settings of Dask."""
    return croupier_process("-C", cup, "run", "--cluster", address, env=environment(**settings))


@needs_openssl
@pytest.mark.long
def test_a_cluster_under_tls_plays_as_one_machine_does(guarded: Machines, ours: dict[str, str], tmp_path: Path) -> None:
    here, there = (cup_in(tmp_path / name, tourneys=2) for name in ("here", "there"))
    assert croupier_process("-C", here, "run").code == 0
    done = run(there, guarded.address, **ours)
    assert done.code == 0, done.err
    assert "not encrypted" not in done.err
    assert outcome(here) == outcome(there)


@pytest.mark.long
def test_a_run_without_a_certificate_is_told_where_to_name_one(tmp_path: Path) -> None:
    done = run(cup_in(tmp_path / "cup"), f"tls://{LOOPBACK}:9")
    assert (done.code, done.first) == (
        6,
        f"error[S016] tls://{LOOPBACK}:9: this run has no certificate to speak TLS with",
    )
    assert "docs/running.md" in done.err


@pytest.mark.long
def test_a_certificate_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    settings = dict.fromkeys(("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"), "/nowhere.pem")
    named = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": file for name, file in settings.items()}
    done = run(cup_in(tmp_path / "cup"), f"tls://{LOOPBACK}:9", **named)
    assert (done.code, done.first.partition(" ")[0]) == (6, "error[S016]")
    assert "No such file" in done.err


@needs_openssl
@pytest.mark.proof
def test_a_scheduler_that_wants_tls_says_so_to_whoever_comes_without(guarded: Machines, tmp_path: Path) -> None:
    done = run(cup_in(tmp_path / "cup"), guarded.address.replace("tls:", "tcp:"))
    assert done.code == 6
    assert done.err.startswith("error[S016] tcp://")
    assert f"--cluster {guarded.address}" in done.err


@needs_openssl
@pytest.mark.long
@pytest.mark.parametrize("who", ["the scheduler's", "the run's"])
@pytest.mark.one_in(2)
def test_a_certificate_of_another_authority_is_not_trusted(
    who: str, guarded: Machines, ours: dict[str, str], tmp_path: Path
) -> None:
    theirs = certificates(tmp_path / "theirs")
    strange = {name: file for name, file in theirs.items() if name.endswith("CA_FILE") == (who == "the scheduler's")}
    done = run(cup_in(tmp_path / "cup"), guarded.address, **ours | strange)
    assert done.code == 6
    assert done.err.startswith("error[S017] tls://")
    assert not (tmp_path / "cup" / "run" / "run.sqlite").exists()


@pytest.mark.parametrize(
    ("address", "clear"),
    [
        ("tcp://192.0.2.1:8786", True),
        ("tcp://scheduler:8786", True),
        ("tls://192.0.2.1:8786", False),
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
        ("tcp://localhost:8786", False),
    ],
)
def test_what_travels_in_the_clear_is_told_unless_it_is_meant(address: str, clear: bool) -> None:
    assert in_the_clear(address) == clear
    with dask.config.set({"distributed.comm.require-encryption": False}):
        assert not in_the_clear(address)


@pytest.mark.proof
def test_a_run_says_aloud_that_its_cluster_is_in_the_clear(tmp_path: Path) -> None:
    done = run(cup_in(tmp_path / "cup"), "tcp://scheduler.invalid:8786")
    assert done.err.startswith("WARNING  tcp://scheduler.invalid:8786 is not encrypted")
    assert (done.code, "error[S010]" in done.err) == (6, True)


@needs_openssl
@pytest.mark.long
def test_the_page_makes_certificates_that_a_cluster_takes(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text()
    (block,) = [text for text in page.split("```console\n") if text.startswith("$ openssl")]
    commands = block.partition("```")[0].replace("$ ", "")
    subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, capture_output=True, check=True)
    settings = {"CA_FILE": "ca.pem"} | {
        f"{who}__{what.upper()}": f"{what}.pem" for who in ("SCHEDULER", "WORKER", "CLIENT") for what in ("cert", "key")
    }
    made = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(tmp_path / file) for name, file in settings.items()}
    with machines("alice", tls=made) as standing:
        done = run(cup_in(tmp_path / "cup", tourneys=1), standing.address, **made)
    assert done.code == 0, done.err
