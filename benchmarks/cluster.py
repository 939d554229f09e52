"""Measure the cost of a cluster: Pazaak fixtures on local workers, on Dask workers, and on a Dask worker in a container.

    python benchmarks/cluster.py [--rounds 5] [--tables 10000] [--level L3]

Machines are shared, so all contenders are started first and then take turns, round by round. Prints medians and ratios,
and what a fixture of one table takes, which is nearly all overhead, also as a multiple of the bare spawn of two C processes.
Without a Docker engine or the image croupier:all, the container is omitted with a message.
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import msgspec
import trio
from floors import Floors
from pazaak import GAME, RULES, SEED, bare

from host.backends.backend import open_backend
from host.backends.local import local_workers
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.discovery import load_submission
from host.submissions.examine import prepare_bots
from host.submissions.sample_bots import sample
from host.tournament.stage_runner import WorkerPool

ROOT = Path(__file__).parents[1]
SHORT_FIXTURES = 60  # of one table, in each round
NAMES = ("dumb_bold", "dumb_cautious")
SPECS = [load_submission(sample(name, "pazaak")) for name in NAMES]


def job(number: int, tables: int) -> Job:
    """Return one fixture."""
    return Job(Fixture("pazaak", RULES, "independent", f"bench/pair/{number}", NAMES, tables))


@contextlib.contextmanager
def started(*words: str) -> Iterator[None]:
    """Run a process until the block ends, and discard its output."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(words, stdout=quiet, stderr=quiet, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def dask(program: str, *words: str) -> tuple[str, ...]:
    """Return the command of a scheduler or a worker."""
    return (sys.executable, "-P", "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *words)


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("", 0)) as free:
        return int(free.getsockname()[1])


ONE = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", "/tmp")


@contextlib.asynccontextmanager
async def on_dask(
    setup: WorkerSetup, say: object, workers: int, *, container: bool = False
) -> AsyncIterator[WorkerPool]:
    """Play on a new cluster with a number of workers of one thread each, optionally in containers."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            started(*dask("scheduler", "--host", "0.0.0.0" if container else "127.0.0.1", "--port", str(port)))
        )
        for number in range(workers):
            if container:
                stack.enter_context(started(*contained(f"tcp://{gateway()}:{port}", number)))
            else:
                stack.enter_context(started(*dask("worker", f"tcp://127.0.0.1:{port}", *ONE)))
        async with open_backend(f"tcp://127.0.0.1:{port}", print) as there:
            await trio.sleep(8)  # wait for all of them
            level = await there.demand(setup.level)
            await there.ready(SPECS, GAME, setup.bots[0].limits, level, lambda _name, _took: None)
            async with there.executor(setup, print, 0) as hands:
                assert hands.count == workers, hands.description
                yield hands


def gateway() -> str:
    """Return this machine's address as its containers see it, or "" without an engine or image."""
    if shutil.which("docker") is None:
        return ""
    if subprocess.run(["docker", "image", "inspect", "croupier:all"], capture_output=True, check=False).returncode:
        return ""
    asked = ["docker", "network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def contained(address: str, number: int) -> tuple[str, ...]:
    """Return the command of a worker in a container, isolated as in docker/compose.yaml."""
    return (
        *("docker", "run", "--rm", "--init", "--name", f"croupier-bench-{os.getpid()}-{number}", "--read-only"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", "apparmor=unconfined"),
        *("--security-opt", f"seccomp={ROOT / 'docker' / 'seccomp.json'}", "--tmpfs", "/tmp", "--tmpfs"),
        *("/cache:exec,mode=1777", "--entrypoint", "dask", "croupier:all", "worker", address, "--no-dashboard", *ONE),
    )


async def rate(hands: WorkerPool, fixtures: int, tables: int) -> tuple[float, float]:
    """Return the tables per second of a number of fixtures, and croupier's CPU time per table in µs."""
    began, computed, done = time.perf_counter(), 0.0, 0
    for number in range(fixtures):
        await hands.submit(job(number, tables))
        while hands.has_result:  # as a run does: fixtures are handed out while records are taken
            computed, done = computed + (await hands.next_result()).overhead, done + 1
    computed += sum([(await hands.next_result()).overhead for _ in range(fixtures - done)])
    return fixtures * tables / (time.perf_counter() - began), computed / (fixtures * tables) * 1e6


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    asked = parser.parse_args()
    bots = (await prepare_bots(SPECS, GAME, SPECS[0].limits, asked.level)).bots
    setup = WorkerSetup(GAME, RULES, tuple(bots), SEED, asked.level)
    ways = {
        "native, one worker": (local_workers, 1),
        "native, two workers": (local_workers, 2),
        "Dask, one worker": (on_dask, 1),
        "Dask, two workers": (on_dask, 2),
    }
    if gateway():
        ways["Dask, one worker in a container"] = (partial(on_dask, container=True), 1)
    else:
        print("no Docker engine with an image croupier:all: containers are not measured")
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    shorts: dict[str, list[float]] = {name: [] for name in ways}  # ms for each fixture of one table
    engines = []
    async with contextlib.AsyncExitStack() as stack:
        floors = Floors(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        standing = {
            name: (await stack.enter_async_context(way(setup, print, workers)), workers)
            for name, (way, workers) in ways.items()
        }
        for hands, workers in standing.values():
            await rate(hands, workers, 500)  # so that sandboxes exist and bots are warm
        for _ in range(asked.rounds):
            engines.append(bare(2000))
            floors.measure()
            for name, (hands, workers) in standing.items():
                speeds[name].append(await rate(hands, workers, asked.tables))
                shorts[name].append(1000 / (await rate(hands, SHORT_FIXTURES, 1))[0])
        hands, _ = standing["native, one worker"]
        await hands.submit(job(0, asked.tables))
        record = await hands.next_result()
    sent, received = len(msgspec.json.encode(job(0, asked.tables))), len(msgspec.json.encode(record))
    decisions = sum(usage.questions for usage in record.usage.values()) / asked.tables
    base = speeds["native, one worker"]
    print(f"level {asked.level} · fixtures of {asked.tables:,} tables · {asked.rounds} interleaved rounds, medians\n")
    heads = f"{'tables/s':>10}{'decisions/s':>13}{'of one native worker':>22}{'worker CPU a table':>20}"
    print(f"{'':<34}{heads}{'one table':>12}{'of two spawns':>15}")
    for name, measured in speeds.items():
        of = median(mine[0] / native[0] for mine, native in zip(measured, base, strict=True))
        speed, computed = median(each[0] for each in measured), median(each[1] for each in measured)
        rates = f"{speed:>10,.0f}{speed * decisions:>13,.0f}{100 * of:>20.0f} %"
        short = median(shorts[name])
        print(f"{name:<34}{rates}{computed:>17.0f} µs{short:>9.1f} ms{short / 2000 / floors.spawn:>13.0f} x")
    print(f"\n{floors.text()}")
    print(f"the bare engine: {median(engines):,.0f} decisions/s · {decisions:.1f} decisions a table")
    print(f"a fixture moves {sent:,} bytes there and {received:,} bytes back, {received / asked.tables:.1f} a table")


if __name__ == "__main__":
    trio.run(main)
