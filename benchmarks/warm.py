"""What a warm start saves: decisions of the same Python bots forked from a ready interpreter, of SBCL's from a saved core,
and started cold.

    python benchmarks/warm.py [--rounds 50]

All contenders take turns, in many short rounds, for machines are shared; beside them the floor, a bare posix_spawn of the
cold command. Time is told as it passes and as the control group counts it for the bot: on a busy machine the second says
more.
"""

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

import trio
from argv import GAME, LIMITS, Work, at_best, measured, spawned
from rounds import shown, table

from host.bots.build import build
from host.bots.languages import LANGUAGES
from host.bots.sandboxes import Home, demand, sandboxed
from host.bots.seat import Seat, seated
from host.bots.spec import Bot, Spec
from host.bots.told import Question
from host.bots.watch import a_watcher
from host.samples import sample

PROMISED = {"python": 6}  # times as quick as cold
CLASSES = """
(eval-when (:compile-toplevel :load-toplevel :execute) (require :sb-posix))
(defstruct card rank suit)
(defclass hand () ((cards :initarg :cards :reader cards)))
(defclass soft (hand) ())
(defgeneric points (hand))
(defmethod points ((hand hand)) (reduce #'+ (cards hand) :key #'card-rank))
(defmethod points ((hand soft)) (+ 10 (call-next-method)))
(defmethod print-object ((hand hand) stream) (format stream "~d" (points hand)))
(defparameter *deck* (make-array 52 :initial-element 4))
(defun answer (score)
  (if (< (parse-integer score) 17) "H" "S"))

(write-line (answer (first (last sb-ext:*posix-argv* 5))))
"""
BOTS = {
    ("python", "small"): 'import sys\n\nprint("H" if int(sys.argv[1]) < 17 else "S")\n',
    ("python", "with modules"): (
        "import collections, itertools, json, math, random, re, statistics, sys\n\n"
        'print("H" if int(sys.argv[1]) < 17 else "S")\n'
    ),
    ("lisp", "of some functions"): sample("lisper", "cardshark").read_text(),
    ("lisp", "with classes and a module"): CLASSES,
}
A_ROUND = 3  # decisions


async def bot_of(language: str, text: str) -> Bot:
    """Build a bot that may be started both ways."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"bot{LANGUAGES[language].suffixes[0]}"
        Path(folder, file).write_text(text)
        spec = Spec("bot", Path(folder), (file,), language, game="cardshark", entry=file, warm=True)
        return (await build(spec, demand("L3")))._replace(limits=LIMITS)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    print(f"level {demand('L3')} · load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for (language, kind), text in BOTS.items():
        bot = await bot_of(language, text)
        seats: dict[str, Seat] = {}
        async with contextlib.AsyncExitStack() as stack:
            watcher = await stack.enter_async_context(a_watcher())
            for start, command in (("cold", ()), ("warm", bot.warm)):
                sandbox = await stack.enter_async_context(sandboxed(demand("L3"), Home(Path(bot.folder)), LIMITS))
                if bot.kept and not sandbox.warms:
                    raise SystemExit("a warm start needs Landlock (ABI 6) here")
                block = seated(bot._replace(warm=command), GAME, sandbox, 1, watcher)
                seats[start] = await stack.enter_async_context(block)
                await decided(seats[start])  # the interpreter's own start is not in the figures
            before = {start: seat.usage().cpu for start, seat in seats.items()}
            works = {"bare spawn": spawned(bot, A_ROUND)}
            results = await measured(works | {start: asked(seat) for start, seat in seats.items()}, rounds)
            spent = {start: (seat.usage().cpu - before[start]) / (rounds * A_ROUND) for start, seat in seats.items()}
        promise = f" (promised: warm {PROMISED[language]} times as quick as cold)" if language in PROMISED else ""
        print(f"\nA decision of a bot in {language}, {kind}{promise}")
        print(shown(results))
        print(at_best(results))
        _, cold, warm = results
        rows = [
            ("median", f"{cold.median / warm.median:.1f}"),
            ("at best", f"{min(cold.seconds) / min(warm.seconds):.1f}"),
            ("computing", f"{spent['cold'] / spent['warm']:.1f}"),
        ]
        print(table(("cold over warm", "times"), rows))


async def decided(seat: Seat) -> None:
    """Ask once."""
    await seat.decide([Question(1, 1, GAME.examples[0])])
    assert not seat.faults, seat.evidence


def asked(seat: Seat) -> Work:
    """Return a round of decisions."""

    async def work() -> int:
        for _ in range(A_ROUND):
            await decided(seat)
        return A_ROUND

    return work


if __name__ == "__main__":
    trio.run(main)
