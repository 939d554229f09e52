"""Defines setups and jobs, which are the messages to a worker, and encodes setups, jobs and records."""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Any, NamedTuple, get_type_hints

import msgspec

from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.play.records import Fixture, States
from host.rules.catalogue import GameRef, game_of, ref_of
from host.sandbox.levels import Level

PLACEMENTS = ("auto", "core", "free")
"""Which cores workers use: see host/backends/placement.py."""


class WorkerSetup(NamedTuple):
    """Setup of a worker, sent before the first fixture. The seed travels by pipe only: a command line would reveal it."""

    game: Game
    rules: Any
    bots: tuple[BuiltBot, ...]
    seed: bytes
    level: Level
    parallel_tables: int = 0  # maximum number of tables at the same time; 0 = MAX_PARALLEL_TABLES
    pondering: bool = False  # whether bots may compute while they have no question
    placement: str = "auto"  # one of PLACEMENTS
    logs: bool = False  # whether records have everything that the bots wrote to standard error, by question
    open_folder: str = ""  # folder for the answers of unfinished fixtures (open_answers.py); "": they are not stored
    recordings: str = ""  # folder for the exchanges of bots with models (host/relay/recording.py); "": not recorded


class Job(NamedTuple):
    """A fixture for a worker."""

    fixture: Fixture
    states: States = ()  # the state files that outlive fixtures, as they are before this fixture


# Setups, jobs and records are sent as JSON arrays, one per line. The order of their fields is the format, so a new
# field must be added at the end; names may change. Each game has its own type of rules, found by the name of the game.

encode = msgspec.json.encode
REF_AT = WorkerSetup._fields.index("placement")


def encode_setup(setup: WorkerSetup) -> bytes:
    """Return a setup as one line, without the line end.

    The game is encoded as its name in the first place, and as its GameRef (where its code is) before `placement`.
    """
    return encode((setup.game.name, *setup[1:REF_AT], ref_of(setup.game), *setup[REF_AT:]))


NEW_SETUP = b"setup "
"""Prefix of a line with a new setup. A worker can receive such a line between two jobs."""


def worker_input(cores: Sequence[int], encoded_setup: bytes) -> bytes:
    """Return the first two lines of a worker's input: the cores of the worker and its bots, and its setup.

    Without cores, the worker and its bots use every core.
    """
    return encode(cores) + b"\n" + encoded_setup + b"\n"


def decode_setup(line: bytes) -> WorkerSetup:
    """Parse a worker's setup, and load its game."""
    name, *values = msgspec.json.decode(line)
    game = game_of(name, msgspec.convert(values.pop(REF_AT - 1), GameRef))
    types = get_type_hints(WorkerSetup) | {"rules": type(game.default_rules)}
    return WorkerSetup(game, *map(msgspec.convert, values, map(types.get, WorkerSetup._fields[1:])))


async def split_lines(chunks: AsyncIterable[bytes | bytearray]) -> AsyncGenerator[bytes, None]:
    """Yield the lines in a stream of bytes, without their line ends. Leave out a last line without a line end."""
    parts = list[bytes | bytearray]()  # of a line that has not ended; joined once, because a record can have many MB
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for other in others:
            yield b"".join(parts)
            parts = [other]


def decode_job(line: bytes, rules: type[Any]) -> Job:
    """Parse a job, given the type of its game's rules."""
    fixture, *more = msgspec.json.decode(line)
    game, values, *rest = fixture
    return msgspec.convert([[game, msgspec.convert(values, rules), *rest], *more], Job)
