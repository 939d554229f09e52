"""Plays fixtures: `python -m host.play.worker` reads fixtures and writes records, one JSON line each.

All fixtures are played by such workers. The first line of input lists the processor cores of the worker and its bots,
[] for every core. The second line is the setup. A line with another setup may come between two fixtures. When standard
input ends, the coordinator has ended, and the worker exits.
"""

import contextlib
import os
import signal
import sys
import traceback

import msgspec
import trio

from host.base.errors import UserError, cause_of
from host.base.python_module import reduce_gc
from host.bots.monitor import Monitor
from host.play.bot_pool import BotPool
from host.play.jobs import NEW_SETUP, decode_job, decode_setup, encode, split_lines
from host.rules.catalogue import own_code_error


async def serve() -> None:
    """Play fixtures until standard input ends."""
    jobs, waiting = trio.open_memory_channel[bytes](0)
    async with trio.open_nursery() as nursery, contextlib.AsyncExitStack() as stack:

        async def read() -> None:
            async with trio.lowlevel.FdStream(os.dup(0)) as stdin, contextlib.aclosing(split_lines(stdin)) as lines:
                async for line in lines:
                    await jobs.send(line)
            nursery.cancel_scope.cancel()

        nursery.start_soon(read)
        cores = msgspec.json.decode(await waiting.receive(), type=list[int])
        if cores:  # before any thread or bot is started, because they inherit the core
            os.sched_setaffinity(0, cores[:1])
        setup = decode_setup(await waiting.receive())
        monitor = Monitor(pondering=setup.pondering, logs=setup.logs)
        nursery.start_soon(monitor.run)
        pool = BotPool(setup, stack, monitor, cores)
        while True:
            line = await waiting.receive()
            if line.startswith(NEW_SETUP):
                setup = decode_setup(line.removeprefix(NEW_SETUP))
                await pool.use(setup)
            else:
                send(encode(await pool.play(decode_job(line, type(setup.rules)))))


def send(line: bytes) -> None:
    """Write one whole line to standard output."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Run a worker. If it fails, write the error as the last line and exit with code 70."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reduce_gc()
    try:
        trio.run(serve)
    except BaseException as failed:
        why = cause_of(failed)
        refused = why if isinstance(why, UserError) else own_code_error(why)
        if refused is not None:
            send(msgspec.json.encode({"refused": refused.problems, "exit_code": refused.exit_code}))
            raise SystemExit(refused.exit_code) from failed
        report = "".join(traceback.format_exception(failed))[-8000:]
        send(msgspec.json.encode({"failed": f"{report}\n{type(why).__name__}: {why}"}))
        raise SystemExit(70) from failed


if __name__ == "__main__":
    main()
