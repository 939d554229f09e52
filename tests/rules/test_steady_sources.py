"""A source that fails is opened again and given the same answers, step by step; it is not believed twice."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import pytest
import trio

from host.bots.monitor import running_monitor
from host.games.engine import Request
from host.play.sources.source import NewTable, Source, SourceFailed, SourcePlace, Step
from host.play.sources.steady import MAX_FAILURES_IN_A_ROW, FixtureUndecided, SourceTable, SteadySource
from host.play.table_plans import TableSetup
from host.play.transcript import (
    MAX_TRANSCRIPT_BYTES,
    are_same,
    decode_steps,
    encode_step,
    join_steps,
    pack_transcript,
    unpack_transcript,
)
from host.sandbox.levels import UNPROTECTED
from protocols.wire import Answer, Move


class Rules(NamedTuple):
    seats: int = 2


class View(NamedTuple):
    number: int
    heard: tuple[int, ...] = ()


BOTS = ("ada", "bob")
STEPS = 4  # of a table: then it is over


class Script(NamedTuple):
    """What goes wrong: the starts of the source at which each fault happens, counted from 1, by table and step."""

    fails: Mapping[tuple[str, int], Collection[int]] = {}
    lies: Mapping[tuple[str, int], Collection[int]] = {}
    starts: Collection[int] = ()  # that fail
    knows: bool = True  # whether it says at which table it has failed
    padding: str = ""
    room: int = 1000  # tables that it can hold


class Scripted:
    """A source whose tables ask both seats together, and that does as its script says."""

    def __init__(self, script: Script, start: int, heard: list[str]) -> None:
        self._script, self._start, self._heard = script, start, heard
        self._tables: dict[int, tuple[str, int, tuple[int, ...]]] = {}

    async def advance(
        self, opened: Sequence[NewTable], answers: Mapping[int, Sequence[Answer]], dropped: Collection[int]
    ) -> Mapping[int, Step]:
        await trio.lowlevel.checkpoint()
        for number in dropped:
            self._heard.append(f"{self._start}: drop {self._tables.pop(number)[0]}")
        for number, setup, _ in opened:
            self._tables[number] = setup.path, 0, ()
        if len(self._tables) > self._script.room:
            raise SourceFailed("it has no room")
        for number, given in answers.items():
            path, step, heard = self._tables[number]
            self._heard.append(f"{self._start}: {path} {' '.join(map(str, given))}")
            self._tables[number] = path, step + 1, (*heard, *(each.n for each in given if isinstance(each, Move)))
        return {number: self._said(number) for number in [*(each.number for each in opened), *answers]}

    def _said(self, number: int) -> Step:
        path, step, heard = self._tables[number]
        if self._start in self._script.fails.get((path, step), ()):
            raise SourceFailed("it has had enough", number if self._script.knows else None, b"ouch")
        if step == STEPS:
            del self._tables[number]
            return Step(scores=(sum(heard), -sum(heard)), moves=str(heard))
        if self._start in self._script.lies.get((path, step), ()):
            heard = (-1,)
        told = (("step", {"at": step, "padding": self._script.padding}),)
        return Step(tuple(Request(seat, View(step, heard)) for seat in (1, 0)), told=told)


class Played(NamedTuple):
    """The tables of a source after they were played, and what the source was given."""

    tables: Sequence[SourceTable]
    heard: Sequence[str]
    failures: Sequence[str]


def played(script: Script, tables: Sequence[str] = ("t/1",)) -> Played:
    """Play tables at the same time."""
    heard, starts = list[str](), iter(range(1, 1000))

    def open_source(_place: SourcePlace) -> AbstractAsyncContextManager[Source]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Source]:
            start = next(starts)
            if start in script.starts:
                raise SourceFailed("it does not start")
            yield Scripted(script, start, heard)
            heard.append(f"{start}: closed")

        return opened()

    async def work() -> Played:
        async with running_monitor() as monitor:
            source = SteadySource(open_source, SourcePlace(UNPROTECTED, (), monitor))
            await source.begin_fixture()
            found = [source.table(TableSetup(BOTS, Rules(), path), b"root", BOTS) for path in tables]
            await source.advance(found, {})
            for step in range(STEPS):
                await source.advance((), {table.number: [Move("GO", step), Move("GO", 10 * step)] for table in found})
            failures = source.failures
            await source.begin_fixture()
            await source.close()
            return Played(found, heard, failures)

    return trio.run(work)


def undecided(script: Script, tables: Sequence[str] = ("t/1",)) -> Any:
    """Return why a fixture is undecided."""
    with pytest.raises(FixtureUndecided) as raised:
        played(script, tables)
    return raised.value.why


RIGHT = played(Script()).tables[0]


def test_a_table_is_played_to_its_end() -> None:
    assert RIGHT.last.scores == (66, -66) and len(RIGHT.steps) == STEPS + 1 and len(RIGHT.answers) == 2 * STEPS


@pytest.mark.parametrize("step", range(STEPS + 1))
@pytest.mark.parametrize("knows", [True, False])
def test_a_fresh_source_gets_the_same_answers_and_nobody_is_asked_again(step: int, knows: bool) -> None:
    table, heard, failures = played(Script(fails={("t/1", step): [1]}, knows=knows)).tables[0], *_rest(step, knows)
    assert table.transcript == RIGHT.transcript and table.answers == RIGHT.answers
    assert failures == ["t/1: the game failed: it has had enough"]
    again = [line.removeprefix("2: ") for line in heard if line.startswith("2: t/1")]
    assert again == [f"t/1 GO {at} GO {10 * at}".replace(" 0", "") for at in range(STEPS)]


def _rest(step: int, knows: bool) -> Iterator[Sequence[str]]:
    found = played(Script(fails={("t/1", step): [1]}, knows=knows))
    yield found.heard
    yield found.failures


@pytest.mark.parametrize("step", range(STEPS + 1))
def test_a_second_failure_at_the_same_answer_is_final(step: int) -> None:
    why = undecided(Script(fails={("t/1", step): [1, 2]}))
    assert (why.reason, why.said, why.table, why.bots) == ("it has had enough", b"ouch", "t/1", BOTS)
    assert why.answer == 2 * step and why.given_by == (("bob", "ada") if step else ())
    assert len(decode_steps(why.transcript, View)) == step


def test_failures_at_different_answers_are_survived() -> None:
    found = played(Script(fails={("t/1", 1): [1], ("t/1", 2): [2], ("t/1", 4): [3]}))
    assert found.tables[0].transcript == RIGHT.transcript and len(found.failures) == 3


def test_a_source_that_fails_again_and_again_on_its_way_is_given_up() -> None:
    fails = {("t/1", step): [STEPS - step + 1] for step in range(STEPS + 1)}  # one step earlier each time
    fails |= {("t/1", 0): range(STEPS + 1, 100)}
    assert undecided(Script(fails=fails)).answer == 0
    assert undecided(Script(starts=range(1, 100))).reason == "it does not start"
    assert played(Script(starts=range(1, MAX_FAILURES_IN_A_ROW))).tables[0].transcript == RIGHT.transcript


def test_recovered_failures_of_different_tables_are_not_failures_in_a_row() -> None:
    tables = [f"t/{number}" for number in range(1, 2 * MAX_FAILURES_IN_A_ROW)]
    found = played(Script(fails={(path, 2): [start] for start, path in enumerate(tables, 1)}), tables)
    assert all(table.answers == RIGHT.answers for table in found.tables)
    assert len(found.failures) == len(tables)


def test_of_several_tables_the_one_that_failed_is_found() -> None:
    tables = [f"t/{number}" for number in range(1, 9)]
    found = played(Script(fails={("t/5", 2): [1]}, knows=False), tables)
    assert all(table.answers == RIGHT.answers for table in found.tables)
    why = undecided(Script(fails={("t/5", 2): range(1, 9)}, knows=False), tables)
    assert why.table == "t/5" and why.answer == 4
    two = Script(
        fails={("t/5", 2): [1, 2], ("t/7", 2): [3]}, knows=False
    )  # of the first, nobody knows which one it was
    assert len(played(two, tables).failures) == 3


@pytest.mark.parametrize("room", [1, 2, 3, 7])
def test_a_source_that_cannot_hold_all_tables_holds_fewer(room: int) -> None:
    tables = [f"t/{number}" for number in range(1, 65)]
    found = played(Script(room=room), tables)
    assert all(table.transcript == RIGHT.transcript for table in found.tables)
    assert 0 < len(found.failures) <= 6  # the number is halved
    why = undecided(Script(room=room, fails={("t/5", 2): range(100)}, knows=False), tables)  # also if one of them fails
    assert why.table == "t/5" and why.answer == 4


def test_a_source_that_says_something_else_than_before_has_failed() -> None:
    found = played(Script(fails={("t/1", 3): [1]}, lies={("t/1", 1): [2]}))
    assert found.failures[1] == "t/1: the game failed: given the same answers, it said something else than before"
    assert found.tables[0].transcript == RIGHT.transcript
    why = undecided(Script(fails={("t/1", 3): [1]}, lies={("t/1", 1): [2, 3]}))
    assert why.reason.startswith("given the same answers") and why.answer == 2


def test_a_fixture_has_a_bounded_transcript() -> None:
    padding = "x" * (MAX_TRANSCRIPT_BYTES // 3)
    why = undecided(Script(padding=padding))
    assert why.reason == "the questions and events of its tables have more than 64 MiB" and why.answer == 2 * 2


def test_tables_of_a_fixture_that_was_given_up_are_dropped() -> None:
    heard = list[str]()

    @asynccontextmanager
    async def opened(_place: SourcePlace) -> AsyncIterator[Source]:
        yield Scripted(Script(), 1, heard)

    async def work() -> None:
        async with running_monitor() as monitor:
            source = SteadySource(opened, SourcePlace(UNPROTECTED, (), monitor))
            await source.advance([source.table(TableSetup(BOTS, Rules(), "t/1"), b"", BOTS)], {})
            await source.begin_fixture()
            await source.advance([source.table(TableSetup(BOTS, Rules(), "t/2"), b"", BOTS)], {})
            await source.close()

    trio.run(work)
    assert heard == ["1: drop t/1"]


# Transcripts.


def test_a_transcript_is_read_as_it_was_written() -> None:
    steps = [
        Step((Request(1, View(3, (1, 2))),), limits=(0.5,), told=(("deal", {"seat": 0, "cards": ["2c"]}),)),
        Step((Request(0, View(4)), Request(1, View(5))), illegal=(0,)),
        Step(scores=(1, 0), moves=("x", "y")),
    ]
    table = join_steps(map(encode_step, steps))
    assert unpack_transcript(pack_transcript([table, table])) == [table, table]
    assert decode_steps(table, View) == tuple(steps)


def test_the_order_of_facts_is_kept_and_makes_no_difference() -> None:
    one, other = (Step(told=(("x", dict(facts)),)) for facts in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert encode_step(one) != encode_step(other) and are_same(encode_step(one), encode_step(other))
    assert [*decode_steps(join_steps([encode_step(other)]), View)[0].told[0][1]] == ["b", "a"]
    assert not are_same(encode_step(one), encode_step(Step()))


@pytest.mark.parametrize("damaged", [b"", b"x", pack_transcript([])[:-2], "text"])
def test_a_damaged_transcript_is_refused(damaged: Any) -> None:
    with pytest.raises(ValueError, match="transcript"):
        unpack_transcript(damaged)


def test_views_that_do_not_fit_are_refused() -> None:
    table = join_steps([encode_step(Step((Request(0, ("x", ())),)))])
    with pytest.raises(ValueError, match="Expected `int`"):
        decode_steps(table, View)
