"""Folders that croupier may not use, and full disks: every command names the path and the cure; none has a bug."""

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import CROUPIER, croupier, cup_in, environment
from helpers import breadth

from host.base.paths import cache_dir
from host.base.system_errors import system_error
from host.cli import COMMANDS, used_folders

DAC_CAPABILITIES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root may use every file
CAPABILITY_VERSION_3 = 0x20080522

WORDS = {
    "new": "new {cup}/sub -g pazaak",
    "run": "run --unsafe",
    "run --fresh": "run --fresh --unsafe",
    "run --dry-run": "run --dry-run --unsafe",
    "play": "play sample:davey sample:cautious -n 1 --unsafe",
    "compare": "compare sample:davey sample:cautious --max 4 --unsafe",
    "init": "init {cup}/mine --lang python -g cardshark",
    "add": "add sample:davey --as fourth --unsafe",
    "check": "check davey --unsafe",
    "grades": "grades",
    "standings": "standings",
    "standings --overall": "standings --overall",
    "rating": "rating {cup}",
    "faults": "faults",
    "replay": "replay last",
    "report": "report",
    "redo": "redo tables/1 --reason why",
    "withdraw": "withdraw davey --reason why",
    "games": "games",
    "status": "status",
    "verify": "verify",
    "seed commit": "seed commit",
    "seed reveal": "seed reveal",
    "export csv": "export csv -o {cup}/out.csv",
    "export jsonl": "export jsonl -o {cup}/out.jsonl",
    "config show": "config show",
    "config check": "config check",
    "ask": "ask davey last --unsafe",
    "ls": "ls",
    "explain": "explain R013",
}
"""Every command, with arguments that make it read and write the folder of the tournament."""

ELSEWHERE = {"doctor", "serve", "remove", "season", "submit"}
"""Commands that do not use the folder of a tournament, that do not end, or that a run which has begun refuses."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextlib.contextmanager
def permissions_count() -> Iterator[None]:
    """Let the permissions of files count for root, too: set aside the capabilities that ignore them."""
    libc, header, sets = ctypes.CDLL(None), _Header(CAPABILITY_VERSION_3, 0), (_Set * 2)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~DAC_CAPABILITIES
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = before
        assert libc.capset(ctypes.byref(header), sets) == 0


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tournament."""
    cup = cup_in(tmp_path_factory.mktemp("played") / "cup", tourneys=1, rounds=1)
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace('seed = "a seed for tests"\n', ""))
    assert croupier("-C", cup, "run", "--unsafe").code == 0
    return cup


def read_only(cup: Path) -> None:
    """Take the permission to write from a folder and all that it contains; a file that is executable stays so."""
    for path in (*sorted(cup.glob("**/*"), reverse=True), cup):  # what a folder contains first
        path.chmod(path.stat().st_mode & 0o555)


def unreadable_run(cup: Path) -> None:
    (cup / "run").chmod(0)


def foreign_bots(cup: Path) -> None:
    (cup / "bots").chmod(0)


def foreign_config(cup: Path) -> None:
    (cup / "croupier.toml").chmod(0)


def missing(cup: Path) -> None:
    shutil.rmtree(cup)


PLACES = (read_only, unreadable_run, foreign_bots, foreign_config, missing)


def refused_or_done(words: str, cup: Path) -> str:
    """Run a command; return its code of error, "" if it did its work. Check that it names a path and a cure."""
    done = croupier("-C", cup, *words.format(cup=cup).split())
    assert "H001" not in done.err and done.code in (0, 1, 2, 3, 4, 6), done
    if done.code in (0, 1):
        return ""
    first = next(line for line in done.err.splitlines() if line.startswith("error["))
    assert str(cup) in first or "B0" in first, done.err  # a bot's error names the bot
    assert "\n  hint: " in done.err or "B0" in first, done.err
    return first[6:10]


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_every_command_names_the_path_and_the_cure(place: Callable[[Path], None], played: Path, tmp_path: Path) -> None:
    codes = {}
    for name, words in WORDS.items():
        cup = tmp_path / re.sub(r"\W+", "-", name)
        shutil.copytree(played, cup)
        place(cup)
        with permissions_count():
            codes[name] = refused_or_done(words, cup)
        if cup.exists():
            subprocess.run(["chmod", "-R", "u+rwX", cup], check=True)
    expected = {
        read_only: {
            "new": "R013",
            "add": "R013",
            "report": "R013",
            "standings": "",
            "status": "",
        },
        unreadable_run: {"standings": "R013", "verify": "R013", "run": "R009", "status": "R013", "ls": ""},
        foreign_bots: {"standings": "", "ls": "R013", "add": "R013"},
        foreign_config: {"ls": "C011", "run": "C011", "standings": ""},
        missing: dict.fromkeys(("run", "standings", "add", "seed commit"), "U001"),
    }[place]  # type: ignore[index]
    assert {name: codes[name] for name in expected} == expected


def test_a_seed_cannot_be_committed_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text('game = "cardshark"\n')
    tmp_path.chmod(0o555)
    with permissions_count():
        done = croupier("-C", tmp_path, "seed", "commit")
    tmp_path.chmod(0o755)
    assert (done.code, done.first) == (6, f"error[R013] {tmp_path}/run: cannot be used: Permission denied")
    assert f"namei -l {tmp_path}/run" in done.err


def test_the_sweep_knows_every_command() -> None:
    assert {words.split()[0] for words in WORDS.values()} | ELSEWHERE == set(COMMANDS)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk; only root can make one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "croupier-test", disk], check=True)
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.long
def test_a_full_disk_is_named_by_every_command(played: Path, full_disk: Path) -> None:
    cup = full_disk / "cup"
    shutil.copytree(played, cup)
    with contextlib.suppress(OSError), (full_disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    codes = {name: refused_or_done(words, cup) for name, words in WORDS.items() if name != "run --fresh"}
    assert {name: codes[name] for name in ("new", "init", "add", "report", "export csv", "standings", "ls")} == {
        **dict.fromkeys(("new", "init", "add", "report", "export csv"), "R013"),
        **dict.fromkeys(("standings", "ls"), ""),
    }


@pytest.mark.parametrize(("words", "folder"), [("standings --json", "."), ("-C cup standings --json", "cup")])
def test_a_full_disk_is_looked_for_in_the_folder_of_the_command(words: str, folder: str) -> None:
    assert used_folders(words.split()) == [Path(folder), cache_dir()]


def test_a_missing_current_folder_is_no_bug(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *CROUPIER, "status"]
    done = subprocess.run(script, cwd=gone, env=environment(), capture_output=True, check=False)
    assert b"H001" not in done.stderr and done.returncode in (2, 3, 6), done


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small finished tournament."""
    folder = cup_in(tmp_path_factory.mktemp("finished") / "cup", tourneys=1, rounds=1)
    assert croupier("run", "-C", folder, "--unsafe").code == 0
    return folder


def in_a_shell(line: str, folder: Path) -> tuple[int, str]:
    """Run a line of a shell, in which `croupier` is the command; return its exit code and its standard error."""
    command = " ".join(map(shlex.quote, CROUPIER))
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("croupier", command)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", breadth(["standings", "status", "standings --json", "games", "run --unsafe"], 3))
def test_a_closed_standard_output_is_named(words: str, finished: Path) -> None:
    before = (finished / "run" / "run.sqlite").read_bytes()
    code, told = in_a_shell(f"croupier {words} >&-", finished)
    assert code == 6 and told.startswith("error[R013] standard output: is closed"), told
    assert (finished / "run" / "run.sqlite").read_bytes() == before


def test_a_closed_standard_error_is_no_problem(finished: Path) -> None:
    assert in_a_shell("croupier standings 2>&- | grep -q davey", finished) == (0, "")


@pytest.mark.parametrize("words", ["standings", "standings --json"])
def test_a_full_standard_output_is_named_not_the_folder(words: str, finished: Path) -> None:
    code, told = in_a_shell(f"croupier {words} > /dev/full", finished)
    assert code == 6 and told.startswith("error[R013] standard output: cannot be written: No space left on device"), (
        told
    )
    assert "Traceback" not in told and "df -h" not in told


@pytest.mark.long
def test_a_command_without_memory_says_so(finished: Path) -> None:
    refused = system_error(MemoryError(), [])
    assert refused and refused.exit_code == 6 and refused.problems[0].message == "there is not enough memory"
    hog = f"ulimit -v 400000; {shlex.quote(sys.executable)} -c 'bytearray(1 << 30)'"
    if in_a_shell(hog, finished)[0] == 0:
        pytest.skip("THIS KERNEL DOES NOT LIMIT ADDRESSES")
    answers = {in_a_shell(f"ulimit -v {kib}; croupier standings", finished) for kib in range(30_000, 120_000, 6_000)}
    # Python itself reports a failed allocation in some places as SystemError.
    assert not any("H001" in told and "SystemError" not in told for _, told in answers), answers
    assert {code for code, _ in answers} != {0}
