"""Without the keeper nothing runs: croupier refuses and names what to install."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import trio
from command import croupier_process, cup_in, machine
from helpers import CACHE, breadth, level
from machines import until

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec, Submission
from host.bots.monitor import unwrap_exception_group
from host.sandbox import bubblewrap, keeper
from host.sandbox.cgroup import GROUP_PREFIX, base
from host.sandbox.levels import Level
from host.submissions.build import build

FAILING_COMPILER = "#!/bin/sh\necho 'stdlib.h: No such file or directory' >&2\nexit 1\n"
pytestmark = pytest.mark.skipif(not bubblewrap.program(), reason="NO BUBBLEWRAP HERE")


@pytest.mark.long
def test_doctor_names_the_missing_compiler_and_what_to_install() -> None:
    env = machine("doctor")

    done = croupier_process("doctor", env=env)
    as_json = croupier_process("doctor", "--json", env=env)

    assert (done.code, as_json.code) == (6, 6)
    assert "! keeper" in done.out and "no C compiler" in done.out and "apt install gcc libc6-dev" in done.out
    assert as_json.json["sandbox"] == "none"
    assert [problem["code"] for problem in as_json.json["problems"]] == ["S002"]


def test_doctor_shows_the_message_of_a_compiler_that_fails() -> None:
    done = croupier_process("doctor", env=machine("failing", FAILING_COMPILER))

    assert done.code == 6
    assert "the keeper does not compile" in done.out and "stdlib.h: No such file or directory" in done.out


@pytest.mark.parametrize("level", breadth(Level, 3))
def test_no_level_runs_without_the_keeper(level: Level, tmp_path: Path) -> None:
    env = machine(f"level-{level}")
    cup = cup_in(tmp_path / "cup")
    (cup / "croupier.toml").write_text((cup / "croupier.toml").read_text() + f'[sandbox]\nlevel = "{level}"\n')

    done = croupier_process("run", "-C", cup, env=env)

    assert done.code == 6 and "error[S002]" in done.err


@pytest.mark.proof
def test_a_bubblewrap_that_never_ends_is_given_up() -> None:
    keeper.binary()
    env = machine("stuck") | {"CROUPIER_CACHE": str(CACHE)}
    stuck, sleeper = Path(env["PATH"], "bwrap"), CACHE / "sleeper"
    stuck.unlink()
    stuck.write_text(f"#!/bin/sh\n/bin/sleep 1000 & echo $! >{sleeper}\nwait\n")
    stuck.chmod(0o755)
    sleeper.touch()
    sleeper.chmod(0o666)

    level = croupier_process("doctor", "--json", env=env).json["sandbox"]

    assert level in (Level.NONE, Level.L2)
    slept = Path(f"/proc/{sleeper.read_text().strip()}/cmdline")
    until(lambda: not slept.exists() or not slept.read_bytes())  # dead, reaped or not


@pytest.mark.long
@pytest.mark.skipif(level() is not Level.L4, reason="NO CONTROL GROUPS HERE")
def test_a_build_whose_keeper_is_killed_for_lack_of_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot").write_text("#!/bin/sh\n")
    spec = BotSpec(
        name="hungry",
        language="any",
        game="cardshark",
        sources=("bot",),
        build=("sh -c 'tail /dev/zero; sleep 100'",),
        run=("./bot",),
    )

    async def kill_the_rest() -> None:
        """Kill all that the kernel has left in the group, the keeper included, as it does if that is the largest."""
        (controller, file), folders = base().words.killed, base().folders
        while True:
            await trio.sleep(0.02)
            for group in folders[controller].glob(f"{GROUP_PREFIX}{os.getpid()}-*"):
                if re.search(r"^oom_kill [1-9]", (group / file).read_text(), re.MULTILINE):
                    for pid in (group / "cgroup.procs").read_text().split():
                        with suppress(ProcessLookupError):
                            os.kill(int(pid), signal.SIGKILL)
                    return

    async def work() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_the_rest)
            await build(Submission(spec, tmp_path, ("bot",)), level(), force=True)

    with pytest.raises(UserError, match="including the keeper"), unwrap_exception_group():
        trio.run(work)
