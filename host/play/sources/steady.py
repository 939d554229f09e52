"""Keeps the tables of a source through its failures: a fresh source is given the answers so far, and goes on."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from host.play.records import Undecided, spelled_answer
from host.play.sources.source import Opened, OpenSource, Source, SourceFailed, SourcePlace, Step
from host.play.table_plans import TableSetup
from host.play.transcript import MAX_TRANSCRIPT_BYTES, are_same, encode_step, join_steps
from protocols.wire import Answer

MAX_FAILURES_IN_A_ROW = 5
"""Failures without a new step of any table after which a fixture is undecided, wherever they happen."""

MAX_FAILURES = 50
"""Failures after which a fixture is undecided even if its tables go on: each costs a start, and all answers again."""


class FixtureUndecided(Exception):
    """Raised when a fixture cannot be played to its end because its game has failed."""

    def __init__(self, why: Undecided) -> None:
        super().__init__(why.reason)
        self.why = why


class SourceTable:
    """A table of a source: what it was given and what it has said, step by step. A fresh source needs no more to go on."""

    def __init__(self, opened: Opened, seated: Sequence[str], *, keeps_transcript: bool) -> None:
        """`seated` are the bots by seat. `number` is that of the table in its source."""
        self.opened, self.number, self.seated = opened, opened.number, seated
        self.given: list[Sequence[Answer]] = []  # the answers to the requests of each step
        self.steps: list[Step] = []  # what it has said; the first is that of its beginning
        self.encoded: list[bytes] | None = [] if keeps_transcript else None  # the same, for the record
        self.last = Step()

    @property
    def answers(self) -> list[Answer]:
        """All answers that the table was given, in their order."""
        return [answer for some in self.given for answer in some]

    @property
    def transcript(self) -> bytes:
        """All that the table has said, if a record needs it."""
        return b"" if self.encoded is None else join_steps(self.encoded)

    def undecided(self, step: int, reason: str, said: bytes = b"", where: str = "") -> Undecided:
        """Return why its fixture is undecided if the source fails at a step."""
        answers = [answer for some in self.given[:step] for answer in some]
        given_by = [self.seated[seat] for seat, _ in self.steps[step - 1].requests] if step else ()
        setup = self.opened.setup
        return Undecided(
            reason=reason,
            where=where,
            table=setup.path,
            rules=setup.rules._asdict(),
            luck=setup.luck or setup.path,
            bots=setup.bots,
            answers=",".join(map(spelled_answer, answers)),
            given_by=tuple(dict.fromkeys(given_by)),
            said=said,
            transcript=self.transcript,
        )


class _Place(NamedTuple):
    """A step of a table: how often the table had been given answers."""

    table: int
    step: int


class SteadySource:
    """The source of one worker. After a failure it is opened again and given all answers: no bot is asked again.

    `failures` has a sentence for each failure since the last `begin_fixture`.
    """

    def __init__(self, open_source: OpenSource, place: SourcePlace, *, keeps_transcripts: bool = True) -> None:
        """Records need transcripts of rules that nothing but their program knows."""
        self._open_source, self._place, self._keeps_transcripts = open_source, place, keeps_transcripts
        self._source: Source | None = None
        self._block = AsyncExitStack()
        self._number = 0  # of the last table
        self._tables: dict[int, SourceTable] = {}  # that are not over
        self._failed = set[_Place]()
        self._in_a_row = self._bytes = 0
        self.failures: list[str] = []

    async def close(self) -> None:
        """Close the source. It is opened again when it is needed."""
        import trio  # here: commands that only read results import this module, and trio takes longer than they do

        block, self._block, self._source = self._block, AsyncExitStack(), None
        with trio.CancelScope(shield=True):
            await block.aclose()

    async def begin_fixture(self) -> None:
        """Forget the tables and the failures of the fixture before."""
        left, self._tables = [*self._tables], {}
        self._failed, self._in_a_row, self._bytes, self.failures = set(), 0, 0, []
        if left and self._source is not None:  # its fixture was not played to the end
            try:
                await self._source.advance((), {}, left)
            except SourceFailed:
                await self.close()

    def table(self, setup: TableSetup, root: bytes, seated: Sequence[str]) -> SourceTable:
        """Return a new table, which `advance` can open."""
        self._number += 1
        return SourceTable(Opened(self._number, setup, root), seated, keeps_transcript=self._keeps_transcripts)

    async def advance(self, opened: Sequence[SourceTable], answers: Mapping[int, Sequence[Answer]]) -> None:
        """Open new tables, and give tables the answers to all their open requests. Then `last` of each says what follows.

        Raise FixtureUndecided if the source fails twice at the same step of a table, and UserError as `Source.advance`.
        """
        under_way = bool(self._tables)
        self._tables |= {table.number: table for table in opened}
        for number, given in answers.items():
            self._tables[number].given.append(given)
        due = [*(table.number for table in opened), *answers]
        try:
            if self._source is None and not under_way:
                self._source = await self._block.enter_async_context(self._open_source(self._place))
            if self._source is not None:
                said = await self._source.advance([table.opened for table in opened], answers, ())
                for number in due:
                    self._add(self._tables[number], said[number])
        except SourceFailed as failed:
            tables = [] if self._source is None else due if failed.table is None else [failed.table]
            await self._note(failed, [_Place(number, len(self._tables[number].given)) for number in tables])
        while self._source is None:
            await self._begin_again()
        self._in_a_row = 0
        self._tables = {number: table for number, table in self._tables.items() if table.last.requests}

    def _add(self, table: SourceTable, said: Step) -> None:
        """Add a step to a table. Raise FixtureUndecided if the fixture has more than a record can hold."""
        if table.encoded is not None:
            encoded = encode_step(said)
            self._bytes += len(encoded)
            if self._bytes > MAX_TRANSCRIPT_BYTES:
                reason = f"the questions and events of its tables have more than {MAX_TRANSCRIPT_BYTES >> 20} MiB"
                raise FixtureUndecided(table.undecided(len(table.steps), reason))
            table.encoded.append(encoded)
        table.steps.append(said)
        table.last = said

    async def _begin_again(self) -> None:
        """Give a fresh source all tables one after the other, so that it is known at which of them it fails."""
        places = list[_Place]()  # where it fails; none if it does not start
        try:
            source = await self._block.enter_async_context(self._open_source(self._place))
            for table in self._tables.values():
                for step in range(len(table.given) + 1):
                    places = [_Place(table.number, step)]
                    opened = () if step else (table.opened,)
                    given = {table.number: table.given[step - 1]} if step else {}
                    said = (await source.advance(opened, given, ()))[table.number]
                    if step == len(table.steps):
                        self._add(table, said)
                    elif not are_same(encode_step(said), encode_step(table.steps[step])):
                        raise SourceFailed("given the same answers, it said something else than before", table.number)
            self._source = source
        except SourceFailed as failed:
            await self._note(failed, places)

    async def _note(self, failed: SourceFailed, places: Sequence[_Place]) -> None:
        """Close a source that has failed at one of these places, or when it started if there are none.

        Raise FixtureUndecided if that was once too often.
        """
        await self.close()
        self._in_a_row += 1
        again = next((place for place in places if place in self._failed), None)
        if len(places) == 1:  # of several tables it is not known which one failed; each is then given its answers alone
            self._failed |= {*places}
        place = again or next(iter(places), _Place(next(iter(self._tables)), 0))
        table = self._tables[place.table]
        self.failures.append(f"{table.opened.setup.path}: the game failed: {failed.reason}")
        if again or self._in_a_row >= MAX_FAILURES_IN_A_ROW or len(self.failures) >= MAX_FAILURES:
            raise FixtureUndecided(table.undecided(place.step, failed.reason, failed.said, failed.where)) from failed
