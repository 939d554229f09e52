"""Measure `croupier check` of a starter bot in every language, compared with its compiler and forty bare starts.

    python benchmarks/check.py [--rounds 5] [--languages c,java] [--game pazaak]

"first" is the whole command without a cached build, "again" with one. The lower bound is measured in the same rounds,
without a sandbox: `croupier version`, the compiler alone (for "first"), and forty starts of the built program (over
lines: one start and forty answers). "of CPU" is the CPU time of "again" including the bots, which depends less on the
load of the machine.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import trio
from rounds import Contender, duration, measured, table

from host.games import GAMES
from host.sandbox.levels import UNPROTECTED
from host.submissions.build import build, steps_of
from host.submissions.conformance import MAX_QUESTIONS
from host.submissions.discovery import load_submission
from host.submissions.languages import LANGUAGES, environment, tool
from host.submissions.scaffold import STARTER_PROTOCOLS, starter_files
from protocols import PROTOCOLS, argv

ROOT = Path(__file__).parents[1]


def croupier(*words: object, cache: Path) -> None:
    """Run a croupier command like an author."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path[1:], str(ROOT)]), "CROUPIER_CACHE": str(cache)}
    command = [sys.executable, "-P", "-m", "host", *map(str, words)]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


def rows(language: str, protocol: str, game: str, rounds: int, place: Path) -> Sequence[str]:
    """Return one line of the table."""
    folder, cache = place / f"{language}-{protocol}", place / "cache"
    folder.mkdir()
    for name, text in starter_files(folder.name, GAMES[game], language, protocol).items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755 if text.startswith("#!") else 0o644)
    submission = load_submission(folder)
    bot = trio.run(build, submission, UNPROTECTED)
    bare = shutil.copytree(bot.folder, place / f"{folder.name} bare")
    views = [GAMES[game].examples[n % len(GAMES[game].examples)] for n in range(MAX_QUESTIONS)]
    env = environment(bot.argv) | {"CROUPIER_SEED": "1"}

    def version() -> int:
        croupier("--version", cache=cache)
        return 1

    def compiler() -> int:
        with tempfile.TemporaryDirectory(dir=place) as workshop:
            shutil.copytree(folder, workshop, dirs_exist_ok=True)
            for step in steps_of(submission):
                subprocess.run(
                    step.command, cwd=workshop, env=environment(step.command), check=True, capture_output=True
                )
        return 1

    def starts() -> int:
        if protocol == "argv":
            for view in views:
                command = [*bot.argv, *(word.decode() for word in argv.ask(view))]
                subprocess.run(command, cwd=bare, env=env, check=True, stdout=subprocess.DEVNULL)
        else:
            lines = b"".join(PROTOCOLS["lines"].encode(view) for view in views)
            subprocess.run(bot.argv, cwd=bare, env=env, input=lines, check=True, stdout=subprocess.DEVNULL)
        return 1

    computed: list[float] = []

    def check() -> int:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        croupier("check", folder, cache=cache)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        computed.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return 1

    def forget() -> None:
        shutil.rmtree(cache / "bots", ignore_errors=True)

    contenders = [Contender("version", version), Contender("compiler", compiler), Contender("starts", starts)]
    contenders += [Contender("first", check, forget), Contender("again", check)]
    found = {result.name: result.median for result in measured(contenders, rounds)}
    floor = found["version"] + found["starts"]
    return (
        *(f"{language} by {protocol}", duration(found["compiler"]), duration(found["starts"])),
        *(duration(found["first"]), f"{found['first'] / (floor + found['compiler']):.2f}"),
        *(duration(found["again"]), f"{found['again'] / floor:.2f}", duration(median(computed[1::2]))),
    )


def main() -> None:
    """Measure, and print one line for each language and protocol."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--game", default="pazaak", choices=list(GAMES))
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="croupier-check-") as made:
        place = Path(made)
        place.chmod(0o755)
        (place / "cache").mkdir()
        os.environ["CROUPIER_CACHE"] = str(place / "cache")
        croupier("check", "sample:davey", "-g", "cardshark", cache=place / "cache")  # so that the keeper is built
        lines = [
            rows(language, protocol, said.game, said.rounds, place)
            for language in said.languages.split(",")
            if all(map(tool, LANGUAGES[language].programs))
            for protocol in STARTER_PROTOCOLS
        ]
    print(
        table(
            ("check of", "compiler", "40 bare starts", "first", "of its floor", "again", "of its floor", "of CPU"),
            lines,
        )
    )


if __name__ == "__main__":
    main()
