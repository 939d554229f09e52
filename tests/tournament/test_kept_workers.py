"""Workers that are kept between runs: any of them may be killed at any moment, nothing is lost, and nobody notices."""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import trio
from command import ROOT, environment
from failing_games import LEAGUE, set_mode, tournament
from helpers import workers_of
from season_fixtures import STANDS, season, terms_of

import croupier
from host.backends.kept import KeptWorkers

KILLS = [4, pytest.param(200, marks=pytest.mark.proof)]
BOTS = ["sample:neptr", "sample:nestor"]
MOST_DELAY_S = 0.05  # from the start of a run to the death of a worker that was idle


@contextmanager
def one_killed(luck: random.Random) -> Iterator[None]:
    """Kill one of the workers of this process at a random moment: before the block, or while it begins."""
    victims = workers_of(os.getpid())
    delay = luck.uniform(-0.2 * MOST_DELAY_S, MOST_DELAY_S)

    def kill() -> None:
        with suppress(psutil.NoSuchProcess):
            luck.choice(victims).kill()

    timer = threading.Timer(max(delay, 0.0), kill)
    if delay < 0:
        kill()
    else:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if delay >= 0:
            timer.join()


@pytest.mark.long
@pytest.mark.parametrize("kills", KILLS)
def test_idle_workers_of_a_program_are_killed_and_nobody_notices(kills: int) -> None:
    def play() -> tuple[object, object]:
        done = croupier.play("pazaak", BOTS, tables=8, seed=3, workers=2, progress=False)
        return sorted(done.table_rows(), key=lambda row: (row["table"], row["seat"])), done.values

    luck, first = random.Random(kills), play()
    for _ in range(kills):
        assert workers_of(os.getpid())
        with one_killed(luck):
            assert play() == first


@pytest.mark.long
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.proof)])
def test_idle_workers_of_a_season_are_killed_and_nobody_notices(kills: int, tmp_path: Path) -> None:
    luck, workers = random.Random(kills), KeptWorkers()
    with season(tmp_path, terms_of(references=(ROOT / "sample_bots" / "pazaak" / "neptr",), tables=4)) as opened:
        opened.intake.terms = opened.intake.terms._replace(executor=workers.executor, workers=2)

        async def examine() -> None:
            try:
                for number in range(kills + 1):
                    name = f"bot{number}"
                    opened.author(name)
                    opened.submit(name, f"{name}.py", f"{STANDS}# {number}\n")
                    if number:
                        with one_killed(luck):
                            found = await opened.intake.examine_next()
                    else:
                        found = await opened.intake.examine_next()
                    assert found is not None and found.state == "accepted", found
                    assert workers_of(os.getpid())
            finally:
                with trio.CancelScope(shield=True):
                    await workers.close()

        trio.run(examine)


PROGRAM = """
import croupier

bots = ["sample:neptr", "sample:nestor"]
print(croupier.play("pazaak", bots, tables=2, seed=3, workers=1, progress=False).tables)
try:
    croupier.play(None, ["cyd", "ada"], tables=4, workers=1, folder="cup", progress=False)
except croupier.Error as failed:
    print(failed.code, failed.message)
print(croupier.play("pazaak", bots, tables=2, seed=3, workers=1, progress=False).tables)
"""


@pytest.mark.long
def test_a_kept_worker_plays_an_own_game_that_never_returns_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE, bots=("ada", "cyd"), often=1)
    set_mode(folder, "always endless")  # its rules then have half a second

    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=True
    )

    first, failed, last = done.stdout.splitlines()
    assert first == last == "2"
    assert failed.startswith("C020") and "failed at table play/ada+cyd/" in failed


AFTER_OWN_RULES = """
import psutil
import croupier

def workers():
    return {each.pid for each in psutil.Process().children() if "host.play.worker" in each.cmdline()}

croupier.play("pazaak", ["sample:neptr", "sample:nestor"], tables=2, workers=1, progress=False)
kept = workers()
print(croupier.play(None, ["cyd", "ada"], tables=2, workers=1, folder="cup", progress=False).tables)
print(len(kept), len(workers()), len(kept & workers()))
"""


@pytest.mark.long
def test_a_kept_worker_that_got_an_own_game_is_not_kept_after_it(tmp_path: Path) -> None:
    tournament(tmp_path / "cup", "GAME", LEAGUE, bots=("ada", "cyd"), often=1)

    command = [sys.executable, "-c", AFTER_OWN_RULES]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=True
    )

    assert done.stdout.splitlines() == ["2", "1 0 0"]
