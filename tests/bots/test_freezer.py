"""A bot computes while it has a question, not while others think."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest
import trio
from helpers import AMPLE, CACHE, built, level, nothing_left_behind, written

from host.bots.bot_spec import BuiltBot
from host.bots.freezer import LONG_OFF_TURN_S, OFF_TURN_S, Freezer, FreezeState
from host.bots.monitor import Monitor
from host.bots.seat import Seat, open_seat
from host.bots.values import Batch, Question
from host.games import GAMES
from host.sandbox.bubblewrap import Home
from host.sandbox.keeper import Keeper
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.process_tree import descendants
from protocols.wire import Fault, FaultKind, Move

GAME = GAMES["cardshark"]
PONDERS = r"""
    #include <pthread.h>
    #include <stdio.h>

    static void *ponder(void *nothing)
    {
        for (;;) {}
        return nothing;
    }

    int main(void)
    {
        char line[8192];
        pthread_t thread;
        pthread_create(&thread, NULL, ponder, NULL);
        while (fgets(line, sizeof line, stdin)) puts("S"), fflush(stdout);
        return 0;
    }
"""
THINKS = """
    import sys, time

    for line in sys.stdin:
        time.sleep(0.1)
        print("S", flush=True)
"""
HASTY = """
    import sys, time

    for line in sys.stdin:
        print("S", flush=True)
        time.sleep(0.01)
        print("S", flush=True)
"""
ENOUGH = 0.5  # seconds of CPU time: more than a frozen bot uses, less than one that ponders, even on a loaded machine
pytestmark = pytest.mark.skipif(not level().traits.isolates, reason="NO SANDBOX HERE")


def bot_of(source: str, suffix: str, name: str) -> BuiltBot:
    """Build a long-lived bot."""
    folder = CACHE / "turns"
    folder.mkdir(exist_ok=True)
    return built(written(source, suffix, folder, name), protocol="lines")


async def asked(seat: Seat, number: int = 1) -> None:
    """Ask a seat one question."""
    assert await seat.ask(Batch([Question(number, 1, GAME.examples[0])])) == [Move("S")], seat.evidence


@asynccontextmanager
async def two_seats(
    one: BuiltBot, other: BuiltBot, home: Home | None = None, *, pondering: bool = False
) -> AsyncIterator[tuple[Seat, Seat, Sandbox]]:
    """Open seats for two bots under one monitor; yield the first one's sandbox as well, whose home may be given."""
    watcher = Monitor(pondering=pondering)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        async with (
            sandboxed(level(), home or Home(Path(one.folder)), AMPLE) as own,
            sandboxed(level(), Home(Path(other.folder)), AMPLE) as others,
            open_seat(one, GAME, own, 1, watcher) as seat,
            open_seat(other, GAME, others, 1, watcher) as other_seat,
        ):
            yield seat, other_seat, own
        nursery.cancel_scope.cancel()


def computed(sandbox: Sandbox) -> float:
    """Return the CPU seconds of all processes in a sandbox; the kernel counts in steps of 10 ms."""
    return sum(sum(process.cpu_times()[:2]) for process in descendants(sandbox.pid))


def beside_a_thinker(turns: int, *, pondering: bool) -> tuple[float, Seat]:
    """Return a ponderer's CPU seconds during another bot's turns, up to ENOUGH, and the ponderer's seat."""
    ponderer, thinker = bot_of(PONDERS, ".c", "ponderer"), bot_of(THINKS, ".py", "thinker")

    async def play() -> tuple[float, Seat]:
        async with two_seats(ponderer, thinker, pondering=pondering) as (seat, other, own):
            await asked(seat)
            await asked(other)
            before, total = computed(own), 0.0
            number = 1
            while number <= turns and total < ENOUGH:
                number += 1
                await asked(seat, number)
                before = computed(own)
                await asked(other, number)
                total += computed(own) - before
            await asked(seat, number + 1)
        return total, seat

    with nothing_left_behind():
        return trio.run(play)


@pytest.mark.timing
def test_a_bot_that_has_no_question_does_not_compute() -> None:
    total, seat = beside_a_thinker(10, pondering=False)

    assert not seat.faults
    assert total < ENOUGH
    assert seat.usage().pauses >= 10
    if level().traits.exact_cpu:
        assert 0 < seat.usage().pondered < ENOUGH


def test_a_bot_that_does_not_compute_is_paused_only_if_another_thinks_for_long() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        used = [1.0]
        measured = FreezeState(Freezer(), Keeper(ours, {}), lambda: used[0])
        unmeasured = FreezeState(Freezer(), Keeper(ours, {}))

        assert unmeasured.must_pause(OFF_TURN_S)
        assert not measured.must_pause(OFF_TURN_S)
        assert measured.must_pause(LONG_OFF_TURN_S)
        assert not measured.must_pause(OFF_TURN_S)

        measured.resume()
        used[0] += 2.0  # in its own turn
        assert not measured.must_pause(OFF_TURN_S)

        used[0] += 0.001
        assert measured.must_pause(OFF_TURN_S)

        measured.resume()
        assert measured.must_pause(OFF_TURN_S)  # it has done so before


def test_a_bot_that_has_computed_between_two_looks_is_found_by_its_next_question() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        used = [1.0]
        turn = FreezeState(Freezer(), Keeper(ours, {}), lambda: used[0])

        assert not turn.must_pause(OFF_TURN_S)
        used[0] += 0.002
        assert turn.must_resume
        turn.resume()
        turn.mark_idle()

        assert not turn.must_resume
        assert turn.must_pause(OFF_TURN_S)


def test_the_host_wakes_up_twice_during_an_answer_to_look_at_a_bot_without_a_question() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        freezer = Freezer()
        turn = FreezeState(freezer, Keeper(ours, {}), float)
        freezer.slow_since = 10.0
        assert freezer.until_look(10.0) == inf

        turn.mark_idle()
        turn.since = 9.0  # long before the question
        assert freezer.until_look(10.0) == pytest.approx(OFF_TURN_S)
        assert freezer.until_look(10.002) == pytest.approx(LONG_OFF_TURN_S - 0.002)
        assert freezer.until_look(10.007) == pytest.approx(OFF_TURN_S)  # it should have been stopped

        turn.since = 10.001  # another bot's answer has been slow since 10.0
        assert freezer.until_look(10.001) == pytest.approx(OFF_TURN_S)


@pytest.mark.timing
def test_a_bot_is_paused_beside_one_that_thinks_for_a_few_milliseconds_each_time() -> None:
    source = """
        import sys, time

        for line in sys.stdin:
            time.sleep(0.003)
            print("S", flush=True)
    """
    ponderer, thinker = bot_of(PONDERS, ".c", "ponderer"), bot_of(source, ".py", "brief")

    async def play() -> Seat:
        async with two_seats(ponderer, thinker) as (seat, other, _):
            for number in range(1, 21):
                for each in (seat, other):
                    question = Question(number, 1, GAME.examples[0])
                    answer = await each.ask_one(question)
                    assert answer == Move("S"), each.evidence
                await trio.lowlevel.checkpoint()
        return seat

    with nothing_left_behind():
        seat = trio.run(play)
    assert not seat.faults
    assert seat.usage().pauses >= 15


@pytest.mark.timing
def test_where_pondering_is_allowed_it_may() -> None:
    total, seat = beside_a_thinker(200, pondering=True)

    assert not seat.faults
    assert total >= ENOUGH
    assert seat.usage().pauses == 0


def test_whoever_has_died_of_speaking_early_is_not_taken_for_one_without_a_question() -> None:
    hasty, thinker = bot_of(HASTY, ".py", "hasty"), bot_of(THINKS, ".py", "thinker")

    async def play() -> Seat:
        async with two_seats(hasty, thinker) as (seat, other, _):
            while await seat.ask(Batch([Question(1, 1, GAME.examples[0])])) != [Fault(FaultKind.EARLY)]:
                await trio.sleep(0.05)  # a host that was slow to read has received both lines together
            await asked(other)
            await seat.ask(Batch([Question(2, 1, GAME.examples[0])]))
        return seat

    with nothing_left_behind():
        assert trio.run(play).usage().pauses == 0


@pytest.mark.timing
def test_whoever_was_stopped_ends_in_good_order() -> None:
    source = """
        import sys

        for line in sys.stdin:
            print("S", flush=True)
        open("memory.bin", "w").write("goodbye")
    """
    polite, thinker = bot_of(source, ".py", "polite"), bot_of(THINKS, ".py", "thinker")
    state = CACHE / "turns-state"
    state.touch()
    shown = CACHE / "turns-with-state"
    shown.mkdir()
    (shown / "memory.bin").touch()
    (shown / "polite.py").write_bytes(Path(polite.folder, "polite.py").read_bytes())

    async def play() -> None:
        home = Home(shown, state=state, state_name="memory.bin")
        async with two_seats(polite, thinker, home) as (seat, other, own):
            await asked(seat)
            await asked(other)
            (process,) = descendants(own.pid)
            while process.status() != "stopped":
                await trio.sleep(0.001)

    def said() -> bool:
        with nothing_left_behind():
            trio.run(play)
        return state.read_text() == "goodbye"

    assert any(said() for _ in range(10))  # on a busy machine, the bot's 50 ms may end before it has run
