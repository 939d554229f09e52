"""Keeps the tables of a source if the source fails: a fresh source gets the answers so far, and continues them."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, NoReturn

from host.base.errors import UserError
from host.play.records import Undecided, UndecidedCause, spelled_answer
from host.play.sources.source import NewTable, OpenSource, Source, SourceFailed, SourcePlace, Step
from host.play.table_plans import TableSetup
from host.play.transcript import MAX_TRANSCRIPT_BYTES, are_same, encode_step, join_steps
from protocols.wire import Answer

MAX_FAILURES_IN_A_ROW = 5
"""Failures without a new step of any table between them after which a fixture is undecided.

They count at whichever tables they happen. Only a failure of an unknown table among several does not count.
"""

MAX_ROOM = 1024
"""Maximum number of tables in one process. It is also the maximum of `parallel_tables`."""

MAX_FAILURES = 50
"""Failures in one fixture after which it is undecided even if its tables make progress.

After each failure the process must be started and given all answers again.
"""


class FixtureUndecided(Exception):
    """Raised when a fixture cannot be played to its end because its game has failed, or because it is too large."""

    def __init__(self, why: Undecided, *, lacks: bool = False) -> None:
        """`lacks` is whether the program could not begin a table here, or had too little time or memory."""
        super().__init__(why.reason)
        self.why, self.lacks = why, lacks


class SourceTable:
    """A table of a source: its steps so far, and the answers given to it.

    A fresh source can continue the table from them.
    """

    def __init__(self, opened: NewTable, seated: Sequence[str], *, keeps_transcript: bool) -> None:
        """`seated` has the bots by seat. The attribute `number` is the number of the table in its source."""
        self.opened, self.number, self.seated = opened, opened.number, seated
        self.given: list[Sequence[Answer]] = []  # the answers to the requests of each step
        self.steps: list[Step] = []  # the progress so far; the first step is the opening of the table
        self.encoded: list[bytes] | None = [] if keeps_transcript else None  # the steps, encoded for the record
        self.last = Step()

    @property
    def answers(self) -> list[Answer]:
        """Return all answers that were given to the table, in order."""
        return [answer for some in self.given for answer in some]

    @property
    def transcript(self) -> bytes:
        """Return the transcript of the table (transcript.py); b"" if the record needs none."""
        return b"" if self.encoded is None else join_steps(self.encoded)

    def refuse(self, reason: str, cause: UndecidedCause = "game") -> NoReturn:
        """Raise FixtureUndecided because of the last step of the table."""
        raise FixtureUndecided(self.undecided(len(self.given), reason)._replace(cause=cause))

    def undecided(self, step: int, reason: str, said: bytes = b"", where: str = "") -> Undecided:
        """Return why the fixture is undecided if the source fails at this step of the table, counted from 0."""
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


class _TableStep(NamedTuple):
    """A step of a table: the number of the table, and how many times the table had been given answers before."""

    table: int
    number: int


class SteadySource:
    """The source of one worker. After a failure it is opened again and given all answers again; no bot is asked again.

    A table can fail because its process holds too many other tables: each may need processes, threads and memory of its
    own. Therefore a failure counts against a table only if the process held no other table. If the process held several
    tables and the failed one is not known, the next process holds fewer tables.

    `failures` has a sentence for each failure since the last `begin_fixture`. `room` is how many tables the process
    holds at the same time. More tables can be in play. A table that the process does not hold is given all its earlier
    answers again before its next answers.
    """

    def __init__(
        self, open_source: OpenSource, place: SourcePlace, room: int = MAX_ROOM, *, keeps_transcripts: bool = True
    ) -> None:
        """`keeps_transcripts`: set it if only the program knows the rules. Then records need the transcripts of tables."""
        self._open_source, self._place, self._keeps_transcripts = open_source, place, keeps_transcripts
        self._source: Source | None = None
        self._block = AsyncExitStack()
        self._number = 0  # of the last table
        self._tables: dict[int, SourceTable] = {}  # that are not over
        self._held: tuple[int, ...] = ()  # numbers of the tables that the process holds, the last used at the end
        self._given: list[_TableStep] = []  # the steps that the process is working on; none while it starts
        self._failed = set[_TableStep]()
        self._suspect = 0  # the table that is given to a fresh process first, so that it is alone
        self._is_careful = False  # after a failure: tables are given to the process one by one
        self._in_a_row = self._bytes = 0
        self.room = self._usual_room = room
        self.failures: list[str] = []

    async def close(self) -> None:
        """Close the source. It is opened again when it is needed."""
        import trio  # here: commands that only read results import this module, and trio takes longer than they do

        block, self._block, self._source, self._held = self._block, AsyncExitStack(), None, ()
        with trio.CancelScope(shield=True):
            await block.aclose()

    async def begin_fixture(self) -> None:
        """Forget the tables and the failures of the last fixture, and let the process forget its tables."""
        left, self._tables, self._held = self._held, {}, ()
        self._failed, self._bytes, self.failures = set(), 0, []
        self._end_series()
        if left and self._source is not None:  # its fixture was not played to the end
            try:
                await self._source.advance((), {}, left)
            except SourceFailed:
                await self.close()

    def table(self, setup: TableSetup, root: bytes, seated: Sequence[str]) -> SourceTable:
        """Return a new table, which `advance` can open."""
        self._number += 1
        return SourceTable(NewTable(self._number, setup, root), seated, keeps_transcript=self._keeps_transcripts)

    async def advance(self, opened: Sequence[SourceTable], answers: Mapping[int, Sequence[Answer]]) -> None:
        """Open new tables, and give other tables the answers to all their open requests.

        Then `last` of each table is its new step. `answers` has the answers by number of the table. Raise
        FixtureUndecided if a table fails twice at the same step, or after too many failures. Raise UserError as
        `Source.advance` does, or if no sandbox can be made.
        """
        self._tables |= {table.number: table for table in opened}
        for number, given in answers.items():
            self._tables[number].given.append(given)
        due = [*(table.number for table in opened), *answers]
        while due:
            try:
                await self._give(due)
            except SourceFailed as failed:
                await self._note(failed, due[0])
            due = [number for number in due if len(self._tables[number].steps) <= len(self._tables[number].given)]
        self._end_series()
        self._tables = {number: table for number, table in self._tables.items() if table.last.requests}

    def _end_series(self) -> None:
        """Forget the failures in a row. From now on, give several tables to the process together again."""
        self._in_a_row, self._suspect, self._is_careful = 0, 0, False

    def _add(self, table: SourceTable, said: Step) -> None:
        """Add a step to a table. Raise FixtureUndecided if the fixture has more than a record can hold."""
        if table.encoded is not None:
            encoded = encode_step(said)
            self._bytes += len(encoded)
            if self._bytes > MAX_TRANSCRIPT_BYTES:
                reason = f"the questions and events of its tables have more than {MAX_TRANSCRIPT_BYTES >> 20} MiB"
                table.refuse(reason, "size")
            table.encoded.append(encoded)
        table.steps.append(said)
        table.last = said

    async def _give(self, due: Sequence[int]) -> None:
        """Open due tables in the process, or give it their last answers. Add the new step to each of these tables.

        Take as many due tables as the process has room for, or one table after a failure. A table that the process
        does not hold any more is first given all its earlier answers again. Raise SourceFailed if the process fails or
        says something different from before.
        """
        self._given = []
        if self._source is None:
            self._source = await self._block.enter_async_context(self._open_source(self._place))
        some = sorted(due, key=lambda number: (number != self._suspect, number not in self._held))
        tables = [self._tables[number] for number in some[: 1 if self._is_careful else self.room]]
        last = self._given = [_TableStep(table.number, len(table.given)) for table in tables]
        for table in await self._make_room(self._source, tables):
            for step, recorded in enumerate(table.steps):
                self._given = [_TableStep(table.number, step)]
                given = {table.number: table.given[step - 1]} if step else {}
                said = await self._source.advance(() if step else (table.opened,), given, ())
                if not are_same(encode_step(said[table.number]), encode_step(recorded)):
                    raise SourceFailed("given the same answers, it said something else than before", table.number)
        self._given = last
        answers = {table.number: table.given[-1] for table in tables if table.given}
        progress = await self._source.advance([table.opened for table in tables if not table.given], answers, ())
        for table in tables:
            self._add(table, progress[table.number])
        self._in_a_row = 0
        over = [table.number for table in tables if not table.last.requests]
        self._held = tuple([number for number in self._held if number not in over])

    async def _make_room(self, source: Source, tables: Sequence[SourceTable]) -> list[SourceTable]:
        """Make room for some tables in the process: let it drop others if it would hold too many.

        Return those of `tables` that the process has dropped or never had. It must be given their answers again.
        """
        numbers = [table.number for table in tables]
        others = [number for number in self._held if number not in numbers]
        dropped = others[: max(0, len(others) + len(numbers) - self.room)]
        lost = [table for table in tables if table.given and table.number not in self._held]
        self._held = (*others[len(dropped) :], *numbers)
        if dropped:
            await source.advance((), {}, dropped)
        return lost

    async def _note(self, failed: SourceFailed, first: int) -> None:
        """Record a failure, and close the source that has failed. `first` is the number of a table that waits for it.

        Raise FixtureUndecided after too many failures. Raise UserError if no sandbox can be made.
        """
        held, steps = len(self._held), [step for step in self._given if failed.table in (None, step.table)]
        await self.close()
        step = steps[0] if steps else _TableStep(first, 0)
        table = self._tables[step.table]
        self.failures.append(f"{table.opened.setup.path}: the game failed: {failed.reason}")
        has_failed_again = held == 1 and step in self._failed
        if not self._is_careful:
            self._usual_room = self.room
        self._is_careful = True
        if held > 1 and failed.table is None:
            self.room = max(1, held // 2)
        else:
            self._in_a_row += 1
        if len(steps) == 1:  # of several tables it is not known which one failed; each is then given its answers alone
            self._failed.add(step)
            self._suspect = step.table
        if has_failed_again or self._in_a_row >= MAX_FAILURES_IN_A_ROW or len(self.failures) >= MAX_FAILURES:
            self.room = self._usual_room
            if not steps:
                await self._refuse_without_sandbox()
            why = table.undecided(step.number, failed.reason, failed.said, failed.where)
            raise FixtureUndecided(why, lacks=failed.lacks or step.number == 0) from failed

    async def _refuse_without_sandbox(self) -> None:
        """Raise UserError if the machine cannot make a sandbox: then no program could start here."""
        from host.sandbox.detect import no_sandbox_here  # here, as trio above
        from host.sandbox.launch import why_no_sandbox

        if reason := await why_no_sandbox(self._place.level):
            raise UserError([no_sandbox_here(self._place.level, reason)], 6)
