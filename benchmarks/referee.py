"""Compare a referee in C with the same game in Python: decisions a second of two C bots that play Goofspiel.

    python benchmarks/referee.py [--rounds 5] [--tables 400]

The game in Python is the one of docs/adding-a-game.md. Both are played one table at a time, and 64 at once, on one core as
in a worker of a tournament. The rounds of the two alternate, so that a busy machine slows both of them. Figures are medians.
`share` is the referee's decisions a second as a share of the Python game's, which should be at least 60 % at 64 tables.
`best` is the share of the best rounds, which approximate an idle machine. `CPU` is the host's processor time for a decision,
which other programs hardly affect. The ping-pong of two C processes is what one round trip over pipes costs.
"""

import argparse
import contextlib
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import trio
from floors import Floors, on_one_core

from host.base.python_module import reduce_gc
from host.bots.bot_spec import BuiltBot
from host.bots.monitor import running_monitor
from host.games.engine import Game
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture
from host.rules.catalogue import load_game
from host.sandbox.detect import detect
from host.sandbox.levels import Level
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.referees import prepare_referee

ROOT = Path(__file__).parents[1]
SEED = bytes(16)
PARALLEL = 64
GAME_FILE = re.compile(r"^```python goofspiel\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOT = """
#include <string.h>
#include <unistd.h>

/* Gives the same answer to every question, and writes the answers to all available questions at once. */
int main(void)
{
    static char in[1 << 16], out[1 << 16];
    ssize_t count;
    while ((count = read(0, in, sizeof in)) > 0) {
        size_t filled = 0;
        for (ssize_t at = 0; at < count; at++)
            if (in[at] == '\\n')
                filled += strlen(strcpy(out + filled, "MOVE\\n"));
        if (write(1, out, filled) < 0)
            return 1;
    }
}
"""


def games(folder: Path) -> dict[str, Game]:
    """Return the two games; the one in Python is written to the folder."""
    page = (ROOT / "docs" / "adding-a-game.md").read_text()
    (folder / "goofspiel.py").write_text("\n\n".join(GAME_FILE.findall(page)))
    return {
        "Python": load_game("goofspiel:GAME", folder),
        "referee in C": load_game("goofspiel_c/", ROOT / "sample_bots" / "referees"),
    }


async def bots(folder: Path, game: Game, level: Level) -> tuple[BuiltBot, ...]:
    """Build two bots that play many tables at once."""
    made = []
    for move in ("HIGH", "LOW"):
        source = folder / f"{move.lower()}.c"
        source.write_text(BOT.replace("MOVE", move))
        submission = load_submission(source).for_game(game).with_keys(protocol="lines", parallel_tables=PARALLEL)
        made.append(await build(submission, level))
    return tuple(made)


class Round(NamedTuple):
    """Decisions a second of one fixture, and seconds of the host's processor time for each."""

    speed: float
    cpu: float


async def play(pool: BotPool, names: Sequence[str], tables: int) -> Round:
    """Play one fixture."""
    rules = pool.game.default_rules
    started, computed = time.perf_counter(), time.process_time()
    record = await pool.play(Job(Fixture(pool.game.name, rules, "independent", "bench/1", tuple(names), tables)))
    assert record.undecided is None, record.undecided
    decisions = sum(usage.questions for usage in record.usage.values())
    return Round(decisions / (time.perf_counter() - started), (time.process_time() - computed) / decisions)


async def measure(rounds: int, tables: int) -> None:
    """Print the table."""
    level = detect().level
    print(f"level {level.label}, medians of {rounds} rounds, {tables} tables a round")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        known = games(folder)
        known["referee in C"] = await prepare_referee(known["referee in C"], level)
        floors = Floors(folder)
        print(
            f"{'tables at once':<16}{'Python':>12}{'referee in C':>16}{'share':>9}{'best':>9}{'CPU, Python':>14}{'in C':>12}"
        )
        for parallel in (1, PARALLEL):
            floors.measure()
            found: dict[str, list[Round]] = {kind: [] for kind in known}
            async with running_monitor() as monitor, contextlib.AsyncExitStack() as stack:
                pools = {}
                for kind, game in known.items():
                    made = await bots(folder, game, level)
                    rules = game.default_rules
                    setup = WorkerSetup(game, rules, made, SEED, level, parallel)
                    pools[kind] = BotPool(setup, stack, monitor)
                for number in range(rounds + 1):
                    for kind, pool in pools.items():
                        some = await play(pool, [bot.name for bot in pool.setup.bots], tables)
                        found[kind] += [some] if number else []  # the first round starts everything
            python, referee = found.values()
            usual, own = (statistics.median([each.speed for each in some]) for some in (python, referee))
            best = max(each.speed for each in referee) / max(each.speed for each in python)
            cpu = [f"{statistics.median([each.cpu for each in some]) * 1e6:>9.1f} µs" for some in (python, referee)]
            print(f"{parallel:<16}{usual:>10,.0f}/s{own:>14,.0f}/s{own / usual:>9.0%}{best:>9.0%}  {''.join(cpu)}")
        print(floors.text())


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=400)
    asked = parser.parse_args()
    reduce_gc()
    with on_one_core():
        trio.run(measure, asked.rounds, asked.tables)


if __name__ == "__main__":
    main()
