"""Detects which levels of isolation work on this machine, and what is missing for the next stronger one.

Each level is tested by running a program in a sandbox of that level. Version numbers alone decide nothing.
"""

import contextlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.sandbox import bubblewrap, cgroup, keeper, landlock, launch, process_tree, seccomp
from host.sandbox.bubblewrap import Home
from host.sandbox.cgroup import NoGroup
from host.sandbox.levels import Level
from host.sandbox.limits import Limits

MIN_RANDOM_PID = 300
"""The smallest process number that the keeper draws."""

MAX_EVIDENCE_CHARS = 500


class Mechanism(NamedTuple):
    """A mechanism that sandboxes use: whether it works here, and its version."""

    name: str
    works: bool
    words: str = ""


class HostCapabilities(NamedTuple):
    """Capabilities of this machine: the strongest level, why stronger levels do not work, and the mechanisms tested."""

    level: Level
    reasons: tuple[Problem, ...]
    mechanisms: tuple[Mechanism, ...] = ()


@cache
def detect() -> HostCapabilities:
    """Find the strongest level that works on this machine. Return it with the tested mechanisms and their problems."""
    mechanisms: list[Mechanism] = []
    problems: list[Problem] = []

    def works(name: str, problem: Problem | None, words: str = "") -> bool:
        mechanisms.append(Mechanism(name, problem is None, words))
        if problem is not None:
            problems.append(problem)
        return problem is None

    def so(level: Level) -> HostCapabilities:
        return HostCapabilities(level, tuple(problems), tuple(mechanisms))

    if not works("seccomp", _no_filter()):
        return so(Level.NONE)
    built = works("keeper", _no_keeper())
    installed = works("bubblewrap", _no_bubblewrap())
    if not built:
        return so(Level.NONE)  # every level needs the keeper
    version = landlock.version()
    if installed and works("user namespace", _no_namespaces()):
        mechanisms.append(Mechanism("landlock", version >= landlock.WANTED, str(version)))
        return so(Level.L4 if works("cgroup", _no_group(), _group_words()) else Level.L3)
    return so(Level.L2 if works("landlock", _no_landlock(), str(version)) else Level.NONE)


def _no_filter() -> Problem | None:
    try:
        seccomp.program()
    except (ImportError, RuntimeError) as broken:
        return Problem("S004", "", f"libseccomp does not load: {broken}", hint="apt install libseccomp2")
    return None


def _no_bubblewrap() -> Problem | None:
    if bubblewrap.program() is None:
        return Problem("S003", "", "bubblewrap is not installed", hint="apt install bubblewrap")
    return None


def _no_keeper() -> Problem | None:
    try:
        keeper.binary()
    except UserError as refused:
        return refused.problems[0]
    return None


def _no_namespaces() -> Problem | None:
    if complaint := _refused(Level.L3):
        if _in_chroot():
            lack = "bubblewrap cannot create a sandbox here: in a chroot the kernel forbids user namespaces"
            cure = (
                "run croupier outside the chroot, or enter it with `systemd-nspawn -D DIR` or `podman run --rootfs DIR`"
            )
            return Problem("S001", "", lack, complaint[-MAX_EVIDENCE_CHARS:], cure)
        if _forbidden_by_apparmor(complaint):
            lack = "bubblewrap cannot create a sandbox here: AppArmor forbids user namespaces (Ubuntu 24.04 and later)"
            cure = f"allow them to bubblewrap alone:  {apparmor_cure(bubblewrap.program() or 'bwrap')}"
            return Problem("S001", "", lack, complaint[-MAX_EVIDENCE_CHARS:] + _namespace_settings(), cure)
        cure = "sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; in a container: "
        cure += "--security-opt seccomp=docker/seccomp.json --security-opt apparmor=unconfined (docs/running.md)"
        evidence = complaint[-MAX_EVIDENCE_CHARS:] + _namespace_settings()
        return Problem("S001", "", "bubblewrap cannot create a sandbox here", evidence, cure)
    return None


APPARMOR_SETTING = "kernel/apparmor_restrict_unprivileged_userns"


def _forbidden_by_apparmor(complaint: str) -> bool:
    """Return whether bubblewrap failed because AppArmor gives programs without a profile no rights in a user namespace.

    Such a program may create the namespace, but may neither map its user nor configure its loopback device. `complaint`
    is the output of bubblewrap.
    """
    with contextlib.suppress(OSError):
        restricted = (Path("/proc/sys") / APPARMOR_SETTING).read_text().strip() == "1"
        return restricted and ("uid map: Permission denied" in complaint or "RTM_NEWADDR" in complaint)
    return False


def apparmor_cure(program: str) -> str:
    """Return the shell command that allows bubblewrap to create user namespaces, also after the machine restarts."""
    profile = rf"abi <abi/4.0>,\nprofile croupier-bwrap {program} flags=(unconfined) {{\n  userns,\n}}\n"
    return f"printf '{profile}' | sudo tee /etc/apparmor.d/croupier-bwrap | sudo apparmor_parser -r"


def _in_chroot() -> bool:
    """Return whether this process runs in a chroot.

    Root can compare its root folder with that of PID 1. Other users cannot see that folder. For them the sign is that
    no mount is at "/", as in most chroots.
    """
    with contextlib.suppress(OSError):
        return not Path("/proc/1/root").samefile("/")
    with contextlib.suppress(OSError):
        return all(line.split()[4] != "/" for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return False


def _no_landlock() -> Problem | None:
    if landlock.version() < landlock.WANTED:
        lack = f"Landlock has ABI {landlock.version()} here; {landlock.WANTED} is the first that also restricts signals"
        return Problem("S006", "", lack, hint="Linux 6.12 or newer, with landlock among its security modules (lsm=…)")
    if complaint := _refused(Level.L2):
        return Problem("S006", "", "Landlock cannot restrict a program here", complaint)
    return None


def _no_group() -> Problem | None:
    try:
        cgroup.base()
    except NoGroup as reason:
        return Problem("S007", "", "cannot create a control group here", str(reason), cgroup.cure())
    return None


def _group_words() -> str:
    with contextlib.suppress(NoGroup):
        return str(cgroup.base().version)
    return ""


@cache
def randomizes_pids(level: Level) -> bool:
    """Return whether process numbers are random: a process then cannot infer the number of processes before it.

    Test this for levels whose sandboxes have their own process numbers: in a container with a read-only /proc/sys the
    keeper cannot set the next number. At other levels, processes are numbered for the whole machine: return True.
    """
    if not level.traits.own_namespaces:
        return True
    refused, output = _probe(Level.L3, b"/bin/sh", b"-c", b"echo $$")
    return not refused and int(output) >= MIN_RANDOM_PID


def _refused(level: Level) -> str:
    """Return why a level does not work, or "" if it works."""
    return _probe(level, b"/bin/true")[0]


def _probe(level: Level, *words: bytes) -> tuple[str, bytes]:
    """Run a program in a sandbox of a level. Return why it failed ("" if it did not), and its output.

    Try a second time after a failure: a sandbox that something has killed says nothing about the machine.
    """
    refused, output = _probe_once(level, words)
    return _probe_once(level, words) if refused else (refused, output)


def _probe_once(level: Level, words: Sequence[bytes]) -> tuple[str, bytes]:
    home = Home(Path("/usr/share"))
    with contextlib.ExitStack() as stack:
        try:
            started = launch.start(level, home, Limits(), stack)
        except OSError as error:
            return str(error), b""
        stack.callback(process_tree.wait_for_exit, started.process, keeper.TRIAL)
        stack.callback(started.control.close)
        try:
            ended = keeper.ask_sync(started.control, words)
        except OSError as error:
            return started.complaint() or str(error), b""
        return "" if ended.status == 0 and not ended.error else ended.words, ended.output


def _namespace_settings() -> str:
    """Return the kernel's settings that can forbid user namespaces, one per line."""
    settings = ""
    for name in (
        "kernel/unprivileged_userns_clone",
        "user/max_user_namespaces",
        APPARMOR_SETTING,
    ):
        setting = Path("/proc/sys") / name
        if setting.exists():
            settings += f"\n{name.replace('/', '.')} = {setting.read_text().strip()}"
    return settings


def require_level(level: Level) -> Level:
    """Return the strongest level of this machine. Raise UserError (exit code 6) if it is weaker than the given one.

    A level that does not isolate is returned unchanged.
    """
    if not level.traits.isolates:
        return level
    here = detect()
    if here.level >= level:
        return here.level
    cure = "fix the problem above (croupier doctor), or use --unsafe to run only your own bots, unprotected"
    if here.level.traits.isolates:
        cure += f'; or level = "{here.level}" in croupier.toml: weaker, so read docs/security.md first'
    lack = f'[sandbox] level = "{level}" is required, and this machine provides "{here.level}"'
    raise UserError([Problem("S001", "", lack, "\n".join(map(str, here.reasons)), cure)], 6)


def no_sandbox_here(level: Level, reason: str) -> Problem:
    """Return the problem of a machine that could create sandboxes when croupier started, and now cannot."""
    lack = f"this machine can no longer create a sandbox of level {level}, not even one without a bot"
    return Problem("S018", "", lack, escape_control_chars(reason), "croupier doctor; then run again: the run continues")
