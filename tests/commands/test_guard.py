"""Commands that play tables again in their own process, with rules that end the process or never return."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import failing_games
import pytest
from command import CROUPIER, Done, croupier_process, environment
from helpers import breadth, long
from machines import until

from host.cli import executes_rules

STAGE = """
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 2
"""
HURRIED = "from host.cli import guard, main; guard.MAX_RULES_S = 2.0; main()"
"""croupier, with two seconds in the place of sixty."""

AGAIN = [
    ("verify",),
    ("replay", "league/ada+cyd/1"),
    ("report", "-o", "page.html"),
    ("export", "jsonl"),
    ("ask", "cyd", "league/ada+cyd/1:3"),
    ("check", "bots/cyd"),
]


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament that has been played, and whose game can fail at each answer of cyd in the second turn."""
    folder = failing_games.tournament(
        tmp_path_factory.mktemp("guard") / "cup", "GAME", STAGE, bots=("ada", "cyd"), often=1
    )
    assert croupier_process("-C", folder, "run", "--progress", "none").code == 0
    return folder


def hurried(folder: Path, *words: str) -> Done:
    """Run a command with rules that may compute for two seconds."""
    command = [sys.executable, "-P", "-c", HURRIED, *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, timeout=100, check=False)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        long(("segfault", "it ended its process (Segmentation fault)")),
        ("quit", "it ended its process (exit code 0)"),
        long(("exit", "SystemExit: that is enough")),
    ],
)
def test_rules_that_end_the_process_of_a_command_are_named(mode: str, reason: str, cup: Path) -> None:
    failing_games.set_mode(cup, f"always {mode}")
    done = croupier_process("-C", cup, "verify")
    assert done.code == 3 and "error[C020]" in done.err
    assert f"the game sums:GAME failed at table league/ada+cyd/1: {reason}" in done.err
    failing_games.set_mode(cup, "never")
    assert croupier_process("-C", cup, "verify").code == 0


@pytest.mark.long
@pytest.mark.parametrize("mode", ["segfault", "endless"])
@pytest.mark.one_in(2)
def test_every_command_that_plays_tables_again_ends_with_the_name_of_the_table(mode: str, cup: Path) -> None:
    failing_games.set_mode(cup, f"always {mode}")
    for words in AGAIN:
        done = hurried(cup, *words)
        seconds = "0.5" if words[0] == "check" else "2"  # its tables are played in a process of the rules
        endless = f"it computed for {seconds} s and did not return"
        reason = "it ended its process (Segmentation fault)" if mode == "segfault" else endless
        table = "check/" if words[0] == "check" else "league/ada+cyd/1: "
        assert done.code == 3 and f"error[C020] the game sums:GAME failed at table {table}" in done.err, (words, done)
        assert reason in done.err


@pytest.mark.parametrize("number", breadth([signal.SIGKILL, signal.SIGTERM], 2))
def test_a_command_that_is_ended_leaves_no_child(number: signal.Signals, cup: Path) -> None:
    failing_games.set_mode(cup, "always endless")
    command = [*CROUPIER, "-C", str(cup), "verify"]
    with subprocess.Popen(command, env=environment(), start_new_session=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until(children.read_text, 20)
        child = os.pidfd_open(int(children.read_text().split()[0]))
        process.send_signal(number)
        assert process.wait(20) == -number
    poll = select.poll()
    poll.register(child, select.POLLIN)
    assert poll.poll(20_000)
    os.close(child)


@pytest.mark.parametrize(
    ("words", "guarded"),
    [
        (["verify"], True),
        (["-C", "verify", "run"], False),
        (["--json", "-C", "cup", "replay", "last"], True),
        (["season", "verify"], True),
        (["season", "open"], False),
        (["verify", "--help"], False),
        ([], False),
    ],
)
def test_the_commands_that_run_in_a_child(words: list[str], guarded: bool) -> None:
    assert executes_rules(words) == guarded
