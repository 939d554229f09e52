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
from host.bots.bot_spec import BuiltBot, Submission
from host.rules.catalogue import GameRef, game_of, ref_of
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.examine import prepare_bots


class PrepareRequest(NamedTuple):
    """The bots to prepare, with their game, limits and level."""

    submissions: tuple[Submission, ...]
    game: str
    ref: GameRef  # where the code of the game is
    granted: Limits
    level: Level


class PrepareResult(NamedTuple):
    """The prepared bots, or all problems that keep them from being prepared."""

    bots: tuple[BuiltBot, ...] = ()
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    ref: GameRef = GameRef()  # where this machine finds the game


def encode_request(request: PrepareRequest) -> bytes:
    """Return a request as one line."""
    return msgspec.json.encode(request, enc_hook=str) + b"\n"


async def prepare(request: PrepareRequest) -> PrepareResult:
    """Build and start the bots. Return them, or the problems that prevent it."""
    try:
        game = game_of(request.game, request.ref)
        ready = await prepare_bots(request.submissions, game, request.granted, request.level)
        return PrepareResult(tuple(ready.bots), ref=ref_of(ready.game))
    except UserError as refused:
        return PrepareResult((), tuple(refused.problems), refused.exit_code)


async def main() -> None:
    """Answer the request. Stop early when standard input is closed."""
    request = msgspec.json.decode(
        sys.stdin.buffer.readline(), type=PrepareRequest, dec_hook=lambda kind, value: kind(value)
    )
    async with trio.open_nursery() as nursery:

        async def answer() -> None:
            sys.stdout.buffer.write(msgspec.json.encode(await prepare(request)))
            nursery.cancel_scope.cancel()

        nursery.start_soon(answer)
        await trio.lowlevel.wait_readable(0)  # only the end of the input can follow
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
