"""`python -m host.backends.prepare_bots`: bots made ready for a machine of a cluster, in a process that forgets their game.

A machine plays one tournament after another, and each may bring another game of the same name. Standard input brings
the order, one line; its end is the end of everything.
"""

import sys
from typing import NamedTuple

import msgspec
import trio

from host.base.errors import Problem, UserError
from host.games import GAMES
from host.play.custom_games import GameOrigin, reload_game
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.bot_spec import BuiltBot, Submission
from host.submissions.preflight import prepare_bots


class PrepareRequest(NamedTuple):
    """Which bots are wanted, for what."""

    submissions: tuple[Submission, ...]
    game: str
    origin: GameOrigin  # of a game that is brought
    granted: Limits
    level: Level


class PrepareResult(NamedTuple):
    """How making bots ready has ended: the bots, or everything that is wrong."""

    bots: tuple[BuiltBot, ...] = ()
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    origin: GameOrigin = GameOrigin()  # where the game is found there


def spelled(order: PrepareRequest) -> bytes:
    """Return an order as one line."""
    return msgspec.json.encode(order, enc_hook=str) + b"\n"


async def made(order: PrepareRequest) -> PrepareResult:
    """Build and start the bots."""
    try:
        if order.origin.said:
            reload_game(order.origin)
        bots = await prepare_bots(order.submissions, GAMES[order.game], order.granted, order.level)
        return PrepareResult(tuple(bots), origin=order.origin)
    except UserError as refused:
        return PrepareResult((), tuple(refused.problems), refused.exit_code)


async def main() -> None:
    """Carry out the order, as long as whoever gave it is there."""
    order = msgspec.json.decode(
        sys.stdin.buffer.readline(), type=PrepareRequest, dec_hook=lambda kind, said: kind(said)
    )
    async with trio.open_nursery() as nursery:

        async def work() -> None:
            sys.stdout.buffer.write(msgspec.json.encode(await made(order)))
            nursery.cancel_scope.cancel()

        nursery.start_soon(work)
        await trio.lowlevel.wait_readable(0)  # nothing more can come but the end
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
