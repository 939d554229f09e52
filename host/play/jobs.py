"""Defines what a worker is sent: its setup, then jobs, each a fixture; and how they and its records are encoded."""

from typing import Any, NamedTuple

import msgspec

from host.bots.bot_spec import BuiltBot
from host.play.custom_games import GameOrigin, reload_game
from host.play.records import Fixture, States
from host.sandbox.levels import Level


class WorkerSetup(NamedTuple):
    """Setup of a worker, sent before the first fixture. The seed travels by pipe only: a command line would reveal it."""

    game: str
    rules: Any
    bots: tuple[BuiltBot, ...]
    seed: bytes
    level: Level
    parallel_tables: int = 0  # maximum number of tables at once; 0 = MAX_PARALLEL_TABLES
    pondering: bool = False  # whether bots may compute while they have no question
    origin: GameOrigin = GameOrigin()  # of a custom game
    placement: str = "auto"  # one of PLACEMENTS (host/play/placement.py)


class Job(NamedTuple):
    """A fixture for a worker."""

    fixture: Fixture
    states: States = ()  # state files that outlive their fixtures, before it


# Setups, jobs and records are sent as JSON arrays, one per line. The order of their fields is the format, so a new
# field must be added at the end; names may change. Rules have a type of the game's own, found by the name of the game.

encode = msgspec.json.encode


def decode_setup(line: bytes, rules_of: Any) -> WorkerSetup:
    """Parse a worker's setup. `rules_of` returns the type of a game's rules."""
    fields = msgspec.json.decode(line)
    game, rules = fields[:2]
    found = msgspec.convert(fields[WorkerSetup._fields.index("origin")], GameOrigin)
    if found.said:
        reload_game(found)
    fields[1] = msgspec.convert(rules, rules_of(game))
    return msgspec.convert(fields, WorkerSetup)


def decode_job(line: bytes, rules_of: Any) -> Job:
    """Parse a job. `rules_of` returns the type of a game's rules."""
    fixture, *more = msgspec.json.decode(line)
    game, rules, *rest = fixture
    return msgspec.convert([[game, msgspec.convert(rules, rules_of(game)), *rest], *more], Job)
