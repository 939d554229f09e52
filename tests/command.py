"""Run croupier commands in tests: in this process, or in a new process if the command is killed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import helpers

from host.cli import main
from host.journal.reader import reading
from host.sandbox import bubblewrap

ROOT = Path(__file__).parents[1]
CROUPIER = [sys.executable, "-P", "-m", "host"]
MEASURED = ("p99", "cpu_per_decision", "pauses", "pondered")  # differ between any two runs


class Done(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Parse the standard output, which must be one JSON object."""
        return json.loads(self.out)

    @property
    def first(self) -> str:
        """Return the first line of standard error."""
        return self.err.partition("\n")[0]


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a new croupier process: croupier from this clone, and this test run's cache."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | more


def machine(name: str, compiler: str = "") -> dict[str, str]:
    """Return the environment of a machine with bubblewrap, the given C compiler or none, and an empty cache."""
    place = helpers.CACHE / f"machine-{name}"
    for folder in (place / "bin", place / "cache"):
        folder.mkdir(parents=True)
    (place / "bin" / "bwrap").symlink_to(bubblewrap.program() or "")
    if compiler:
        (place / "bin" / "cc").write_text(compiler)
        (place / "bin" / "cc").chmod(0o755)
    return environment(PATH=str(place / "bin"), CROUPIER_CACHE=str(place / "cache"))


PLAYING = {"run", "play", "compare"}
CHOSEN = {"--workers", "--cluster", "--dry-run", "--help"}


def with_one_worker(words: list[str]) -> list[str]:
    """Return the words of a command with `--workers 1`, if it plays: starting a second worker takes longer than most games."""
    command = next((at for at, word in enumerate(words) if word in PLAYING), None)
    if command is None or CHOSEN & {*words}:
        return words
    return [*words[: command + 1], "--workers", "1", *words[command + 1 :]]


def croupier(*words: object, cwd: Path | None = None) -> Done:
    """Run a command in this process, with one worker if the words do not say how many."""
    out, err = StringIO(), StringIO()
    before = Path.cwd()
    try:
        if cwd is not None:
            os.chdir(cwd)
        with redirect_stdout(out), redirect_stderr(err):
            main(with_one_worker([*map(str, words)]))
    except SystemExit as ended:
        code = ended.code
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def croupier_process(
    *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, **more: Any
) -> Done:
    """Run a command in a new process."""
    command = [*CROUPIER, *map(str, words)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment() if env is None else env,
        capture_output=True,
        timeout=600,
        check=False,
        **more,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


CUP = """\
game = "cardshark"
name = "Cup of tests"
seed = "a seed for tests"
bots = [{bots}]
[[stage]]
name = "tables"
kind = "mixed-tables"
tourneys = {tourneys}
rounds = {rounds}
practice = true
[limits]
move = "10 s"
cpu = "10 s"
"""

FAST = ("davey.c", "cautious.c", "basic.cpp")
"""Sample bots that answer within two milliseconds."""


def cup_in(place: Path, bots: Sequence[str] = FAST, tourneys: int = 4, rounds: int = 5, more: str = "") -> Path:
    """Create a tournament folder whose bots are copies of sample bots; return it."""
    (place / "bots").mkdir(parents=True)
    for name in bots:
        copied = place / "bots" / name
        copied.write_bytes((helpers.SAMPLES / "cardshark" / name).read_bytes())
    (place / "croupier.toml").write_text(CUP.format(bots='"bots/*"', tourneys=tourneys, rounds=rounds) + more)
    return place


class Result(NamedTuple):
    """The parts of a tournament's result that do not depend on how it was run: standings, answers and scores."""

    standings: dict[str, Any]
    fixtures: dict[str, Any]


def result_of(cup: Path) -> Result:
    """Return the result of a tournament folder."""
    told = croupier("standings", "-C", cup, "--json").json
    del told["replayed"], told["stalls"], told["failures"], told["seal"]
    told["rows"] = [{key: value for key, value in row.items() if key not in MEASURED} for row in told["rows"]]
    return Result(told, answers_in(cup / "run" / "run.sqlite"))


def answers_in(path: Path) -> dict[str, Any]:
    """Return the scores, answers and faults of every fixture in a journal."""
    fixtures = {}
    with reading(path) as journal:
        for fixture in journal.paths():
            record = journal.full_record(fixture)
            fixtures[fixture] = (record.scores, record.answers, record.results, record.faults, record.benched)
    return fixtures
