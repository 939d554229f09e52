"""A tournament on a cluster: machines join, fail and are refused, and the results equal those of one machine."""

import gc
import json
import re
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio
from command import CROUPIER, FAST, ROOT, croupier, croupier_process, cup_in, environment, result_of
from distributed import Client
from distributed.comm.tcp import convert_stream_closed_error
from machines import LOOPBACK, Machines, machines, until
from tornado.iostream import StreamClosedError

from host.backends import dask_worker
from host.backends.dask import cluster
from host.backends.dask_client import ConnectionLost, DaskClient
from host.backends.placement import PlacementRequest
from host.backends.worker_process import start_worker
from host.base.errors import Problem, UserError
from host.sandbox.levels import DEFAULT_LEVEL

TOURNEYS = 8


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament that was played on this machine."""
    cup = cup_in(tmp_path_factory.mktemp("native") / "cup", tourneys=TOURNEYS)
    assert croupier("-C", cup, "run").code == 0
    return cup


@pytest.fixture(scope="module")
def two() -> Iterator[Machines]:
    """Start two machines that no test kills."""
    with machines("alice", "bob") as standing:
        yield standing


def outcome(cup: Path) -> Any:
    """Return what must be the same wherever a tournament is played; the level of isolation may differ."""
    result = result_of(cup)
    return result._replace(standings=result.standings["rows"])


class Running:
    """A process of `croupier run` on a cluster, and its output so far."""

    def __init__(self, cup: Path, address: str) -> None:
        self._told = cup.with_name("told")
        command = [*CROUPIER, "-C", str(cup), "run", "--progress", "json", "--cluster", address]
        with self._told.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=environment(), start_new_session=True)

    def events(self) -> list[dict[str, Any]]:
        """Return the events that it has printed."""
        lines = self._told.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    def finished(self) -> list[str]:
        """Return the fixtures that it has finished."""
        return [event["fixture"] for event in self.events() if "fixture" in event]

    def said(self) -> str:
        """Return the messages that it has printed."""
        return "\n".join(event["text"] for event in self.events() if event.get("ev") == "say")

    def until(self, true: Callable[[], object]) -> None:
        """Wait until a condition is true; fail if the run ends before."""
        until(lambda: true() or self.process.poll() is not None)
        assert self.process.poll() is None, self._told.read_text()


@pytest.mark.long
def test_a_machine_that_dies_costs_its_fixture_and_nothing_else(native: Path, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    with machines("alice", "bob") as standing:
        run = Running(cup, standing.address)
        run.until(lambda: "2 workers" in run.said() or re.search("worker (alice|bob) at ", run.said()))
        run.until(lambda: len(run.finished()) >= 2 and len(standing.players("bob")) > 1)  # it plays with its bots
        orphans = standing.players("bob")
        standing.kill("bob")
        until(lambda: not any(map(psutil.pid_exists, orphans)))
        assert run.process.wait(300) == 0
    assert "worker bob" in run.said()
    assert "is played again" in run.said()
    assert len(run.finished()) == len(set(run.finished())) == TOURNEYS
    assert outcome(cup) == outcome(native)


@pytest.mark.long
def test_a_scheduler_that_dies_may_come_back(native: Path, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    with machines("alice") as standing:
        run = Running(cup, standing.address)
        run.until(lambda: len(run.finished()) >= 2)
        standing.kill_scheduler()
        until(lambda: standing.workers["alice"].poll() is not None)  # a worker ends when its scheduler has ended
        standing.start_scheduler()
        standing.start("alice")
        standing.start("bob")  # a machine that joins during a run is given work, too
        assert run.process.wait(300) == 0
    assert "worker bob at " in run.said()
    assert len(run.finished()) == len(set(run.finished())) == TOURNEYS
    assert outcome(cup) == outcome(native)


@pytest.mark.long
def test_ctrl_c_sends_all_bots_home_and_the_same_command_goes_on(native: Path, two: Machines, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS, more=f'[run]\ncluster = "{two.address}"\n')
    run = Running(cup, two.address)
    run.until(lambda: len(run.finished()) >= 2)
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 5
    until(lambda: not two.players("alice") and not two.players("bob"))
    before = len(run.finished())
    done = croupier_process("-C", cup, "run", "--progress", "json")
    assert done.code == 0
    assert sum('"fixture"' in line for line in done.out.splitlines()) == TOURNEYS - before
    assert outcome(cup) == outcome(native)


@pytest.mark.long
def test_an_organiser_who_has_gone_leaves_no_bot_behind(tmp_path: Path) -> None:
    impatient = "import host.backends.dask_worker as r; r.HEARTBEAT_TIMEOUT_S = 6; "
    impatient += "from distributed.cli.dask_worker import main; main()"
    with machines() as standing:
        words = [standing.address, "--name", "alice", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
        words += ["--local-directory", str(tmp_path)]
        standing.workers["alice"] = subprocess.Popen([sys.executable, "-P", "-c", impatient, *words], env=environment())
        run = Running(cup_in(tmp_path / "cup", tourneys=10_000), standing.address)
        run.until(lambda: len(run.finished()) >= 1)
        run.process.kill()
        run.process.wait()
        until(lambda: not standing.players("alice"))


@pytest.mark.long
def test_a_connection_that_closes_while_a_result_is_fetched_is_a_lost_one(two: Machines) -> None:
    async def fetch() -> None:
        client = DaskClient(two.address)
        async with trio.open_nursery() as nursery:
            await nursery.start(client.run)
            while not client.workers:
                await trio.sleep(0.01)
            with pytest.raises(ConnectionLost):  # Dask raises what this function does, at that moment
                await client.call(
                    min(client.workers.values()), convert_stream_closed_error, "a stream", StreamClosedError()
                )
            nursery.cancel_scope.cancel()

    trio.run(fetch)


@pytest.mark.long
def test_a_machine_forgets_a_worker_that_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[weakref.ref[subprocess.Popen[bytes]]]()

    def start() -> subprocess.Popen[bytes]:
        worker = start_worker()
        started.append(weakref.ref(worker))
        return worker

    monkeypatch.setattr(dask_worker, "start_worker", start)
    dask_worker.begin("forgets", b"no setup", PlacementRequest("free", workers=1))
    try:
        (failed,) = dask_worker.play("forgets", [b"a job"], 1)  # the worker reports the setup, and ends
        assert b"failed" in failed
        assert dask_worker.play("forgets", [b"a job"], 1) == [b""]
        gc.collect()
        assert started and not any(worker() for worker in started)
    finally:
        dask_worker.stop("forgets")


# Clusters that are refused, and machines named in the error.


def refusal(cup: Path, address: str) -> str:
    """Return the error of a run that is refused."""
    done = croupier_process("-C", cup, "run", "--cluster", address)
    assert done.code == 6, done.err
    assert not (cup / "run" / "run.sqlite").exists()
    return done.err


def unready(address: str) -> list[Problem]:
    """Return the problems reported if the organiser does not wait."""

    async def demand() -> None:
        async with cluster(address, print, reconnect_timeout=0.3) as venue:
            await venue.demand(DEFAULT_LEVEL)

    with pytest.raises(BaseExceptionGroup) as raised:
        trio.run(demand)
    (refused,) = raised.value.exceptions
    assert isinstance(refused, UserError)
    return refused.problems


def present(address: str) -> list[str]:
    """Return the names of the workers that are connected."""
    with Client(address, set_as_default=False) as client:
        return [each["name"] for each in client.scheduler_info(n_workers=-1)["workers"].values()]


@pytest.mark.long
def test_a_scheduler_that_is_not_there() -> None:
    (problem,) = unready(f"tcp://{LOOPBACK}:9")
    assert str(problem).startswith(f"error[S010] tcp://{LOOPBACK}:9: no Dask scheduler answers")
    assert "dask scheduler" in problem.hint


@pytest.mark.long
def test_a_scheduler_without_workers() -> None:
    with machines() as standing:
        until(lambda: [problem.code for problem in unready(standing.address)] == ["S011"])


@pytest.mark.long
def test_a_machine_with_another_croupier_is_named_before_anything_is_played(two: Machines, tmp_path: Path) -> None:
    for package in ("host", "protocols"):
        shutil.copytree(ROOT / package, tmp_path / package)
    with (tmp_path / "host" / "match.py").open("a") as changed:
        changed.write("# another croupier of the same version\n")
    env = environment() | {"PYTHONPATH": str(tmp_path)}
    two.start("stranger", env)
    try:
        until(lambda: "stranger" in present(two.address))
        told = refusal(cup_in(tmp_path / "cup"), two.address)
    finally:
        two.stop("stranger")
    assert told.startswith("error[S012] worker stranger at tcp://")
    assert "run one image on all of them" in told


@pytest.mark.long
def test_a_scheduler_with_another_croupier_is_named_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "__init__.py").touch()
    with machines(scheduler=environment(PYTHONPATH=str(tmp_path))) as standing:
        standing.start("alice")
        told = refusal(cup_in(tmp_path / "cup"), standing.address)
    assert told.startswith("error[S012] the scheduler: has croupier none, and ")


@pytest.mark.long
@pytest.mark.parametrize(
    ("lacking", "code", "cure"), [("sbcl", "S005", "apt install sbcl"), ("bwrap", "S001", "apt install bubblewrap")]
)
@pytest.mark.one_in(2)
def test_a_machine_that_lacks_something_gets_no_work_by_name(
    lacking: str, code: str, cure: str, two: Machines, tmp_path: Path
) -> None:
    cup = cup_in(tmp_path / "cup", bots=[*FAST, "lisper.lisp"], tourneys=2)
    if shutil.which(lacking) is None or shutil.which("sbcl") is None:
        pytest.skip(f"NOT INSTALLED: {lacking}")
    two.start("poor", lacking=lacking)
    try:
        until(lambda: "poor" in present(two.address))
        done = croupier_process("-C", cup, "run", "--cluster", two.address, "--fresh")
    finally:
        two.stop("poor")
    assert done.code == 0, done.err
    (told,) = [line for line in done.err.splitlines() if "gets no work" in line]
    assert told.startswith("WARNING  worker poor at tcp://")
    assert f"[{code}]" in told
    assert cure in done.err


@pytest.mark.long
def test_nobody_plays_where_nobody_can_unless_that_is_said(tmp_path: Path) -> None:
    with machines() as standing:
        standing.start("poor", lacking="bwrap")
        cup = cup_in(tmp_path / "cup", tourneys=1)
        told = refusal(cup, standing.address)
        unsafe = croupier_process("-C", cup, "run", "--unsafe", "--cluster", standing.address)
    assert "error[S001] worker poor at " in told
    assert (unsafe.code, result_of(cup).standings["sandbox"]) == (0, "none")


@pytest.mark.long
def test_a_machine_whose_cache_cannot_be_written(tmp_path: Path) -> None:
    with machines() as standing:
        standing.start("full", environment(CROUPIER_CACHE="/proc/nowhere"))
        told = refusal(cup_in(tmp_path / "cup"), standing.address)
    assert "error[S013] worker full at " in told
    assert "/proc/nowhere" in told


@pytest.mark.long
def test_a_bot_that_does_not_build_is_refused_as_on_one_machine(two: Machines, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    (cup / "bots" / "wrong.c").write_text("int main(void) { return oops; }")
    done = croupier_process("-C", cup, "run", "--cluster", two.address)
    assert done.code == 4
    assert done.err.startswith("error[B010] wrong: does not build")


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path) -> None:
    without = "import sys; sys.modules['distributed'] = None; from host.cli import main; main()"
    words = ["-C", str(cup_in(tmp_path / "cup")), "run", "--cluster", "tcp://nowhere:8786"]
    command = [sys.executable, "-P", "-c", without, *words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert done.stderr.startswith("error[S008] ")
    assert "pip install '.[cluster]'" in done.stderr


def test_workers_of_this_machine_and_a_cluster_contradict_each_other(tmp_path: Path) -> None:
    both = croupier("-C", cup_in(tmp_path / "cup", more='[run]\nworkers = 2\ncluster = "tcp://there:8786"\n'), "run")
    assert (both.code, both.first.partition("]")[0]) == (3, "error[C013")
    one = cup_in(tmp_path / "other")
    said = croupier("-C", one, "run", "--workers", "2", "--cluster", "tcp://there:8786")
    assert (said.code, said.first.partition("]")[0]) == (2, "error[U001")
    assert croupier("-C", one, "run", "--cluster", "there:8786").first.startswith("error[U001")
