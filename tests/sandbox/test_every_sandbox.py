"""A sandbox is as strong as it claims: a short list of attacks at every level of this machine."""

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
from command import ROOT
from helpers import (
    AMPLE,
    CACHE,
    ROGUES,
    built,
    groups,
    inhabitants,
    levels,
    nothing_left_behind,
    sandbox_uids,
    spec_of,
    strongest,
    worlds,
    written,
)
from machines import until
from test_every_language import marks

from host.base.errors import UserError
from host.base.paths import SANDBOX_UID
from host.bots.bot_spec import BuiltBot
from host.bots.monitor import running_monitor
from host.bots.seat import Seat, open_seat
from host.bots.values import Batch, Question
from host.games import GAMES
from host.sandbox import cgroup
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import apparmor_cure, detect, randomizes_pids, require_level
from host.sandbox.keeper import Ended, KeeperDied
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import MIB, Limits
from host.sandbox.process_tree import descendants
from host.submissions.build import build
from host.submissions.languages import LANGUAGES, Language, tool
from protocols.wire import Answer, Fault, FaultKind, Move

GAME = GAMES["cardshark"]
STANDS = Move("S")
PROMISED = 0.25  # seconds between a limit and its verdict, at most, on a machine that is not loaded


at_every_level = pytest.mark.parametrize("level", strongest(levels()))
at_own_world_levels = pytest.mark.parametrize("level", strongest([at for at in levels() if at.traits.own_namespaces]))
only_counted = pytest.mark.skipif(Level.L4 not in levels(), reason="NO CONTROL GROUPS HERE: level L4 is not tested")
only_fenced = pytest.mark.skipif(Level.L2 not in levels(), reason="NO LANDLOCK HERE: level L2 is not tested")


def test_this_machine_has_a_sandbox() -> None:
    assert levels() or not detect().level.traits.isolates


@at_every_level
def test_a_machine_without_memory_ends_bots_before_workers(level: Level) -> None:
    async def look() -> str:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            return Path(f"/proc/{sandbox.pid}/oom_score_adj").read_text()

    assert trio.run(look) == "1000\n"


# Asking.


@cache
def bot_of(source: str, suffix: str = ".c") -> BuiltBot:
    """Build a bot from its source text, once for all levels."""
    folder = CACHE / "attackers"
    folder.mkdir(exist_ok=True)
    return built(written(source, suffix, folder, f"attacker{abs(hash(source))}"))


async def decided(
    level: Level, bot: BuiltBot, limits: Limits, questions: int = 1
) -> tuple[list[Answer], Seat, Sandbox]:
    """Start a bot in a sandbox of a level, and ask it."""
    home = Home(Path(bot.folder))
    async with (
        running_monitor() as watcher,
        sandboxed(level, home, limits) as sandbox,
        open_seat(bot._replace(limits=limits), GAME, sandbox, 1, watcher) as seat,
    ):
        answers = []
        for number in range(1, questions + 1):
            answers += await seat.ask(Batch([Question(number, 1, GAME.examples[0])]))
    return answers, seat, sandbox


def answer_of(level: Level, source: str, limits: Limits = AMPLE, suffix: str = ".c") -> tuple[Answer, Seat]:
    """Return an attacker's answer at a level, and its seat; check that it leaves nothing behind."""
    bot = bot_of(source, suffix)
    with nothing_left_behind():
        answers, seat, _ = trio.run(decided, level, bot, limits)
    return answers[0], seat


def told(level: Level, script: str, limits: Limits = AMPLE) -> str:
    """Return the output of a shell script, both streams, in the sandbox of an empty folder."""

    async def ask() -> Ended:
        async with sandboxed(level, Home(empty()), limits) as sandbox:
            words = [b"/bin/sh", b"-c", script.encode()]
            return await sandbox.keeper.ask(words, {"PATH": "/usr/bin:/bin"}, limits._replace(output=32000), 10)

    with nothing_left_behind():
        ended = trio.run(ask)
    return (ended.output + ended.stderr).decode(errors="replace")


@cache
def empty() -> Path:
    """Return an empty folder that is visible in sandboxes."""
    folder = CACHE / "nothing"
    folder.mkdir(exist_ok=True)
    return folder


# What a sandbox reports, and the environment of a bot.


@at_every_level
def test_a_sandbox_is_of_the_level_it_says(level: Level) -> None:
    async def look() -> tuple[str, bool]:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            return sandbox.level, sandbox.group is not None

    assert trio.run(look) == (level, level.traits.exact_cpu)


@at_every_level
def test_signals_that_croupiers_own_starter_ignores_are_not_ignored_by_bots(level: Level) -> None:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        said = told(level, "for number in INT HUP; do sh -c 'kill -'$number' $$; echo ignored'; done; echo done")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert "ignored" not in said and "done" in said


def test_a_demanded_level_is_a_minimum() -> None:
    assert require_level(Level.L2) == require_level(Level.L3) == detect().level


@pytest.mark.skipif(Level.L3 not in levels() or Level.L2 not in levels(), reason="needs L3 and L2")
def test_a_machine_that_has_only_l2_refuses_l3_and_says_how_to_go_on() -> None:
    # Without bubblewrap in PATH, this machine has only L2.
    script = (
        "from host.sandbox.detect import detect, require_level\n"
        "from host.sandbox.levels import DEFAULT_LEVEL\n"
        "print(detect().level); require_level(DEFAULT_LEVEL)"
    )
    said = elsewhere(script, PATH="/nowhere")

    assert said.stdout == "L2\n"
    assert "UserError" in said.stderr and 'level = "L2"' in said.stderr and "bubblewrap is not installed" in said.stderr


def elsewhere(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a separate Python process."""
    env = {"CROUPIER_CACHE": str(CACHE), "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=marks(row.name)) for row in LANGUAGES.values()])
@at_every_level
def test_every_language_is_built_and_plays(
    level: Level, row: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacks := [name for name in row.programs if tool(name) is None]:
        pytest.skip(f"NOT INSTALLED: {', '.join(lacks)}")
    source = written(row.empty.source, row.suffixes[0] if row.suffixes else "", tmp_path, "Hello")
    monkeypatch.setenv("CROUPIER_CACHE", str(CACHE / "forced"))  # other test processes play what this one builds again

    bot = trio.run(lambda: build(spec_of(source, protocol="argv"), level, force=True))

    with nothing_left_behind():
        answers, seat, _ = trio.run(decided, level, bot, AMPLE, 2)
    assert answers == [STANDS, STANDS], seat.evidence


@at_every_level
def test_nobody_is_root_inside(level: Level) -> None:
    (said,) = set(told(level, "id -u; id -g; id -G").split())

    # bubblewrap without root shows its own uid for the uid of the user who started it.
    assert int(said) in {SANDBOX_UID, *sandbox_uids()}


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: all sandboxes are of one user")
@at_every_level
def test_no_two_sandboxes_are_of_one_user(level: Level) -> None:
    async def look() -> list[int]:
        async with sandboxed(level, Home(empty()), AMPLE) as one, sandboxed(level, Home(empty()), AMPLE) as two:
            return [Path(f"/proc/{sandbox.pid}").stat().st_uid for sandbox in (one, two)]

    assert len(set(trio.run(look))) == 2


@at_own_world_levels
def test_a_process_number_does_not_tell_how_many_there_were(level: Level) -> None:
    async def look() -> list[int]:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            words = [b"/bin/sh", b"-c", b"echo $$"]
            return [int((await sandbox.keeper.ask(words, {}, AMPLE, 5)).output) for _ in range(20)]

    numbers = trio.run(look)
    drawn = numbers != sorted(numbers)
    assert drawn == randomizes_pids(level)  # a container may prevent random PIDs; croupier reports that


def test_a_crash_starts_no_program_of_the_hosts() -> None:
    # If core_pattern names a program, the kernel runs it as root for any core limit except 1 byte (core(5)).
    # Who may not raise a hard limit of 0 keeps it.
    wanted = ["(1, 1)\n"] if resource.getrlimit(resource.RLIMIT_CORE)[1] else ["(1, 1)\n", "(0, 0)\n"]
    for level in levels():
        said = told(level, "python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE))'")
        assert said in wanted


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: a hard limit cannot be raised")
@at_every_level
def test_a_hard_core_limit_of_0_changes_nothing(level: Level) -> None:
    script = f"""
import resource, trio
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from host.sandbox import launch
from host.sandbox.bubblewrap import Home
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
async def look():
    async with launch.sandboxed(Level("{level}"), Home(Path("/usr/share")), Limits()) as sandbox:
        words = [b"/usr/bin/python3", b"-c", b"import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"]
        print((await sandbox.keeper.ask(words, {{}}, Limits(), 9)).output.decode().strip())
trio.run(look)
print(resource.getrlimit(resource.RLIMIT_CORE))
"""
    inside, of_croupier = elsewhere(script).stdout.splitlines()
    assert inside == of_croupier
    if of_croupier == "(0, 0)":
        pytest.skip("NOT ALLOWED TO RAISE LIMITS: a container's root")
    assert inside == "(1, 1)"


@at_every_level
def test_the_environment_is_what_it_is_given(level: Level) -> None:
    names = set(re.findall(r"^(\w+)=", told(level, "env"), re.MULTILINE))

    assert names <= {"PATH", "PWD", "_", "SHLVL", "OLDPWD"} | (
        {"HOME", "TMPDIR"} if not level.traits.own_namespaces else set()
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: a keeper's environment cannot be looked at")
@at_every_level
def test_no_keeper_carries_the_hosts_environment(level: Level) -> None:
    async def look() -> bytes:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            own = Path(f"/proc/{sandbox.pid}")
            parent = re.search(r"PPid:\t(\d+)", (own / "status").read_text())
            assert parent is not None
            outer = b"" if parent[1] == str(os.getpid()) else Path(f"/proc/{parent[1]}/environ").read_bytes()
            return (own / "environ").read_bytes() + outer

    assert trio.run(look) in (b"", b"PWD=/bot\0")  # bubblewrap sets its working directory


@pytest.mark.parametrize("words", [[b"/bin/echo"] * 2000, [b"/bin/echo", b"x" * 200_000]], ids=["many", "long"])
@at_every_level
def test_a_command_for_which_there_is_no_room_is_not_started_and_nobody_dies_of_it(
    level: Level, words: list[bytes]
) -> None:
    async def ask() -> tuple[int, bytes]:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            refused = await sandbox.keeper.ask(words, {}, AMPLE, 5)
            return refused.error, (await sandbox.keeper.ask([b"/bin/echo", b"S"], {}, AMPLE, 5)).output

    assert trio.run(ask) == (errno.E2BIG, b"S\n")


# What a bot cannot reach.


@pytest.mark.parametrize(
    "secret", ["/etc/shadow", "/etc/passwd", "/proc/1/environ", "/proc/self/maps", "/root/.bashrc"]
)
@at_every_level
def test_files_that_are_none_of_its_business_cannot_be_read(level: Level, secret: str) -> None:
    said = told(level, f"cat {secret} && echo READ")

    assert "READ" not in said and ("denied" in said or "No such file" in said)


FOLDERS = ["/root", "/home", "/var", "/proc", "/sys", "/work", "/dev/shm", "/run"]


@pytest.mark.parametrize("folder", [*FOLDERS, pytest.param(str(CACHE), id="the cache")])
@at_every_level
def test_folders_that_are_none_of_its_business_cannot_be_listed(level: Level, folder: str) -> None:
    listed = told(level, f"ls {folder} && echo LISTED")

    # A sandbox's own /run contains only its keeper's program and the folder of an interpreter that stays alive.
    assert "LISTED" not in listed or listed == "empty\nkeeper\nLISTED\n"


@at_every_level
def test_nothing_can_be_written_but_a_tmp_of_its_own(level: Level) -> None:
    places = ". / /etc /usr /usr/lib /dev /run /var/tmp"

    said = told(
        level, f"for place in {places}; do : > $place/mark && echo WRITTEN $place; done; : > /tmp/mark; ls /tmp"
    )

    assert "WRITTEN" not in said
    assert not Path("/tmp/mark").exists()


@pytest.mark.timing
@at_own_world_levels
@pytest.mark.parametrize(
    "open_files", [64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]], ids=["usual", "no number is left for the keeper"]
)
def test_the_times_of_tmp_do_not_tell_which_question_was_the_last_to_use_it(level: Level, open_files: int) -> None:
    async def ask() -> list[float]:
        async with sandboxed(level, Home(empty()), AMPLE._replace(open_files=open_files)) as sandbox:
            for script in (b": > /tmp/mark", b"sleep 0.2", b"exec stat -c '%.9X %.9Y %.9Z' /tmp"):
                ended = await sandbox.keeper.ask([b"/bin/sh", b"-c", script], {"PATH": "/usr/bin:/bin"}, AMPLE, 10)
            return [float(time) for time in ended.output.split()]

    accessed, modified, changed = trio.run(ask)

    assert abs(changed - modified) < 0.15
    assert abs(changed - accessed) < 0.15


NETWORK = r"""
    #include <arpa/inet.h>
    #include <stdio.h>
    #include <sys/socket.h>
    #include <unistd.h>

    int main(void)
    {
        struct sockaddr_in host = {AF_INET, htons(%d), {htonl(INADDR_LOOPBACK)}};
        int families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, 40, 38, 16};
        for (int n = 0; n < 7; n++) {
            int fd = socket(families[n], families[n] == AF_PACKET ? SOCK_RAW : SOCK_STREAM, 0);
            if (fd >= 0 && families[n] == AF_INET && connect(fd, (void *)&host, sizeof host) == 0) return puts("B 666"), 0;
            if (fd >= 0) return puts("B 665"), 0;
        }
        puts("S");
        return 0;
    }
"""


@at_every_level
def test_there_is_no_network(level: Level) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        answer, _ = answer_of(level, NETWORK % server.getsockname()[1])

    assert answer == STANDS


SIGNALS = r"""
    #include <errno.h>
    #include <signal.h>
    #include <stdio.h>
    #include <unistd.h>

    int main(void)
    {
        int reached = 0;
        for (int pid = 1; pid < %d; pid++)
            if (pid != getpid() && (getppid() != 1 || pid != 1) && kill(pid, 0) == 0) reached++;
        if (getppid() > 1 && kill(getppid(), SIGKILL) == 0) reached++;
        kill(getppid(), SIGKILL);
        kill(getppid(), SIGSTOP);
        puts(reached ? "B 666" : "S");
        return 0;
    }
"""


@at_every_level
def test_no_other_process_can_be_signalled(level: Level) -> None:
    answer, _ = answer_of(level, SIGNALS % 70_000)

    assert answer == STANDS


@at_every_level
def test_the_keeper_lives_on_whatever_it_is_sent(level: Level) -> None:
    source = """
        #include <signal.h>
        #include <stdio.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        int main(void)
        {
            for (int number = 1; number <= 64; number++) {
                kill(getppid(), number);
                if (number != SIGKILL && number != SIGSTOP) continue;
                syscall(SYS_tgkill, getppid(), getppid(), number);
            }
            puts("S");
            return 0;
        }
    """

    with nothing_left_behind():
        answers, _, _ = trio.run(decided, level, bot_of(source), AMPLE, 3)

    assert answers == [STANDS] * 3


@at_every_level
def test_forbidden_doors_are_closed(level: Level) -> None:
    source = r"""
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <sched.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/ptrace.h>
        #include <sys/resource.h>
        #include <sys/shm.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        int main(void)
        {
            int open = 0, pair[2];
            struct rlimit limit = {3, 3};
            open += unshare(CLONE_NEWUSER) == 0;
            open += shmget(IPC_PRIVATE, 4096, 0600) >= 0;
            open += syscall(SYS_memfd_create, "m", 0) >= 0;
            open += syscall(425, 8, NULL) >= 0; /* io_uring_setup */
            open += syscall(SYS_bpf, 0, NULL, 0) >= 0;
            open += prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL) == 0;
            open += ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
            open += setpriority(PRIO_PROCESS, getppid(), 19) == 0;
            open += mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED && !IS_COUNTED;
            open += socketpair(AF_INET, SOCK_STREAM, 0, pair) == 0 || errno != EPERM;
            open += socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0;
            open += bind(pair[0], &(struct sockaddr){AF_UNIX}, sizeof(sa_family_t)) == 0;
            printf(open ? "B %d\n" : "S\n", open);
            return 0;
        }
    """

    source = source.replace("IS_COUNTED", str(int(level.traits.exact_cpu)))  # shared memory, by a control group
    assert answer_of(level, source)[0] == STANDS


# What a bot cannot exhaust.

EIGHT_CHILDREN = r"""
    #include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/wait.h>
    #include <unistd.h>

    int main(void)
    {
        for (int child = 0; child < 8; child++)
            if (fork() == 0) {
                char *room = mmap(NULL, 50 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                memset(room, 1, 50 << 20);
                sleep(SECONDS);
                _exit(0);
            }
        while (wait(NULL) > 0) {}
        puts("S");
        return 0;
    }
"""
SCARCE = AMPLE._replace(memory=128 * MIB)


TAKES_LOCKS = """
import fcntl
first, second = open("/usr/bin/env"), open("/usr/bin/env")
for lock in (fcntl.flock, fcntl.lockf):
    try:
        lock(first, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a shared lock of the other file would refuse it
        print("pretended", end=" ")
    except PermissionError:
        print("denied", end=" ")
"""


@at_every_level
@pytest.mark.parametrize(("writable", "words"), [(True, "pretended denied "), (False, "denied denied ")])
def test_no_lock_is_ever_taken_and_a_build_does_not_notice(level: Level, writable: bool, words: str) -> None:
    folder = CACHE / f"locks-{level}-{writable}"
    folder.mkdir()

    async def ask() -> Ended:
        async with sandboxed(level, Home(folder, writable=writable), AMPLE) as sandbox:
            command = [b"/usr/bin/python3", b"-S", b"-c", TAKES_LOCKS.encode()]
            return await sandbox.keeper.ask(command, {}, AMPLE, 10)

    ended = trio.run(ask)
    assert (ended.output.decode(), ended.stderr) == (words, b"")


@at_every_level
def test_all_memory_counts_whoever_has_it(level: Level) -> None:
    answer, seat = answer_of(level, EIGHT_CHILDREN.replace("SECONDS", "8"), SCARCE)

    assert isinstance(answer, Fault) and answer.kind is FaultKind.MEMORY, (answer, seat.evidence)


@at_every_level
def test_memory_within_the_limit_is_no_fault(level: Level) -> None:
    source = EIGHT_CHILDREN.replace("SECONDS", "1")
    assert answer_of(level, source, AMPLE._replace(memory=600 * MIB))[0] == STANDS


@only_counted
def test_a_bot_whose_child_was_killed_for_its_memory_is_at_fault_however_it_answers() -> None:
    source = """
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>

        int main(void)
        {
            if (fork() == 0) {
                volatile char *room = malloc(300 << 20);
                for (int at = 0; at < 300 << 20; at += 4096) room[at] = 1;
                _exit(0);
            }
            wait(NULL);
            puts("S");
            return 0;
        }
    """

    answer, seat = answer_of(Level.L4, source, SCARCE)

    assert answer == Fault(FaultKind.MEMORY)
    assert "the kernel has killed 1 process" in seat.evidence[0].ended


@only_counted
def test_a_keeper_that_dies_of_its_bots_memory_is_the_bots_fault() -> None:
    # Many processes smaller than any keeper fill kernel memory with pipes, so that the kernel may kill the keeper.
    source = r"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>

        int main(void)
        {
            static char page[65536];
            for (int child = 0; child < 60; child++)
                if (fork() == 0) {
                    int ends[2];
                    while (pipe2(ends, O_NONBLOCK) == 0)
                        while (write(ends[1], page, sizeof page) > 0) {}
                    for (;;) pause();
                }
            sleep(2);
            puts("S");
            return 0;
        }
    """
    with nothing_left_behind():
        answers, seat, _ = trio.run(decided, Level.L4, bot_of(source), AMPLE._replace(memory=8 * MIB), 1)

    assert answers == [Fault(FaultKind.MEMORY)], seat.evidence


PROBES = r"""
    #include <fcntl.h>
    #include <signal.h>
    #include <stdio.h>
    #include <string.h>
    #include <unistd.h>

    int main(int count, char **words)
    {
        static char block[4096];
        int opened = 3; /* its own three */
        long written = 0;
        while (open("/dev/null", O_RDONLY) >= 0) opened++;
        for (int fd = 3; fd < opened; fd++) close(fd);
        signal(SIGXFSZ, SIG_IGN);
        int file = open(words[1], O_RDWR | O_CREAT, 0600);
        for (ssize_t put; file >= 0 && (put = write(file, block, sizeof block)) > 0;) written += put;
        int stretched = ftruncate(file, 1LL << 40) == 0;
        printf("%d %ld %d\n", opened, written, stretched);
        return 0;
    }
"""


@at_every_level
def test_files_are_as_few_and_as_small_as_the_limits_say(level: Level) -> None:
    bot, limits = bot_of(PROBES), AMPLE._replace(open_files=20, files=40_960, state=10_000)
    state = CACHE / f"probed-{level}"
    state.touch()

    async def ask() -> list[bytes]:
        home = Home(probed(), state=state, state_name="memory.bin")
        said = []
        async with sandboxed(level, home, limits) as sandbox:
            for name in (b"memory.bin", b"/tmp/other"):
                said.append((await sandbox.keeper.ask([b"./bot", name], {}, limits, 5)).output)
        return said

    def probed() -> Path:
        folder = CACHE / f"probing-{level}"
        shutil.copytree(bot.folder, folder)
        (folder / "memory.bin").touch()
        return folder

    with nothing_left_behind():
        in_state, in_tmp = trio.run(ask)

    assert in_state == b"20 40960 0\n"
    assert in_tmp == (
        b"20 40960 0\n" if level.traits.own_namespaces else b"20 0 0\n"
    )  # without namespaces, the bot cannot write to /tmp
    assert state.stat().st_size == 40_960


UNSEEN = r"""
    #include <signal.h>
    #include <stdio.h>
    #include <time.h>
    #include <unistd.h>

    int main(void)
    {
        int watched[2];
        char end;
        signal(SIGCHLD, SIG_IGN);
        for (int child = 0; child < CHILDREN; child++) {
            pipe(watched);
            if (fork() == 0) {
                clock_t until = clock() + CLOCKS_PER_SEC / 50;
                while (clock() < until) {}
                _exit(0);
            }
            close(watched[1]);
            read(watched[0], &end, 1); /* until the child has gone */
            close(watched[0]);
        }
        puts("S");
        return 0;
    }
"""


@only_counted
def test_computing_in_children_that_nobody_waits_for_is_counted() -> None:
    answer, seat = answer_of(Level.L4, UNSEEN.replace("CHILDREN", "20"))

    assert answer == STANDS
    assert 0.4 <= seat.usage().cpu <= 2


@only_counted
def test_computing_in_children_that_nobody_waits_for_is_limited() -> None:
    answer, seat = answer_of(Level.L4, UNSEEN.replace("CHILDREN", "200"), AMPLE._replace(cpu=0.2))

    assert answer == Fault(FaultKind.CPU)
    assert seat.usage().cpu < 2


@only_counted
def test_a_bot_that_lives_on_is_held_to_its_computing_exactly() -> None:
    source = """
        import sys, time

        for asked, line in enumerate(sys.stdin):
            until = time.process_time() + 0.8 * asked
            while time.process_time() < until:
                pass
            print("S", flush=True)
    """
    bot = bot_of(source, ".py").with_keys(protocol="lines")
    limits = AMPLE._replace(cpu=0.77)  # what the bot computes before the host looks is missed
    with nothing_left_behind():
        answers, _, _ = trio.run(decided, Level.L4, bot, limits, 2)

    assert answers == [STANDS, Fault(FaultKind.CPU)]


def test_usage_of_a_bot_that_lives_on_is_all_that_it_used() -> None:
    source = """
        import sys, time

        for line in sys.stdin:
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
            print("S", flush=True)
    """
    bot = bot_of(source, ".py").with_keys(protocol="lines")
    for level in levels():
        answers, seat, _ = trio.run(decided, level, bot, AMPLE, 4)
        assert answers == [STANDS] * 4
        assert 0.2 <= seat.usage().cpu <= 2, level


HYDRA = r"""
    #include <stdio.h>
    #include <unistd.h>

    int main(void)
    {
        for (int heads = 0; heads < 4; heads++)
            if (fork() == 0) {
                setsid();
                close(0), close(1), close(2);
                for (;;) {
                    usleep(1000);
                    if (fork() != 0) _exit(0);
                }
            }
        puts("S");
        return 0;
    }
"""


@at_every_level
def test_of_a_hydra_no_head_survives_its_decision(level: Level) -> None:
    bot = bot_of(HYDRA)

    async def ask() -> int:
        survivors = 0
        async with sandboxed(level, Home(Path(bot.folder)), AMPLE) as sandbox:
            seen = worlds()
            for _ in range(50):
                ended = await sandbox.keeper.ask([b"./bot"], {}, AMPLE, 5)
                assert ended.output == b"S\n"
                await sandbox.keeper.reap()  # on a busy machine a killed process may wait for a core before it ends
                survivors += len(list(descendants(sandbox.pid)))
                survivors += len(inhabitants(seen)) - 1 if seen else 0
        return survivors

    with nothing_left_behind():
        assert trio.run(ask) == 0


@pytest.mark.timing
@pytest.mark.long
@at_own_world_levels
def test_a_verdict_does_not_wait_for_a_slow_death_and_nothing_begins_before_it(level: Level) -> None:
    bot, alone = built(ROGUES / "dies_slowly.c"), [b"/bin/sh", b"-c", b"kill -0 -1 2>/dev/null || echo alone"]

    async def late(*, buried: bool) -> float:
        async with sandboxed(level, Home(Path(bot.folder)), AMPLE) as sandbox:
            before, began = sandbox.group.computed() if sandbox.group else 0.0, time.perf_counter()
            ended = await sandbox.keeper.ask([b"./bot"], {}, AMPLE, 1.0)
            took = time.perf_counter() - began
            assert ended.timed_out
            if buried:
                used = ended.cpu + await sandbox.keeper.reap()
                assert not list(descendants(sandbox.pid))
                assert sandbox.group is None or used > 0.9 * (sandbox.group.computed() - before)
                assert not await sandbox.keeper.reap()
            asked = await sandbox.keeper.ask(alone, {"PATH": "/bin"}, AMPLE, 9)
            assert (asked.output, asked.timed_out) == (b"alone\n", False)
            return took - 1.0

    with nothing_left_behind():
        assert any(trio.run(partial(late, buried=nth % 2 == 0)) < PROMISED for nth in range(6))
        trio.run(partial(late, buried=False))


@at_every_level
def test_a_daemon_dies_with_the_decision_that_made_it(level: Level) -> None:
    mark = mark_of(29)

    told(level, f"(setsid sleep {mark} &) ; nohup sleep {mark} >/dev/null 2>&1 & echo gone")

    assert not [line for line in processes() if mark in line]


def mark_of(test: int) -> str:
    """Return a number of seconds to sleep that appears in no other command line of the machine."""
    return f"{test}{os.getpid():012}"


def processes() -> Iterator[str]:
    """Yield the command lines of all processes."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue


@at_every_level
def test_tmp_is_empty_for_every_process(level: Level) -> None:
    async def ask() -> bytes:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            await sandbox.keeper.ask([b"/bin/sh", b"-c", b"mkdir -p $HOME/a/b /tmp/a/b; : > /tmp/c"], {}, AMPLE, 5)
            return (
                await sandbox.keeper.ask([b"/bin/sh", b"-c", b"ls -A $HOME /tmp"], {"HOME": "/tmp"}, AMPLE, 5)
            ).output

    with nothing_left_behind():
        assert not re.search(rb"^[ac]$", trio.run(ask), re.MULTILINE)


@at_own_world_levels
def test_no_more_tasks_than_allowed(level: Level) -> None:
    said = told(
        level, "i=0; while [ $i -lt 20 ]; do sleep 1 & i=$((i+1)); done; wait; echo ALL", AMPLE._replace(tasks=6)
    )

    assert "ALL" not in said


# What the host can do to it.


@at_every_level
def test_a_question_can_be_cut_short(level: Level) -> None:
    async def ask() -> Ended:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox, trio.open_nursery() as nursery:

            async def cut() -> None:
                while not list(descendants(sandbox.pid)):
                    await trio.sleep(0.001)
                sandbox.keeper.kill_now()

            nursery.start_soon(cut)
            ended = await sandbox.keeper.ask([b"/bin/sleep", b"9"], {}, AMPLE, 9)
            assert (await sandbox.keeper.ask([b"/bin/echo", b"on"], {}, AMPLE, 9)).output == b"on\n"
            return ended

    with nothing_left_behind():
        ended = trio.run(ask)
    assert ended.stopped and not ended.timed_out and ended.wall < 5


@pytest.mark.timing
@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: a keeper cannot be held up")
@pytest.mark.parametrize("script", ["sleep 0.4; echo S", "sleep 9"])
@at_every_level
def test_a_keeper_that_is_held_up_does_not_call_late_what_has_exited(level: Level, script: str) -> None:
    async def ask() -> Ended:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox, trio.open_nursery() as nursery:

            async def hold_up() -> None:
                while not list(descendants(sandbox.pid)):
                    await trio.sleep(0.001)
                os.kill(sandbox.pid, signal.SIGSTOP)
                await trio.sleep(0.9)
                os.kill(sandbox.pid, signal.SIGCONT)

            nursery.start_soon(hold_up)
            ended = await sandbox.keeper.ask([b"/bin/sh", b"-c", script.encode()], {"PATH": "/bin"}, AMPLE, 0.7)
            nursery.cancel_scope.cancel()
            return ended

    with nothing_left_behind():
        ended = trio.run(ask)

    assert ended.wall > 0.7
    assert (ended.output, ended.timed_out) == ((b"", True) if script == "sleep 9" else (b"S\n", False))


@at_every_level
def test_what_is_paused_does_not_compute_and_then_goes_on(level: Level) -> None:
    async def ask() -> tuple[float, float]:
        reads, writes = os.pipe()
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            words = [b"/bin/sh", b"-c", b"while :; do :; done"]
            await sandbox.keeper.start(words, {}, AMPLE, (reads, writes, writes))
            (spinner,) = descendants(sandbox.pid)

            async def computed(seconds: float) -> float:
                before = sum(spinner.cpu_times()[:2])
                with trio.move_on_after(seconds):
                    while sum(spinner.cpu_times()[:2]) - before < 0.02:
                        await trio.sleep(0.01)
                return sum(spinner.cpu_times()[:2]) - before

            await computed(9)
            sandbox.keeper.pause()
            while spinner.status() == "running":
                await trio.sleep(0.001)
            paused = await computed(0.2)
            sandbox.keeper.resume()
            resumed = await computed(9)
        os.close(reads)
        os.close(writes)
        return paused, resumed

    with nothing_left_behind():
        paused, resumed = trio.run(ask)
    assert paused == 0 and resumed > 0


@at_every_level
def test_what_is_paused_while_nobody_is_there_stops_nobody_who_comes(level: Level) -> None:
    async def ask() -> list[bytes]:
        async with sandboxed(level, Home(empty()), AMPLE) as sandbox:
            said = []
            for _ in range(2):
                reads, writes = os.pipe()
                await sandbox.keeper.start([b"/bin/sleep", b"60"], {}, AMPLE, (reads, writes, writes))
                os.close(reads)
                os.close(writes)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(sandbox.keeper.kill_all)
                    await trio.lowlevel.checkpoint()  # killed while it is dying
                    sandbox.keeper.pause()
                sandbox.keeper.pause()
                said.append((await sandbox.keeper.ask([b"/bin/echo", b"on"], {}, AMPLE, 9)).output)
            return said

    with nothing_left_behind():
        assert trio.run(ask) == [b"on\n", b"on\n"]


@pytest.mark.parametrize("last", ["", "sandbox.keeper.pause()"])
@at_every_level
def test_whoever_is_killed_takes_its_sandboxes_along(level: Level, last: str) -> None:
    mark = mark_of(28)
    script = f"""
import os, trio
from pathlib import Path
from host.sandbox.limits import Limits
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
async def main():
    async with sandboxed(Level({str(level)!r}), Home(Path({str(empty())!r})), Limits()) as sandbox:
        reads, writes = os.pipe()
        words = [b"/bin/sh", b"-c", b"sleep {mark} & sleep {mark}"]
        await sandbox.keeper.start(words, {{}}, Limits(), (reads, writes, writes))
        {last}
        print("up", flush=True)
        await trio.sleep(60)
trio.run(main)
"""
    env = {"CROUPIER_CACHE": str(CACHE), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    with subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None and host.stdout.readline() == b"up\n"
        host.kill()
    until(lambda: not [line for line in processes() if mark in line])
    if level.traits.exact_cpu:  # the dead host could not remove its control group; the next croupier removes it
        elsewhere("from host.sandbox import cgroup; cgroup.base()")
        assert not groups_of(host.pid)


def groups_of(pid: int) -> list[Path]:
    """Return the control groups that a croupier has left behind."""
    return [
        group for folder in cgroup.base().folders.values() for group in folder.glob(f"{cgroup.GROUP_PREFIX}{pid}-*")
    ]


@at_every_level
def test_a_sandbox_that_cannot_be_made_is_our_failure_and_leaves_nothing(level: Level, tmp_path: Path) -> None:
    async def make() -> None:
        async with sandboxed(level, Home(tmp_path / "not there"), AMPLE):
            raise AssertionError("it was made")

    with nothing_left_behind(), pytest.raises(KeeperDied):
        trio.run(make)


@at_every_level
def test_a_state_file_is_the_one_thing_that_stays(level: Level, tmp_path: Path) -> None:
    state = CACHE / f"state-{level}"
    state.touch()
    shown = CACHE / f"with-state-{level}"
    shown.mkdir()
    (shown / "memory.bin").touch()
    (shown / "other.txt").write_text("as handed in")

    async def ask() -> list[bytes]:
        async with sandboxed(level, Home(shown, state=state, state_name="memory.bin"), AMPLE) as sandbox:
            said = []
            for script in (b"cat other.txt", b"echo x >> memory.bin; echo x > other.txt", b"cat memory.bin"):
                said.append((await sandbox.keeper.ask([b"/bin/sh", b"-c", script], {}, AMPLE, 5)).output)
            return said

    with nothing_left_behind():
        assert trio.run(ask) == [b"as handed in", b"", b"x\n"]
    assert state.read_text() == "x\n" and (shown / "other.txt").read_text() == "as handed in"


@at_every_level
def test_ten_sandboxes_come_and_go_and_leave_nothing(level: Level) -> None:
    async def many() -> None:
        for _ in range(5):
            async with sandboxed(level, Home(empty()), AMPLE) as one, sandboxed(level, Home(empty()), AMPLE) as two:
                for sandbox in (one, two):
                    assert (await sandbox.keeper.ask([b"/bin/true"], {}, AMPLE, 5)).status == 0

    with nothing_left_behind():
        trio.run(many)
    assert not groups()


# Landlock without namespaces.


@only_fenced
def test_names_and_owners_are_no_way_around_landlock(tmp_path: Path) -> None:
    mine = CACHE / "owned"
    mine.write_text("mine")
    mine.chmod(0o644)
    script = f"chmod 777 {mine}; touch -d 2011-05-23 {mine}; chgrp 0 {mine}; rm {mine}; : > {mine}"

    async def ask() -> os.stat_result:
        async with sandboxed(Level.L2, Home(empty()), AMPLE) as sandbox:
            owner = Path(f"/proc/{sandbox.pid}/task").stat()
            os.chown(mine, owner.st_uid, owner.st_gid)
            before = mine.stat()
            await sandbox.keeper.ask([b"/bin/sh", b"-c", script.encode()], {"PATH": "/usr/bin:/bin"}, AMPLE, 10)
            return before

    before = trio.run(ask)

    after = mine.stat()
    assert (after.st_mode, after.st_mtime, after.st_gid, after.st_size) == (
        before.st_mode,
        before.st_mtime,
        before.st_gid,
        4,
    )


def test_who_is_not_root_sees_that_a_build_hides_a_folder_and_removes_it_all_the_same() -> None:
    said = elsewhere("""
import os, tempfile
from pathlib import Path
from host.base.paths import remove_tree
from host.submissions.file_tree import BUILDING, exceeds

if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
folder = Path(tempfile.mkdtemp(dir="/tmp"))
seen = exceeds(folder, BUILDING)
inside = folder / "closed" / "inside"
inside.mkdir(parents=True)
(folder / "closed").chmod(0o300)
hidden = exceeds(folder, BUILDING)
remove_tree(folder)
print(seen, hidden, folder.exists())
""")
    assert said.stdout == "False True False\n", said.stderr


@only_fenced
def test_nobody_marks_what_it_shares_with_its_like_by_a_mode() -> None:
    source = """
        #include <stdio.h>
        #include <sys/stat.h>
        #include <unistd.h>

        int main(void)
        {
            puts(fchmod(1, 0600) && fchown(1, -1, getgid()) ? "S" : "B 666");
            return 0;
        }
    """
    assert answer_of(Level.L2, source)[0] == STANDS


@only_fenced
def test_nobody_leaves_its_process_group(tmp_path: Path) -> None:
    source = """
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>

        int main(void)
        {
            if (fork()) return wait(NULL) < 0;
            puts(setsid() < 0 && setpgid(0, 0) < 0 ? "S" : "B 666");
            return 0;
        }
    """

    assert answer_of(Level.L2, source)[0] == STANDS


@only_fenced
@pytest.mark.skipif(tool("sbcl") is None, reason="NOT INSTALLED: sbcl")
def test_an_interpreter_that_reads_settings_of_the_system_runs_at_l2() -> None:
    assert told(Level.L2, "sbcl --noinform --non-interactive --eval '(princ 42)'").endswith("42")


@only_fenced
def test_a_socket_with_a_path_is_out_of_reach() -> None:
    import socket

    path = CACHE / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        said = told(
            Level.L2, f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path}'); print('MET')\""
        )
    path.unlink()

    assert not said.startswith("MET")  # a traceback of Python 3.13 shows the program, which has the word


# Control groups.


@only_counted
def test_a_group_can_be_told_by_what_is_in_it() -> None:
    async def look() -> tuple[float, int]:
        async with sandboxed(Level.L4, Home(empty()), AMPLE) as sandbox:
            assert sandbox.group is not None
            await sandbox.keeper.ask([b"/bin/true"], {}, AMPLE, 5)
            return sandbox.group.computed(), sandbox.group.used()

    computed, used = trio.run(look)
    assert 0 < computed < 0.5 and used < cgroup.KEEPER_BYTES


def test_the_groups_of_dead_croupiers_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    living = tmp_path / f"{cgroup.GROUP_PREFIX}{os.getpid()}-{cgroup._began(os.getpid())}-1"
    dead = [tmp_path / f"{cgroup.GROUP_PREFIX}{os.getpid()}-1-1", tmp_path / f"{cgroup.GROUP_PREFIX}999999999-17-3"]
    others = [tmp_path / "croupier-x", tmp_path / "croupier-a-b-c", tmp_path / cgroup.LEAF]
    for folder in (living, *dead, *others):
        folder.mkdir()

    cgroup._remove_stale(tmp_path)

    assert set(tmp_path.iterdir()) == {living, *others}


FOREIGN_MOUNT = """
import subprocess, sys, trio
from pathlib import Path
from host.base.errors import HostFailure
from host.sandbox import cgroup
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits

async def play():
    async with sandboxed(Level.L4, Home(Path("/usr/share")), Limits()) as sandbox:
        print((await sandbox.keeper.ask([b"/bin/echo", b"played"], {}, Limits(), 9)).output.decode().strip())

def run(*words):
    subprocess.run(words, check=True)

foreign = sys.argv[1]
run("mount", "--make-rprivate", "/")
before = cgroup.base()
memory = next(iter(before.folders.values()))
controllers = ["-t", "cgroup", "-o", "memory"] if before.version == 1 else ["-t", "cgroup2"]
run("mount", *controllers, "none", foreign)
cgroup.base.cache_clear()
print(cgroup.base() == before)  # the system's mount is preferred to the last one
trio.run(play)
points = [line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup" in line]
point = next(point for point in points if memory.is_relative_to(point))
run("umount", "-l", point)
trio.run(play)  # in the group of the foreign mount
print(cgroup.base() != before)
run("umount", "-l", foreign)
try:
    trio.run(play)
except HostFailure as failed:
    print(failed)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: no hierarchy can be mounted")
@only_counted
def test_a_hierarchy_that_vanishes_is_looked_for_again(tmp_path: Path) -> None:
    env = {"CROUPIER_CACHE": str(CACHE), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    words = ["unshare", "--mount", sys.executable, "-c", FOREIGN_MOUNT, str(tmp_path)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines()[:4] == ["True", "played", "played", "True"], done.stderr
    assert "no control group" in done.stdout.splitlines()[4]


def test_a_hierarchy_hidden_by_another_mount_is_not_used() -> None:
    first, _ = cgroup.mounts(HERE.replace("/sys/fs/cgroup/memory", "/usr"), "4:memory:/\n")

    assert [mount.is_visible() for mount in first] == [False]


HERE = """\
30 23 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 23 0:28 / /sys/fs/cgroup/cpu\\040and rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 23 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 23 0:30 / / rw - ext4 /dev/root rw
"""


def test_both_versions_may_be_mounted() -> None:
    first, second = cgroup.mounts(HERE, "4:memory:/jobs/7\n3:cpu,cpuacct:/\n0::/user.slice/a b.scope\n")

    assert {mount.own for mount in first} == {Path("/sys/fs/cgroup/memory/jobs/7"), Path("/sys/fs/cgroup/cpu and")}
    assert [(mount.own, mount.outermost) for mount in second] == [
        (Path("/sys/fs/cgroup/unified/user.slice/a b.scope"), False)
    ]


def test_a_container_that_shows_its_part_of_a_hierarchy() -> None:
    shown = "30 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"

    assert cgroup.mounts(shown, "0::/docker/abc\n")[1][0].own == Path("/sys/fs/cgroup")
    assert cgroup.mounts(shown, "0::/elsewhere\n") == ([], [])


def test_a_mount_from_outside_a_namespace_is_not_ours() -> None:
    assert cgroup.mounts("30 23 0:27 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/\n") == ([], [])


# No sandbox.


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: no chroot can be made")
def test_in_a_chroot_the_message_names_the_chroot(tmp_path: Path) -> None:
    enter = f"""
        cd "{tmp_path}" && mkdir root && cd root
        for name in $(ls /); do test -d /$name && mkdir $name && mount --rbind /$name $name; done
        exec chroot . "$@"
    """
    look = "from host.sandbox import detect; print(detect._no_namespaces())"
    env = {"CROUPIER_CACHE": str(CACHE), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    words = ["unshare", "--mount", "/bin/sh", "-c", enter, "sh", sys.executable, "-c", look]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    assert "in a chroot the kernel forbids user namespaces" in done.stdout, done
    assert "sysctl" not in done.stdout


APPARMOR_FORBIDS = """
    mount -t tmpfs none /proc/sys/kernel && echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns
    exec "$@"
"""
"""Runs a command as on Ubuntu 24.04, where bubblewrap has no profile."""


@pytest.fixture
def programs() -> Iterator[Path]:
    """Yield a folder with a bubblewrap that AppArmor refuses, and a sudo that notes what it is asked; any user can read it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        refused = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"
        for program, line in {"bwrap": refused, "sudo": f'echo "$*" >>{folder}/asked; exec cat'}.items():
            (folder / program).write_text(f"#!/bin/sh\n{line}\n")
            (folder / program).chmod(0o755)
        yield folder


@pytest.fixture
def ubuntu(programs: Path) -> Callable[..., str]:
    """Return a function that runs a command where AppArmor forbids user namespaces, and returns its output."""
    path = f"{programs}:{os.environ['PATH']}"
    env = {"CROUPIER_CACHE": str(CACHE), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": path}

    def run(*words: str) -> str:
        inside = ["unshare", "--mount", "/bin/sh", "-c", APPARMOR_FORBIDS, "sh", *words]
        done = subprocess.run(inside, env=env, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return run


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: no setting of the kernel can be covered")
def test_doctor_names_apparmor_and_the_command_that_allows_the_sandbox(
    ubuntu: Callable[..., str], programs: Path
) -> None:
    shown = ubuntu(sys.executable, "-m", "host", "doctor")

    assert "AppArmor forbids user namespaces" in shown
    assert apparmor_cure(f"{programs}/bwrap") in shown


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: no setting of the kernel can be covered")
def test_setting_up_allows_user_namespaces_to_bubblewrap_alone(
    ubuntu: Callable[..., str], programs: Path, tmp_path: Path
) -> None:
    for name in (".venv/bin/python", "pyproject.toml", "tools/setup.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tools/setup.sh").write_text((ROOT / "tools/setup.sh").read_text())
    said = ubuntu(str(tmp_path / "tools/setup.sh"), ".")

    assert "profile croupier-bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n" in said
    assert "to take it away:" in said
    asked = (programs / "asked").read_text().splitlines()
    assert sorted(asked) == ["apparmor_parser -r", "tee /etc/apparmor.d/croupier-bwrap"]
    assert apparmor_cure("/usr/bin/bwrap").partition(" | ")[0] in (ROOT / "tools/setup.sh").read_text()


def test_no_sandbox_is_never_given_for_a_demand() -> None:
    assert not detect().level.traits.isolates or require_level(Level.L2).traits.isolates
    assert require_level(Level.NONE) is Level.NONE


def test_without_a_sandbox_the_sweep_catches_what_it_can() -> None:
    mark = mark_of(27)

    told(Level.NONE, f"(setsid sleep {mark} &) ; sleep {mark} & echo gone")

    assert not [line for line in processes() if mark in line]


def test_a_demand_that_cannot_be_met_is_refused_with_exit_code_6() -> None:
    if detect().level.traits.exact_cpu:
        pytest.skip("this machine gives every level")
    with pytest.raises(UserError) as refusal:
        require_level(Level.L4)
    assert refusal.value.exit_code == 6


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: no small disk can be mounted")
@at_every_level
def test_no_build_fills_the_disk_with_files_that_have_no_name(
    level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, source = CACHE / "small disk", tmp_path / "hides"
    disk.mkdir(exist_ok=True)
    source.mkdir()
    (source / "bot.toml").write_text('build = ["python3 -S hides.py"]\nrun = ["./bot"]\n')
    written(
        """
        import os, time
        files = []
        for name in "abcdefgh":
            files.append(open(name, "wb"))
            os.unlink(name)
            files[-1].write(bytes(20 << 20))
            files[-1].flush()
            time.sleep(0.1)
        """,
        ".py",
        source,
        "hides",
    )
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m,mode=755", "none", str(disk)], check=False).returncode:
        pytest.skip("NO MOUNTS HERE: no small disk can be mounted")
    try:
        monkeypatch.setenv("CROUPIER_CACHE", str(disk))
        with pytest.raises(UserError, match="or a full disk"):
            trio.run(build, spec_of(source), level)
        free = shutil.disk_usage(disk).free
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert free > 90 << 20
