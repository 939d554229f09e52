"""A cup under way: asks each stage what is due, has it played, and journals what comes back."""

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
"""Fixtures of a stage in which a bot may be benched before it is benched for the rest of the stage."""


class Progress(NamedTuple):
    """How far a stage is: told after every fixture, and once before the first."""

    stage: str
    done: int
    known: int  # fixtures played and due
    record: Record | None
    more: bool = False  # whether more may follow: in a cup each set decides what comes next


class WorkerPool(Protocol):
    """An executor under way; `words` say what it is, "2 workers", and `count` how many fixtures it plays at once."""

    words: str
    count: int

    async def submit(self, job: Job) -> None:
        """Hand over one fixture; wait while every worker is busy."""
        ...

    async def next_result(self) -> Record:
        """Return the next record, whichever fixture ends first."""
        ...


class BotPreparer(Protocol):
    """Makes bots ready where they are to play (bots/ready.py)."""

    async def __call__(
        self,
        submissions: Sequence[Submission],
        game: Game,
        granted: Limits,
        level: Level,
        told: Callable[[str, float], None],
        /,
    ) -> list[BuiltBot]:
        """Return the bots, built and seen to start; raise Refused with everything that is wrong with any of them."""
        ...


Executor = Callable[[WorkerSetup, Callable[[str], None], int], AbstractAsyncContextManager[WorkerPool]]
"""What plays (host/backends): it is told the setup, whom to tell of what it has lost, and its workers, 0 for its own
choice."""


class Backend(NamedTuple):
    """Where a cup is played: on this machine, or on others. Whoever runs a cup names one."""

    demand: Callable[[Level], Awaitable[Level]]
    """Return the level to play at for the level that is demanded; raise Refused when that cannot be had."""
    ready: BotPreparer
    executor: Executor


Venues = Callable[[str, Callable[[str], None]], AbstractAsyncContextManager[Backend]]
"""Opens the venue of an address, a cluster's scheduler or this machine where it is empty; tells of what it has lost."""

Watch = Callable[[Progress], None]


def benched(records: Mapping[str, Record]) -> tuple[str, ...]:
    """Return the bots that a stage asks no more."""
    times = Counter(bot for record in records.values() for bot in record.benched)
    return tuple(sorted(bot for bot, count in times.items() if count >= BENCHED_FOR_GOOD))


async def run_stage(
    stage: StageConfig, blank: Fixture, field: Field, journal: Journal, hands: WorkerPool, watch: Watch
) -> dict[str, Record]:
    """Play what is due until nothing is; return the stage's records by path.

    `blank` is a fixture with the cup's game and rules. Resuming is nothing but calling it again.
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
    """Yield the fixtures that may be played now: those of a bot whose state file outlives them follow each other.

    Their order is that of the fixtures given, whatever the workers: who waits keeps the others of its fixture waiting.
    """
    taken: set[str] = set()
    for fixture in fixtures:
        theirs = {bot for bot in fixture.bots if bot in lasting}
        if not theirs & taken:
            yield fixture
        taken |= theirs


def bot_metadata(bot: BuiltBot) -> dict[str, Any]:
    """Return what the journal stores of a bot beside its hash: its author, and how it was asked."""
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
    """Return what the journal stores of a fixture: its rules by the names that croupier.toml has for them."""
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
    """Return a fixture from what the journal stores of it; raise LookupError or ValueError when it does not describe one."""
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
