"""Plays a stage: asks its kind which fixtures are due, sends them to workers, and writes the records to the journal."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

import msgspec

from host.games.engine import Game
from host.play.custom_games import game_by_name
from host.play.records import Fixture, Job, Record, WorkerSetup
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.bot_spec import BuiltBot, Submission
from host.tournament.journal import Journal
from host.tournament.stages import kind_of
from host.tournament.stages.kind import Field, StageConfig

BENCHED_FOR_GOOD = 3
"""A bot that was benched in this many fixtures of a stage is benched for the rest of the stage."""


class Progress(NamedTuple):
    """The progress of a stage: reported once before the first fixture, and after every fixture."""

    stage: str
    done: int
    known: int  # fixtures played and due
    record: Record | None
    more: bool = False  # whether more fixtures may follow: in a knockout each set decides what comes next


class WorkerPool(Protocol):
    """A running executor. `words` describe it ("2 workers"); `count` is the number of fixtures it plays at once."""

    words: str
    count: int

    async def submit(self, job: Job) -> None:
        """Send one fixture to a worker; wait while all workers are busy."""
        ...

    async def next_result(self) -> Record:
        """Return the record of the fixture that ends next."""
        ...


class BotPreparer(Protocol):
    """Prepares bots on the machines where they will play (submissions/preflight.py)."""

    async def __call__(
        self,
        submissions: Sequence[Submission],
        game: Game,
        granted: Limits,
        level: Level,
        told: Callable[[str, float], None],
        /,
    ) -> list[BuiltBot]:
        """Build and start the bots, and return them. Raise UserError with the problems of all of them."""
        ...


Executor = Callable[[WorkerSetup, Callable[[str], None], int], AbstractAsyncContextManager[WorkerPool]]
"""Starts a pool of workers (host/backends). Its arguments are the setup, a function that reports lost work, and the
number of workers; 0 leaves the number to the executor."""


class Backend(NamedTuple):
    """Where a tournament is played: on this machine, or on others. The caller of the runner chooses one."""

    demand: Callable[[Level], Awaitable[Level]]
    """Return the level to play at, given the demanded level. Raise UserError if that is not possible."""
    ready: BotPreparer
    executor: Executor


Venues = Callable[[str, Callable[[str], None]], AbstractAsyncContextManager[Backend]]
"""Opens the backend at a scheduler's address; this machine if the address is empty. The function reports lost work."""

Watch = Callable[[Progress], None]


def benched(records: Mapping[str, Record]) -> tuple[str, ...]:
    """Return the bots that are benched for the rest of a stage."""
    times = Counter(bot for record in records.values() for bot in record.benched)
    return tuple(sorted(bot for bot, count in times.items() if count >= BENCHED_FOR_GOOD))


async def run_stage(
    stage: StageConfig, blank: Fixture, field: Field, journal: Journal, hands: WorkerPool, watch: Watch
) -> dict[str, Record]:
    """Play due fixtures until none is left; return the records of the stage by path.

    `blank` is a fixture with the game and rules of the tournament. To resume a stage, call this function again.
    """
    kind = kind_of(stage)
    records = {record.path: record for _, record in journal.records(stage.name)}
    lasting = {bot for bot, said in journal.bots().items() if said.get("state_lifetime") == "stage"}
    states = journal.states(stage.name)
    given: dict[str, Job] = {}
    known = 0

    def tell(record: Record | None) -> None:
        nonlocal known
        if known != (known := len(records) + len(open_fixtures)):
            journal.set_metadata({f"known {stage.name}": str(known)})
        watch(Progress(stage.name, len(records), known, record, kind.places is not None))

    open_fixtures = kind.due(stage, blank, field, records)
    tell(None)
    while open_fixtures:
        for fixture in serialize_stateful(open_fixtures, lasting):
            if fixture.path not in given:
                kept = tuple((bot, states.get(bot, b"")) for bot in fixture.bots if bot in lasting)
                given[fixture.path] = job = Job(fixture, benched(records), kept)
                await hands.submit(job)
        record = await hands.next_result()
        states |= dict(record.states)
        job = given[record.path]
        journal.add(stage.name, record, fixture_metadata(job.fixture), job.states)
        records[record.path] = record.summary()
        open_fixtures = kind.due(stage, blank, field, records)
        tell(record)
    return records


def serialize_stateful(fixtures: Iterable[Fixture], lasting: Collection[str]) -> Iterator[Fixture]:
    """Yield the fixtures that may be played now. A bot with a lasting state file plays one fixture at a time.

    The order is that of `fixtures`, for any number of workers: a waiting fixture also delays later ones of its bots.
    """
    taken: set[str] = set()
    for fixture in fixtures:
        theirs = {bot for bot in fixture.bots if bot in lasting}
        if not theirs & taken:
            yield fixture
        taken |= theirs


def bot_metadata(bot: BuiltBot) -> dict[str, Any]:
    """Return what the journal stores about a bot besides its hash: its author, its protocol and its limits."""
    return {
        "author": bot.spec.author,
        "protocol": bot.spec.protocol,
        "parallel_tables": bot.spec.parallel_tables,
        "table_ids": bot.spec.table_ids,
        "lifetime": bot.spec.lifetime,
        "state": bot.spec.state,
        "state_lifetime": bot.spec.state_lifetime,
        "limits": bot.limits._asdict(),
    }


def fixture_metadata(fixture: Fixture) -> dict[str, Any]:
    """Return what the journal stores about a fixture; its rules have the keys of croupier.toml."""
    return {
        "game": fixture.game,
        "rules": fixture.rules._asdict(),
        "plan": fixture.plan,
        "path": fixture.path,
        "bots": fixture.bots,
        "tables": fixture.tables,
        "first": fixture.first,
    }


def fixture_of(stored: Mapping[str, Any]) -> Fixture:
    """Return a fixture from what the journal stores about it. Raise LookupError or ValueError if that is invalid."""
    kind = type(next(iter(game_by_name(stored["game"]).presets.values())))
    rules = kind._field_defaults | stored["rules"]  # every game's rules are a NamedTuple
    return Fixture(
        game=msgspec.convert(stored["game"], str),
        rules=msgspec.convert([rules[name] for name in kind._fields], kind),
        plan=msgspec.convert(stored["plan"], str),
        path=msgspec.convert(stored["path"], str),
        bots=msgspec.convert(stored["bots"], tuple[str, ...]),
        tables=msgspec.convert(stored["tables"], int),
        first=msgspec.convert(stored["first"], int),
    )
