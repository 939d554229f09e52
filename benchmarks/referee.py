"""Compare a referee in C with the same game in Python: decisions a second of two C bots that play Goofspiel.

    python benchmarks/referee.py [--rounds 5] [--tables 400]

The game in Python is the one of docs/adding-a-game.md. Both are played one table at a time, and 64 at once. The rounds of
the two alternate, so that a busy machine slows both of them. Figures are medians. The last column is the referee's
decisions a second as a share of the Python game's, which should be at least 60 % at 64 tables.
"""

import argparse
import contextlib
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from host.bots.bot_spec import BuiltBot
from host.bots.monitor import running_monitor
from host.play.bot_pool import BotPool
from host.play.custom_games import game_by_name, load_game, origin
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture
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


def games(folder: Path) -> dict[str, str]:
    """Return the names of the two games; the one in Python is written to the folder."""
    page = (ROOT / "docs" / "adding-a-game.md").read_text()
    (folder / "goofspiel.py").write_text("\n\n".join(GAME_FILE.findall(page)))
    return {
        "Python": load_game("goofspiel:GAME", folder).name,
        "referee in C": load_game("goofspiel_c/", ROOT / "sample_bots" / "referees").name,
    }


async def bots(folder: Path, game: str, level: Level) -> tuple[BuiltBot, ...]:
    """Build two bots that play many tables at once."""
    made = []
    for move in ("HIGH", "LOW"):
        source = folder / f"{move.lower()}.c"
        source.write_text(BOT.replace("MOVE", move))
        submission = load_submission(source).with_keys(game=game, protocol="lines", parallel_tables=PARALLEL)
        made.append(await build(submission, level))
    return tuple(made)


async def speed(pool: BotPool, names: Sequence[str], tables: int) -> float:
    """Return the decisions a second of one fixture."""
    rules = next(iter(pool.game.presets.values()))
    started = time.perf_counter()
    record = await pool.play(Job(Fixture(pool.setup.game, rules, "independent", "bench/1", tuple(names), tables)))
    assert record.undecided is None, record.undecided
    return sum(usage.questions for usage in record.usage.values()) / (time.perf_counter() - started)


async def measure(rounds: int, tables: int) -> None:
    """Print the table."""
    level = detect().level
    print(f"level {level.label}, medians of {rounds} rounds, {tables} tables a round")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        known = games(folder)
        for game in known.values():
            await prepare_referee(game, level)
        print(f"{'tables at once':<16}{'Python':>12}{'referee in C':>16}{'share':>9}")
        for parallel in (1, PARALLEL):
            found: dict[str, list[float]] = {kind: [] for kind in known}
            async with running_monitor() as monitor, contextlib.AsyncExitStack() as stack:
                pools = {}
                for kind, game in known.items():
                    made = await bots(folder, game, level)
                    rules = next(iter(game_by_name(game).presets.values()))
                    setup = WorkerSetup(game, rules, made, SEED, level, parallel, origin=origin(game))
                    pools[kind] = BotPool(setup, stack, monitor)
                for number in range(rounds + 1):
                    for kind, pool in pools.items():
                        some = await speed(pool, [bot.name for bot in pool.setup.bots], tables)
                        found[kind] += [some] if number else []  # the first round starts everything
            medians = {kind: statistics.median(each) for kind, each in found.items()}
            share = medians["referee in C"] / medians["Python"]
            print(f"{parallel:<16}{medians['Python']:>10,.0f}/s{medians['referee in C']:>14,.0f}/s{share:>8.0%}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=400)
    asked = parser.parse_args()
    trio.run(measure, asked.rounds, asked.tables)


if __name__ == "__main__":
    main()
