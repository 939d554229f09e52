"""Play every game of TextArena in a tournament, and verify it in another process.

    python benchmarks/words.py [--tables 3] [GAME ...]

Without names, all games that `croupier games --textarena` lists as playable. Each has a tournament of its own: two bots
that answer with moves which their questions name, and others that say nothing or nonsense, until a table is full and
there are at least four. A game passes if `run` ends with exit code 0, no fixture is undecided, and `verify` finds the same
scores. Prints for each game its seats, the answers a table, and the scores of the first table. Exits with 1 if fewer than
20 games pass (or, with names, if one of them does not).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from host.rules import textarena

ENOUGH = 20
NAMED = """\
import os, random, re, sys, urllib.parse

chance = random.Random(os.environ["CROUPIER_SEED"])
for line in sys.stdin:
    text = urllib.parse.unquote(line.split()[1])
    moves = re.findall(r"\\[(?!GAME|Player )[A-Za-z0-9][^][\\n]{0,40}\\]", text)
    print(chance.choice(moves) if moves else "hello", flush=True)
"""
SAYS = "import sys\nfor line in sys.stdin:\n    print(SAID, flush=True)\n"
NONSENSE = "[²] [-1] ] [" + "9" * 400 + "] [Offer: x -> y] \N{GRINNING FACE}"


class Played(NamedTuple):
    """What a tournament brought: why it failed, or nothing; its answers a table, and the scores of one."""

    failed: str
    answers: float = 0
    scores: tuple[int, ...] = ()


def croupier(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of croupier in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "host", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )


def played(name: str, seats: int, tables: int) -> Played:
    """Play a tournament of a game, and verify it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for nth in range(max(seats, 4)):
            said = NAMED if nth < max(2, seats - 2) else SAYS.replace("SAID", repr("" if nth % 2 else NONSENSE))
            (folder / f"bot{nth:02}.py").write_text(said)
        stage = f'[[stage]]\nkind = "league"\ntables = {tables * max(seats, 4) // seats}\n'
        (folder / "croupier.toml").write_text(f'game = "textarena:{name}"\nbots = ["*.py"]\n\n{stage}')
        for words in (("run", "--progress", "none"), ("verify",)):
            done = croupier(folder, *words)
            if done.returncode:
                return Played(f"{words[0]}: exit code {done.returncode}: {' '.join(done.stderr.split())[:300]}")
        events = [json.loads(line) for line in croupier(folder, "export", "jsonl").stdout.splitlines()]
        ends = [event for event in events if event["ev"] == "table.end"]
        answers = sum(event["ev"] == "answer" for event in events) / max(1, len(ends))
        return Played("" if ends else "no table was decided", answers, tuple(ends[0]["scores"]) if ends else ())


def main() -> int:
    """Play and print. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=3, help="tables of each bot")
    parser.add_argument("games", nargs="*", metavar="GAME")
    asked = parser.parse_args()
    names = asked.games or [each.name for each in textarena.playable_games() if not each.obstacle]
    passed = 0
    print(f"{'':<36}{'seats':>6}{'answers':>9}  scores of a table")
    for name in names:
        low, _ = textarena.game_named(name).seats
        result = played(name, low, asked.tables)
        passed += not result.failed
        said = f"FAILED {result.failed}" if result.failed else " ".join(map(str, result.scores))
        print(f"{name:<36}{low:>6}{result.answers:>9.0f}  {said}", flush=True)
    print(f"\n{passed} of {len(names)} games passed")
    return int(passed < (len(names) if asked.games else ENOUGH))


if __name__ == "__main__":
    sys.exit(main())
