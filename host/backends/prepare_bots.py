"""`python -m host.backends.prepare_bots`: build and start bots on a machine of a cluster, in a process of its own.

A machine plays one tournament after another, and each may bring its own game of the same name. Therefore the game is
imported in a process that ends with the request. Standard input contains the request, one line. When standard input is
closed, the process ends.
"""

import sys
from typing import NamedTuple

import msgspec
import trio

from host.base.errors import Problem, UserError
from host.base.value_types import plain_name
from host.bots.bot_spec import BuiltBot, Submission
from host.rules.catalogue import GameOrigin, game_by_name, origin, reload_game
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.examine import prepare_bots


class PrepareRequest(NamedTuple):
    """The bots to prepare, with their game, limits and level."""

    submissions: tuple[Submission, ...]
    game: str
    origin: GameOrigin  # of the organiser's own game
    granted: Limits
    level: Level


class PrepareResult(NamedTuple):
    """The prepared bots, or every problem that prevents it."""

    bots: tuple[BuiltBot, ...] = ()
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    origin: GameOrigin = GameOrigin()  # where this machine finds the game


def encode_request(request: PrepareRequest) -> bytes:
    """Return a request as one line."""
    return msgspec.json.encode(request, enc_hook=str) + b"\n"


async def prepare(request: PrepareRequest) -> PrepareResult:
    """Build and start the bots."""
    try:
        game = reload_game(request.origin) if request.origin.said else game_by_name(request.game)
        bots = await prepare_bots(request.submissions, game, request.granted, request.level)
        return PrepareResult(tuple(bots), origin=origin(game.name) if request.origin.said else request.origin)
    except UserError as refused:
        return PrepareResult((), tuple(refused.problems), refused.exit_code)


async def main() -> None:
    """Answer the request. Stop early when standard input is closed."""
    request = msgspec.json.decode(
        sys.stdin.buffer.readline(), type=PrepareRequest, dec_hook=lambda kind, value: kind(value)
    )
    async with trio.open_nursery() as nursery:

        async def answer() -> None:
            sys.stdout.buffer.write(msgspec.json.encode(await prepare(request), enc_hook=plain_name))
            nursery.cancel_scope.cancel()

        nursery.start_soon(answer)
        await trio.lowlevel.wait_readable(0)  # only the end of the input can follow
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
