"""Compare tables of a referee for CodinGame's engine in croupier with the same referee and bots without any host.

    python benchmarks/foreign_referee.py [--rounds 5] [--tables 10] [--answer-ms 5]

The referee is the sample hares_java. It plays one game a process, so its start is paid for each table on both sides. Without
a host, this program starts the referee and two bots in C, passes on their lines, and does nothing else: no sandbox, no clock,
no record. The bots compute for some milliseconds for each answer. The rounds of the two alternate, so that a busy machine
slows both of them. Figures are medians of the seconds a table; the share of the last line should be at least 90 %.
"""

import argparse
import contextlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

import trio

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

SAMPLE = Path(__file__).parents[1] / "sample_bots" / "referees" / "hares_java"
SEED = bytes(16)
TURNS = 6
BOT = """
#include <stdio.h>
#include <time.h>

int main(void)
{
    int count, mine, turns, position;
    scanf("%d%d%d", &count, &mine, &turns);
    for (int turn = 0;; turn++) {
        for (int i = 0; i < count; i++)
            if (scanf("%d", &position) != 1)
                return 0;
        clock_t end = clock() + MS * (CLOCKS_PER_SEC / 1000);
        while (clock() < end)
            ;
        printf("%d\\n", (turn * (mine + 2)) % 5 + 1);
        fflush(stdout);
    }
}
"""
HEADER = re.compile(rb"\[\[(\w+)\] (\d+)\]\n")


def message(lines: IO[bytes]) -> tuple[bytes, list[bytes]]:
    """Read a message of the referee."""
    header = HEADER.fullmatch(lines.readline())
    assert header
    return header[1], [lines.readline() for _ in range(int(header[2]))]


def play_without_host(classes: Path, bot: Path, seed: int) -> None:
    """Play one game: start the referee and both bots, and pass on their lines."""
    with contextlib.ExitStack() as stack:
        commands = [["java", "-cp", str(classes), "Referee"], [str(bot)], [str(bot)]]
        referee, *bots = [
            stack.enter_context(
                subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            )
            for each in commands
        ]
        assert referee.stdin and referee.stdout

        def say(*lines: str, to: IO[bytes] = referee.stdin) -> None:
            to.write("".join(f"{line}\n" for line in lines).encode())
            to.flush()

        say("[[INIT] 3]", "2", f"seed={seed}", f"turns={TURNS}", "[[GET_GAME_INFO] 0]")
        text: list[bytes] = []
        while (found := message(referee.stdout))[0] != b"SCORES":
            if found[0] == b"NEXT_PLAYER_INPUT":
                text = found[1]
            elif found[0] == b"NEXT_PLAYER_INFO":
                player, count, _ = map(int, found[1])
                answers = []
                if count:
                    one = bots[player]
                    assert one.stdin and one.stdout
                    one.stdin.write(b"".join(text))
                    one.stdin.flush()
                    answers = [one.stdout.readline().decode().rstrip("\n") for _ in range(count)]
                say(f"[[SET_PLAYER_OUTPUT] {1 + count}]", "0", *answers, "[[GET_GAME_INFO] 0]")
        for process in (referee, *bots):
            process.kill()


def prepare(folder: Path, answer_ms: int) -> Game:
    """Write the game, the bots and the classes of the referee; return the game."""
    shutil.copytree(SAMPLE, folder / "hares")
    with (folder / "hares" / "game.toml").open("a") as file:
        file.write(f'\n[rules]\nturns = {{ type = "integer", default = {TURNS}, from = 1, to = 100 }}\n')
    subprocess.run(["javac", "-d", folder / "classes", SAMPLE / "Referee.java"], check=True)
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(BOT.replace("MS", str(answer_ms)))
    subprocess.run(["cc", "-O2", "-o", folder / "bot", folder / "one.c"], check=True)
    return load_game("hares/", folder)


async def built(folder: Path, game: Game, level: Level) -> tuple[BuiltBot, ...]:
    """Build the two bots for croupier."""
    names = ("one", "two")
    return tuple([await build(load_submission(folder / f"{name}.c").for_game(game), level) for name in names])


async def measure(rounds: int, tables: int, answer_ms: int) -> None:
    """Print the figures."""
    level = detect().level
    print(f"level {level.label}, medians of {rounds} rounds, {tables} tables a round, {answer_ms} ms an answer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        game = await prepare_referee(prepare(folder, answer_ms), level)
        alone, hosted = list[float](), list[float]()
        async with running_monitor() as monitor, contextlib.AsyncExitStack() as stack:
            bots = await built(folder, game, level)
            rules = game.default_rules
            pool = BotPool(WorkerSetup(game, rules, bots, SEED, level, 1), stack, monitor)
            for number in range(rounds + 1):
                began = time.perf_counter()
                for table in range(tables):
                    play_without_host(folder / "classes", folder / "bot", table)
                between = time.perf_counter()
                names = tuple(bot.name for bot in bots)
                record = await pool.play(Job(Fixture(game.name, rules, "independent", "bench/1", names, tables)))
                assert record.undecided is None, record.undecided
                if number:  # the first round starts everything
                    alone.append((between - began) / tables)
                    hosted.append((time.perf_counter() - between) / tables)
    one, other = statistics.median(alone), statistics.median(hosted)
    print(f"without a host  {1000 * one:8.0f} ms a table")
    print(f"in croupier     {1000 * other:8.0f} ms a table")
    print(f"share           {one / other:8.0%}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--answer-ms", type=int, default=5)
    asked = parser.parse_args()
    trio.run(measure, asked.rounds, asked.tables, asked.answer_ms)


if __name__ == "__main__":
    main()
