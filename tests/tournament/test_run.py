"""Whatever stops a run, including killed processes, the same command continues it with the same result."""

import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, Result, answers_in, croupier, croupier_process, cup_in, environment, result_of
from helpers import inhabitants, workers_of

from host.bots.host_failures import MAX_HOST_FAILURES
from host.journal.kept_lines import kept_lines_file
from host.journal.schema import VERSION
from host.journal.writer import writing
from host.sandbox.levels import UNPROTECTED, Level
from host.sandbox.process_tree import descendants

SOON = 60.0  # seconds: everything here is faster, even on a loaded machine
TOURNEYS = 8


class Running:
    """A process of `croupier run`, and its output so far."""

    def __init__(self, cup: Path, workers: int, *more: str) -> None:
        self.told, self.errors = cup.with_name("told"), cup.with_name("errors")
        self.spared = 0  # number of fixtures that were finished at the last kill
        command = [*CROUPIER, "-C", str(cup), "run", "--progress", "json", "--workers", str(workers), *more]
        with self.told.open("wb") as out, self.errors.open("wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=environment(), start_new_session=True)

    def events(self) -> list[dict[str, Any]]:
        """Return the events that it has written in complete lines."""
        return [json.loads(line) for line in self.told.read_bytes().split(b"\n")[:-1]]

    def finished(self) -> list[str]:
        """Return the fixtures that it has reported as finished."""
        return [event["fixture"] for event in self.events() if "fixture" in event]

    def wait(self, seconds: float) -> bool:
        """Wait a number of seconds at most; return whether the process has ended."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait_until(self, ready: Callable[[], object]) -> bool:
        """Wait until a condition is true; return False if the process ends before."""
        deadline = time.monotonic() + SOON
        while not ready():
            if self.wait(0.01):
                return False
            assert time.monotonic() < deadline, self.told.read_text() + self.errors.read_text()
        return True

    def workers(self) -> list[int]:
        """Return its workers."""
        return [worker.pid for worker in workers_of(self.process.pid)] if self.process.poll() is None else []

    def children(self, *names: str) -> list[int]:
        """Return its descendants that run one of these programs."""
        return [process for process in (each.pid for each in descendants(self.process.pid)) if runs(process, names)]


def runs(process: int, names: tuple[str, ...]) -> bool:
    """Return whether a process runs one of these programs; a word of its command line ends with the name."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return any(word.endswith(names) for word in words[:4])


@contextmanager
def running(cup: Path, workers: int = 2, *more: str) -> Iterator[Running]:
    """Run a tournament during the block; kill it afterwards."""
    run = Running(cup, workers, *more)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def worlds_of(process: int) -> set[str]:
    """Return the PID namespaces of all descendants of a process, except ours."""
    own, found = Path("/proc/self/ns/pid").readlink(), set[Path]()
    for each in descendants(process):
        with suppress(OSError):
            found.add(Path(f"/proc/{each.pid}/ns/pid").readlink())
    return set(map(str, found - {own}))


def births(processes: list[int]) -> dict[int, str]:
    """Return the start times of processes, which distinguish them from later ones with the same PID."""
    born = {}
    for process in processes:
        try:
            born[process] = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
        except OSError:
            continue
    return born


def gone(process: int, born: str) -> bool:
    """Return whether a process has ended; it may be a zombie."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    return facts[19] != born or facts[0] == "Z"


def played_whole(cup: Path) -> set[str]:
    """Return the fixtures in a journal; check that the journal is intact."""
    path = cup / "run" / "run.sqlite"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        whole = "SELECT path FROM fixture JOIN record ON record.fixture = fixture.id"
        paths = [path for (path,) in database.execute(whole)]
        assert database.execute("SELECT count(*) FROM fixture").fetchone() == (len(paths),)
    return set(paths)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return the result of the tournament without interruption."""
    cup = cup_in(tmp_path_factory.mktemp("whole") / "cup", tourneys=TOURNEYS)
    assert croupier("run", "-C", cup, "--workers", 2).code == 0
    return result_of(cup)


# Interrupted in good order.


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_run_that_is_interrupted_says_how_to_go_on_and_ends_the_same(
    number: signal.Signals, uninterrupted: Result, tmp_path: Path
) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    with running(cup) as run:
        run.wait_until(lambda: len(run.finished()) >= 2)
        run.process.send_signal(number)
        assert run.wait(SOON)
        assert run.process.returncode == 5
        assert run.errors.read_text().endswith(f"    continue with:  croupier -C {cup} run\n")
        *_, last = run.events()
        assert last["schema"] == "croupier/standings/1"
        assert last["interrupted"] is True
        assert last["state"] == "interrupted"
        assert set(run.finished()) <= played_whole(cup) < set(uninterrupted.fixtures)
    assert croupier("status", "-C", cup, "--json").json["state"] == "interrupted"
    assert croupier("run", "-C", cup).code == 0
    assert result_of(cup) == uninterrupted


@pytest.mark.long
def test_a_run_that_is_interrupted_while_its_bots_are_built_can_go_on(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c", "cautious.c"], tourneys=1)
    slow = cup / "bots" / "slow"
    slow.mkdir()
    shutil.copy(cup / "bots" / "davey.c", slow)
    (slow / "bot.toml").write_text('language = "c"\nrun = ["./bot"]\nbuild = ["sleep 2; cc -o bot davey.c -lm"]\n')
    with running(cup) as run:
        run.wait_until(lambda: run.children("sleep"))
        run.process.send_signal(signal.SIGINT)
        assert run.wait(SOON)
    assert run.process.returncode == 5
    assert "continue with:" in run.errors.read_text()
    assert croupier("run", "-C", cup).code == 0


@pytest.mark.long
def test_stop_after_stops_and_can_go_on(uninterrupted: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    done = croupier("run", "-C", cup, "--stop-after", "300 ms", "--workers", 1)
    assert done.code == 5
    assert "continue with:" in done.err
    assert len(played_whole(cup)) < TOURNEYS
    assert croupier("run", "-C", cup).code == 0
    assert result_of(cup) == uninterrupted


def test_the_command_to_go_on_with_is_the_one_that_was_given(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "a cup", ["davey.c", "cautious.c"], tourneys=50)
    done = croupier("run", "--unsafe", "-C", cup, "--stop-after", "100 ms", "--stage", "tables")
    assert done.err.splitlines()[-1] == f"    continue with:  croupier -C '{cup}' run --stage tables --unsafe"


def test_a_folder_is_named_by_one_option_only(tmp_path: Path) -> None:
    for command in ("run", "serve"):
        refused = croupier(command, tmp_path)
        assert (refused.code, refused.first.endswith(": -C DIR names the folder of a tournament")) == (2, True)


# Killed.


def is_spared(run: Running, chance: random.Random) -> bool:
    """Return whether not to kill anything now, so that the run makes progress."""
    finished = len(run.finished())
    if finished < run.spared + 2 and chance.random() < 0.9:
        return True
    run.spared = finished
    return False


def kill_the_run(run: Running, _chance: random.Random) -> bool:
    """Kill the run's main process."""
    run.process.kill()
    return True


def kill_a_worker(run: Running, chance: random.Random) -> bool:
    """Kill one of the workers."""
    return kill_one_of(run.workers(), chance)


def kill_a_keeper(run: Running, chance: random.Random) -> bool:
    """Kill a process of a sandbox: bubblewrap or the keeper."""
    keepers = [process for process in run.children("keeper") if is_first(process)]
    return kill_one_of(run.children("bwrap") + keepers, chance)


def is_first(process: int) -> bool:
    """Return whether a process has PID 1 in its namespace: a keeper, not a bot that is being started."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1] == "1"


def kill_one_of(processes: list[int], chance: random.Random) -> bool:
    """Kill one of these processes; return whether one was killed."""
    if not processes:
        return False
    try:
        os.kill(chance.choice(processes), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


KILLS = {"the run": kill_the_run, "a worker": kill_a_worker, "a keeper": kill_a_keeper}
MOST_HITS = MAX_HOST_FAILURES - 1
"""Kills in one run. If more keepers died in one fixture, croupier would blame the bot."""


def killed_again_and_again(cup: Path, chance: random.Random, what: list[str], longest: float) -> int:
    """Run a tournament to its end, and kill its processes at random moments; return the number of kills."""
    kills = 0
    before: set[str] = set()
    while True:
        with running(cup, chance.choice([1, 2])) as run:
            hits = workers_killed = lost = 0
            while not run.wait(chance.uniform(0.02, longest)):
                if not run.events() or is_spared(run, chance):
                    continue
                name = chance.choice(what) if hits < MOST_HITS else "the run"
                seen = set(run.finished())
                workers = run.workers()
                below = births([each.pid for each in descendants(run.process.pid) if each.pid not in workers])
                worlds = worlds_of(run.process.pid)
                if not KILLS[name](run, chance):
                    continue
                kills += 1
                hits += 1
                workers_killed += name == "a worker"
                if name == "the run":
                    assert run.wait(SOON)
                    nobody_survives(below, worlds, SOON)
                    nobody_survives(births(workers), set(), SOON)  # a worker that is starting is the last to notice
                    assert seen <= played_whole(cup)
            lost = sum("is played again" in event.get("text", "") for event in run.events())
            assert lost <= workers_killed  # a worker plays one fixture at a time, and only that one is played again
            code = run.process.returncode
            told = run.errors.read_text()
        after = played_whole(cup)
        assert before <= after
        before = after
        if code == 0:
            return kills
        assert code == -signal.SIGKILL, told


def nobody_survives(processes: dict[int, str], worlds: set[str], seconds: float) -> None:
    """Fail if a process of a run, or anything in its sandboxes, is still alive after a number of seconds.

    A new PID namespace may get the number of one that has ended: processes that started later are ignored.
    """
    deadline = time.monotonic() + seconds
    now = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    while True:
        theirs = {each: born for each, born in births(inhabitants(worlds)).items() if int(born) <= now}
        left = [each for each, born in (processes | theirs).items() if not gone(each, born)]
        if not left:
            return
        assert time.monotonic() < deadline, [Path(f"/proc/{each}/cmdline").read_bytes() for each in left]


@pytest.mark.long
@pytest.mark.parametrize("what", KILLS)
@pytest.mark.one_in(3)
def test_what_is_killed_at_a_random_moment_changes_nothing(what: str, uninterrupted: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    killed_again_and_again(cup, random.Random(f"kill {what}"), [what], 1.5)
    assert result_of(cup) == uninterrupted


STAGES = {
    "league": 'kind = "league"\ntables = 100\nrank_by = ["score", "elo"]',
    "swiss": 'kind = "swiss"\nrounds = 4\ntables_per_pairing = 1_500',
}
FIELDS = {
    "league": ("cardshark", "davey", "cautious", "basic"),
    "swiss": ("pazaak", "dumb_bold", "dumb_cautious", "neptr"),
}


def stage_in(place: Path, kind: str) -> Path:
    """Create a tournament of one stage of a kind; return its folder."""
    place.mkdir()
    game, *bots = FIELDS[kind]
    named = ", ".join(f'"sample:{bot}"' for bot in bots)
    head = f'game = "{game}"\nseed = "a seed for tests"\nbots = [{named}]\n[[stage]]\npractice = true\n'
    (place / "croupier.toml").write_text(f'{head}{STAGES[kind]}\n[limits]\nmove = "10 s"\ncpu = "10 s"\n')
    return place


@pytest.mark.long
@pytest.mark.parametrize("kind", STAGES)
@pytest.mark.one_in(3)
def test_a_stage_of_any_seats_or_rounds_that_is_killed_ends_the_same(kind: str, tmp_path: Path) -> None:
    whole, killed = (stage_in(tmp_path / name, kind) for name in ("whole", "killed"))
    assert croupier("run", "-C", whole, "--progress", "none").code == 0
    assert killed_again_and_again(killed, random.Random(kind), ["the run", "a worker"], 1.0)
    assert result_of(killed) == result_of(whole)
    assert croupier("verify", "-C", killed).code == 0


@pytest.mark.parametrize(
    "round_", [pytest.param(nth, marks=pytest.mark.long if nth < 1 else pytest.mark.proof) for nth in range(20)]
)
def test_whatever_is_killed_at_whatever_moment_changes_nothing(
    round_: int, uninterrupted: Result, tmp_path: Path
) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    killed_again_and_again(cup, random.Random(round_), [*KILLS], 1.0)
    assert result_of(cup) == uninterrupted


@pytest.mark.long
def test_a_run_may_be_killed_before_it_has_begun(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=2)
    chance = random.Random(1)
    for _ in range(8):
        with running(cup) as run:
            run.wait(chance.uniform(0.3, 1.2))
    assert croupier("run", "-C", cup).code == 0
    assert len(played_whole(cup)) == 2


@pytest.mark.proof
def test_a_keeper_that_is_killed_while_bots_are_prepared_changes_nothing(tmp_path: Path) -> None:
    assert killed_while_preparing(cup_in(tmp_path / "cup", ["lim17.py", "linear_bet.py"], 1, 1), 2) == 2


def killed_while_preparing(cup: Path, most: int) -> int:
    """Begin a tournament again and again, and each time kill a keeper or bubblewrap while the bots are prepared.

    Its bots are new each time: those that have started on this machine before are not started while bots are prepared.
    Return the number of kills. Fail if a run fails.
    """
    chance, kills = random.Random(1), 0
    for attempt in count():
        if kills == most:
            break
        for bot in (cup / "bots").iterdir():
            bot.write_text(f"{bot.read_text()}# attempt {attempt}\n")
        with running(cup, 1, "--fresh") as run:
            run.wait(chance.uniform(0.2, 1.2))
            run.wait_until(lambda: run.finished() or kill_a_keeper(run, chance))
            kills += not run.finished()
            assert run.wait(SOON)
            assert run.process.returncode == 0, run.errors.read_text()
    return kills


# Changes between two starts of a run.


SILENT = "#!/bin/sh\nexec sleep 9\n"
TWO_STAGES = """\
[[stage]]
name = "final"
kind = "mixed-tables"
tourneys = 1
practice = true
"""


@pytest.mark.long
def test_a_bot_with_too_many_faults_is_disqualified_as_was_said_in_advance(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", bots=["davey.c", "cautious.c"], tourneys=1, rounds=1)
    (cup / "bots" / "silent.sh").write_text(SILENT)
    (cup / "bots" / "silent.sh").chmod(0o755)
    config = (cup / "croupier.toml").read_text().replace('move = "10 s"', 'move = "100 ms"\nmax_faults = 2')
    (cup / "croupier.toml").write_text(config.replace("[limits]", f"{TWO_STAGES}[limits]"))
    rule = "a bot with more than 2 faults in a stage is disqualified: ranked last there, and not in the next stage"
    assert rule in croupier("-C", cup, "config", "check").out and rule in croupier("-C", cup, "run", "--dry-run").out
    run = croupier("-C", cup, "run", "--workers", 1)
    assert run.code == 0 and rule in run.out, run.err
    assert re.search(r"^WARNING  silent times out more often than it answers in tables: (\d+) of \1 ", run.err, re.M)
    assert re.search(
        r"^WARNING  silent is disqualified in tables: \d+ faults, more than max_faults = 2$", run.err, re.M
    )
    first = croupier("-C", cup, "standings", "tables", "--json").json["rows"]
    assert [row["disqualified"] for row in first] == [False, False, True] and first[2]["bot"] == "silent"
    assert "is out, disqualified" in croupier("-C", cup, "standings", "final", "--csv").out
    assert croupier("-C", cup, "verify").code == 0 and croupier("-C", cup, "run", "--dry-run").code == 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished small tournament, which tests must not change."""
    cup = cup_in(tmp_path_factory.mktemp("finished") / "cup", ["davey.c", "cautious.c"], tourneys=2, rounds=1)
    (cup / "croupier.toml").write_text(
        (cup / "croupier.toml").read_text().replace('seed = "a seed for tests"', 'seed = "random"')
    )
    done = croupier("run", "-C", cup)
    assert done.code == 0, done.err
    return cup


@pytest.fixture
def cup(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of that tournament."""
    shutil.copytree(finished, tmp_path / "cup")
    return tmp_path / "cup"


def test_a_cup_that_is_over_is_not_played_again(cup: Path) -> None:
    before = (cup / "run" / "run.sqlite").stat().st_mtime_ns, result_of(cup)
    done = croupier("run", "-C", cup, "--progress", "json")
    assert done.code == 0
    assert '"fixture"' not in done.out
    assert result_of(cup) == before[1]


def test_fresh_begins_anew_with_another_seed(cup: Path) -> None:
    before = result_of(cup)
    assert croupier("run", "-C", cup, "--fresh").code == 0
    after = result_of(cup)
    assert after.fixtures.keys() == before.fixtures.keys()
    assert after.standings["seed_sha256"] != before.standings["seed_sha256"]


def test_fresh_deletes_the_lines_of_a_journal_whose_answers_were_removed(cup: Path) -> None:
    with writing(cup / "run" / "run.sqlite") as book:
        book.remove_answers()
    assert croupier("verify", "-C", cup, "--json").json["reduced"] == 2
    assert croupier("run", "-C", cup, "--fresh").code == 0
    assert croupier("verify", "-C", cup, "--json").json["reduced"] == 0


@pytest.mark.parametrize(
    "content",
    [
        b"no lines",
        gzip.compress(b"{}")[:10] + b"\x07" * 30,  # a block of a type that deflate does not have
        gzip.compress(b"[" * 100_000),
        gzip.compress(b'{"1":"a","1":"b"}'),
        gzip.compress(b'{"one":"a"}'),
    ],
    ids=["no gzip", "no deflate", "deep", "twice", "no number"],
)
def test_damaged_lines_of_removed_answers_are_differences(content: bytes, cup: Path) -> None:
    with writing(cup / "run" / "run.sqlite") as book:
        book.remove_answers()
    kept_lines_file(cup / "run" / "run.sqlite").write_bytes(content)
    verified = croupier("verify", "-C", cup, "--json")
    changed = [f"tables/{number}: it was changed after it was sealed" for number in (1, 2)]
    assert (verified.code, sorted(verified.json["differences"])) == (1, changed)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 100_000, "a JSON text is nested too deeply"),
        ('{"after":1,"after":2}', "a JSON text has a key that occurs twice in an object"),
        ('{"after":' + "9" * 20 + "}", "a JSON text has a whole number of more than 64 bits"),
        ('{"after":NaN}', "a JSON text is not JSON: NaN is not JSON"),
        ("[1]", "Expected `object`, got `array`"),
    ],
    ids=["deep", "twice", "large", "NaN", "list"],
)
def test_json_that_no_journal_has_is_refused_wherever_it_is(text: str, told: str, cup: Path) -> None:
    path = cup / "run" / "run.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO change VALUES (1, 1.0, 'more', 'tables', 'league', 'why', ?, 1)", (text,))
    done = croupier("standings", "-C", cup)
    assert (done.code, done.first) == (3, f"error[R005] {path}: is damaged: change 1: {told}")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM change")
        database.execute("UPDATE fixture SET about = ?", (text,))
    done = croupier("replay", "last", "-C", cup)
    assert done.code == 3 and f"is damaged: the description of a fixture: {told}" in done.first


def test_fresh_throws_nothing_away_when_it_cannot_begin(cup: Path) -> None:
    before = answers_in(cup / "run" / "run.sqlite")
    (cup / "bots" / "broken.c").write_text("int main(")
    assert croupier("run", "-C", cup, "--fresh").code == 4
    assert answers_in(cup / "run" / "run.sqlite") == before


def change(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def limits(cup: Path) -> None:
    """Change a limit."""
    change(cup / "croupier.toml", 'move = "10 s"', 'move = "2 s"')


def stage(cup: Path) -> None:
    """Change a stage."""
    change(cup / "croupier.toml", "rounds = 1", "rounds = 2")


def source(cup: Path) -> None:
    """Change a bot's source."""
    with (cup / "bots" / "davey.c").open("a") as file:
        file.write("// better\n")


def join(cup: Path) -> None:
    """Add a bot."""
    shutil.copy(cup / "bots" / "davey.c", cup / "bots" / "late.c")


def leave(cup: Path) -> None:
    """Remove a bot."""
    (cup / "bots" / "davey.c").unlink()


def lose_the_seed(cup: Path) -> None:
    """Delete the seed."""
    (cup / "run" / "seed").unlink()


def change_the_seed(cup: Path) -> None:
    """Replace the seed."""
    (cup / "run" / "seed").write_text("0" * 32 + "\n")


def empty_the_seed(cup: Path) -> None:
    """Empty the seed's file."""
    (cup / "run" / "seed").write_text("")


CHANGES = [
    (limits, "error[R001] {cup}/croupier.toml: changed since this run began ([limits] move: 10 s → 2 s)"),
    (stage, 'error[R001] {cup}/croupier.toml: changed since this run began ([[stage]] "tables" rounds: 1 → 2)'),
    (source, "error[R002] davey: changed since this run began (sha256 "),
    (join, 'error[R004] {cup}/croupier.toml: late cannot join: stage "tables" has begun, and all bots play in every'),
    (leave, "error[R004] {cup}/croupier.toml: the list of bots has changed since this run began: davey removed"),
    (lose_the_seed, "error[R010] {cup}/run/seed: cannot be read: No such file or directory"),
    (change_the_seed, "error[R010] {cup}/run/seed: is not the seed that this run began with"),
    (empty_the_seed, "error[R010] {cup}/run/seed: is not a seed, which has 32 hexadecimal digits"),
]


@pytest.mark.parametrize(("change", "told"), [pytest.param(*each, id=each[0].__name__) for each in CHANGES])
def test_a_run_does_not_go_on_as_another(change: Callable[[Path], None], told: str, cup: Path) -> None:
    before = answers_in(cup / "run" / "run.sqlite")
    change(cup)
    done = croupier("run", "-C", cup)
    assert (done.code, done.first[: len(told.format(cup=cup))]) == (3, told.format(cup=cup))
    assert answers_in(cup / "run" / "run.sqlite") == before


def test_a_run_does_not_go_on_unprotected(cup: Path) -> None:
    done = croupier("run", "-C", cup, "--unsafe")
    began = Level(croupier("status", "-C", cup, "--json").json["sandbox"])
    message = f"this run began at level {began.label}, but the level is now {UNPROTECTED.label}"
    told = f"error[R007] {cup}/croupier.toml: {message}"
    assert (done.code, told in done.err.splitlines()) == (3, True)


def test_two_do_not_play_one_cup_at_once(cup: Path) -> None:
    with writing(cup / "run" / "run.sqlite"):
        done = croupier("run", "-C", cup)
        status = croupier("status", "-C", cup, "--json").json
    assert (done.code, done.first.partition(" since")[0]) == (
        5,
        f"error[R003] {cup}/run: is in use by pid {os.getpid()} on {os.uname().nodename}",
    )
    assert status["by"].startswith(f"pid {os.getpid()} on ")


def test_who_only_looks_keeps_nobody_from_playing(cup: Path) -> None:
    with writing(cup / "run" / "run.sqlite"):
        assert croupier("standings", "-C", cup).code == 0
        assert croupier("replay", "last", "-C", cup).code == 0


# Files that are not intact journals of this version.


def garbage(path: Path) -> None:
    """Replace a journal by another kind of file."""
    path.write_bytes(b"all that glitters is not gold\n" * 1000)


def foreign(path: Path) -> None:
    """Replace a journal by another program's database."""
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE recipes (name TEXT)")


def newer(path: Path) -> None:
    """Mark a journal as written by a newer croupier."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")


def cut(path: Path) -> None:
    """Truncate a journal."""
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path: Path) -> None:
    """Overwrite the middle of a journal."""
    content = bytearray(path.read_bytes())
    content[4096:20_000] = bytes(255 - byte for byte in content[4096:20_000])
    path.write_bytes(content)


def scratched(path: Path) -> None:
    """Damage a record, which SQLite does not check."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE record SET summary = x'ff00'")


@cache
def bomb(mebibytes: int) -> bytes:
    """Return a few bytes that are many when they are decompressed."""
    packer = zlib.compressobj(9)
    return b"".join([packer.compress(bytes(1 << 20)) for _ in range(mebibytes)] + [packer.flush()])


def bloated(path: Path, part: str, mebibytes: int) -> None:
    """Replace a part of each record by a few bytes that are many when they are decompressed."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE record SET {part} = ?", (bomb(mebibytes),))


def limit_memory() -> None:
    """Let this process have a gigabyte of addresses."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def endless(path: Path) -> None:
    """Put a view with rows without end in the place of a table."""
    with closing(sqlite3.connect(path)) as database, database:
        columns = ", ".join(f"n AS {name}" for _, name, *_ in database.execute("PRAGMA table_info(fault)"))
        rows = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
        database.execute("DROP TABLE fault")
        database.execute(f"CREATE VIEW fault AS {rows} SELECT {columns} FROM c")


def triggered(path: Path) -> None:
    """Add a trigger."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TRIGGER more AFTER INSERT ON fault BEGIN DELETE FROM record; END")


def computed(path: Path) -> None:
    """Let a column compute for long whenever a row is read."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE fault RENAME TO old")
        database.execute("CREATE TABLE fault AS SELECT id, fixture, bot, kind FROM old")
        database.execute("ALTER TABLE fault ADD evidence AS (hex(zeroblob(400000000)))")
        database.execute("DROP TABLE old")


def retyped(path: Path) -> None:
    """Store bytes where a journal has text: SQLite stores any value in any column."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE run SET key = x'ff' WHERE key = 'name'")


def not_text(path: Path) -> None:
    """Store bytes that are not UTF-8 as a text."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE fixture SET about = CAST(x'7bff7d' AS TEXT)")


def misnamed(path: Path) -> None:
    """Let the name of a table be other than UTF-8, as the message of SQLite repeats it."""
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE run ", b"CREATE TAB\xff\xffrun ", 1))


DAMAGES = [
    (retyped, "is damaged: run.key has a value that is not TEXT"),
    (not_text, "is damaged: fixture has a text that is not UTF-8"),
    (misnamed, "is not a journal: "),
    (computed, "is damaged: 'fault' is not defined as in a journal"),
    (endless, "is damaged: 'fault' is neither a table nor an index"),
    (triggered, "is damaged: 'more' is neither a table nor an index"),
    (garbage, "is not a journal: file is not a database"),
    (foreign, "is a database, but not a journal of croupier"),
    (newer, f"was written by a newer croupier (format {VERSION + 1}; this version reads {VERSION})"),
    (cut, "is "),
    (overwritten, "is "),
    (scratched, "is damaged: "),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "mebibytes"),
    [
        ("scores", 2),
        ("seats", 2),
        ("answers", 64),
        pytest.param("answers", 1024, marks=pytest.mark.long),
        pytest.param("scores", 1024, marks=pytest.mark.proof),
        pytest.param("seats", 1024, marks=pytest.mark.proof),
    ],
)
def test_a_journal_that_unpacks_to_more_than_its_tables_is_refused_without_the_memory(
    cup: Path, part: str, mebibytes: int
) -> None:
    bloated(cup / "run" / "run.sqlite", part, mebibytes)
    done = croupier_process("replay", "last", "-C", cup, preexec_fn=limit_memory)
    assert done.code in (1, 3), done.err
    (limit,) = map(int, re.findall(r"compressed data of more than (\d+) bytes", done.err))
    most = 64 if part == "answers" else 2
    assert limit < most << 20  # so many tables and answers cannot have more


@pytest.mark.parametrize(("damage", "told"), [pytest.param(*each, id=each[0].__name__) for each in DAMAGES])
@pytest.mark.parametrize("command", ["run", "standings", "faults", "replay"])
def test_a_journal_that_cannot_be_used_is_refused_and_left_untouched(
    damage: Callable[[Path], None], told: str, command: str, cup: Path
) -> None:
    journal = cup / "run" / "run.sqlite"
    for beside in journal.parent.glob("run.sqlite-*"):
        beside.unlink()
    damage(journal)
    before = journal.read_bytes()
    done = croupier(command, "-C", cup)
    assert (done.code, done.first[: len(f"error[R005] {journal}: {told}")]) == (3, f"error[R005] {journal}: {told}")
    assert journal.read_bytes() == before


def test_an_empty_file_is_a_journal_in_which_nothing_has_been_played(cup: Path) -> None:
    journal = cup / "run" / "run.sqlite"
    journal.write_bytes(b"")
    done = croupier("standings", "-C", cup)
    assert (done.code, done.first) == (3, f"error[R006] {journal}: nothing has been played here yet")
    assert croupier("run", "-C", cup).code == 0


def test_a_journal_that_cannot_be_written_says_why(cup: Path) -> None:
    (cup / "run" / "run.lock").unlink()
    (cup / "run" / "run.lock").mkdir()
    done = croupier("run", "-C", cup)
    told = f"error[R009] {cup}/run/run.sqlite: cannot be written: Is a directory"
    assert (done.code, done.first) == (6, told)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="NOT INSTALLED: bwrap")
def test_a_journal_on_a_read_only_volume_says_so_before_anything_is_played(cup: Path) -> None:
    volume = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(cup / "run"), str(cup / "run"), "--"]
    command = [*volume, *CROUPIER, "-C", str(cup), "run"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    told = f"error[R009] {cup}/run/run.sqlite: cannot be written: Read-only file system"
    assert (done.returncode, done.stderr.partition("\n")[0]) == (6, told)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: cannot become somebody else")
def test_somebody_elses_journal_can_be_read_and_not_written(finished: Path) -> None:
    python = shutil.which("python3", path="/usr/bin")
    packages = [path for path in sys.path if "site-packages" in path]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "cache").mkdir()
        os.chown(place / "cache", 65534, 65534)
        cup = place / "cup"
        shutil.copytree(finished, cup)
        for path in (cup / "run").glob("run.sqlite-*"):
            path.unlink()
        env = environment(CROUPIER_CACHE=str(place / "cache"), PYTHONDONTWRITEBYTECODE="1")
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], *packages])

        def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
            command = [python or "", *words]
            return subprocess.run(
                command, env=env, user=65534, group=65534, cwd="/", capture_output=True, text=True, check=False
            )

        if not python or as_nobody("-c", "import host.cli, msgspec, trio").returncode:
            pytest.skip("NO PYTHON that everybody may run has croupier's packages")
        croupier_as_nobody = ("-P", "-m", "host", "-C", str(cup))
        assert as_nobody(*croupier_as_nobody, "standings", "--json").returncode == 0
        done = as_nobody(*croupier_as_nobody, "run")
        told = f"error[R009] {cup}/run/run.sqlite: cannot be written: Permission denied"
        assert (done.returncode, done.stderr.partition("\n")[0]) == (6, told)


def test_a_run_as_a_process_of_its_own_ends_with_0(cup: Path) -> None:
    done = croupier_process("run", "-C", cup, "--fresh", "--progress", "none")
    assert (done.code, done.err) == (0, "")
