"""The rounds of a season when the machine fails, when the process is started again, and after a backup was unpacked."""

import contextlib
import errno
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
import trio.testing
from season_fixtures import STANDS, season
from season_process import TestSeason

from host.base.errors import Problem, UserError
from host.config.tournament_config import load
from host.season.entries.store import Store
from host.season.folder import SeasonFolder, round_root
from host.season.rounds.play import MEETINGS, write_round
from host.season.rounds.round_loop import RoundPlayer
from host.season.rounds.scheduler import Meeting
from host.season.rounds.season import Season
from host.tournament.stage_runner import Backend

CANNOT_PLAY = UserError([Problem("R005", "", "has a damaged page")], 3)


class TwoAuthors(NamedTuple):
    """A season with a version of each of two authors."""

    folder: SeasonFolder
    store: Store

    def play(
        self,
        failure: UserError | None,
        until: str,
        over: Callable[[], None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, str]]:
        """Play rounds in a new process of the season, until a kind of event, or part of its text, has come.

        Return the kinds and the texts of its log. No table is played: after `prepare`, each round ends with the failure;
        without one it never does.
        """
        log, scope = list[tuple[str, str]](), trio.CancelScope()

        def tell(kind: str, _subject: str, text: str) -> None:
            log.append((kind, text))
            if kind == until or until in text:
                scope.cancel()

        @contextlib.asynccontextmanager
        async def backend(_log: Callable[[str], None]) -> AsyncIterator[Backend]:
            prepare()
            if failure:
                raise failure
            await trio.sleep_forever()
            yield

        opened = Season(self.folder, load(self.folder.path), self.store, tell)

        async def play() -> None:
            with scope:
                await RoundPlayer(opened, backend, 1).run(over)

        trio.run(play, clock=trio.testing.MockClock(autojump_threshold=0.1))  # no time passes between two tries
        return log


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoAuthors]:
    folder = SeasonFolder(TestSeason(tmp_path / "cup").folder)
    folder.create()
    folder.draw_seed()
    with season(folder.path) as here:
        here.accepted("ada", "adas.py", STANDS)
        here.accepted("grace", "graces.py", STANDS.replace("END", "STAND"))
        here.store.database.change("UPDATE version SET pace = 0")  # as measured, it decides how many tables a round has
        yield TwoAuthors(folder, here.store)


def test_a_season_waits_for_the_machine_whatever_fails_with_it(two: TwoAuthors) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")

    def over() -> None:
        raise ExceptionGroup("two tasks", [CANNOT_PLAY, full])

    assert "No space left on device" in two.play(CANNOT_PLAY, "waits", over)[-1][1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The folder above the season, as a disk of 24 MiB."""
    if os.getuid():
        pytest.skip("NOT ROOT: no disk can be mounted")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "croupier-test", tmp_path], check=True)
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.mark.long
def test_bots_that_fill_the_disk_while_they_are_prepared_a_third_time_stay_on_the_ladder(
    small_disk: Path, two: TwoAuthors
) -> None:
    tries = iter(range(1, 4))

    def prepare() -> None:
        if next(tries) == 3:
            (small_disk / "filled").write_bytes(bytes(20 << 20))

    no_start = UserError([Problem("B010", "adas-1", "does not start")], 6)
    log = two.play(no_start, "almost full", prepare=prepare)
    assert [kind for kind, _ in log] == ["round", "waits", "waits"]


@pytest.mark.long
def test_a_round_that_is_played_after_a_restart_says_once_that_it_goes_on(two: TwoAuthors) -> None:
    assert two.play(None, "round") == [("round", "begins: 2 versions, 10 tables")]
    lacks = UserError([Problem("S005", "adas-1", "its compiler is not installed")], 6)
    assert [kind for kind, _ in two.play(lacks, "waits")] == ["round", "waits"]
    assert two.play(None, "round") == [("round", "goes on")]


@pytest.mark.long
@pytest.mark.parametrize(
    "meeting",
    [
        pytest.param((4, "adas-1", "kims-1"), id="meetings"),
        pytest.param((10, "adas-1", "graces-1"), id="bots", marks=pytest.mark.long),
    ],
)
def test_a_folder_with_the_meetings_or_bots_of_another_round_is_kept_and_not_played(
    two: TwoAuthors, meeting: tuple[int, str, str]
) -> None:
    place, root = two.folder.round(1), round_root(two.folder.seed(), 1)
    tables, *names = meeting
    write_round(place, 1, root, load(two.folder.path), ["../../bots/before/adas-1"], [Meeting((*names,), tables)])
    (kind, text), *_ = two.play(None, "round")
    assert kind == "warning" and "had other meetings or bots than the store" in text
    aside, now = sorted(two.folder.rounds.iterdir(), reverse=True)
    assert now == place and aside.name in text
    assert {*(now / MEETINGS).read_text().split()} == {"10", "adas-1", "/", "graces-1"}
    assert (aside / MEETINGS).read_text() == f"{tables} {' / '.join(names)}\n"
    two.play(None, "round")
    assert sorted(two.folder.rounds.iterdir(), reverse=True) == [aside, now]
