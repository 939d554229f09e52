"""Creates a control group for each sandbox: the kernel limits and counts all memory and processor time used in it."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from host.sandbox.limits import MIB, Limits

GROUP_PREFIX = "croupier-"
LEAF = "croupier-itself"
"""In version 2 croupier moves itself into this group: a group whose children have limits may not contain processes."""

KEEPER_BYTES = 2 * MIB
"""Bytes for the keeper, its stacks and its socket, in addition to the bot's limit."""

SYSTEM_MOUNTS = Path("/sys/fs/cgroup")

REMOVAL_TIMEOUT_S = 2.0  # seconds within which a group must be gone once all its processes are dead


class NoGroup(Exception):
    """Raised when a control group cannot be created, used or removed. The message is the reason."""


class Words(NamedTuple):
    """Files with the usage of a group, in one version of control groups. Each field is a controller and a file name."""

    computed: tuple[str, str]
    used: tuple[str, str]
    of_which: tuple[str, str]
    killed: tuple[str, str]

    def limits(self, memory: int, tasks: int) -> list[tuple[str, str, int]]:
        """Return the controller, file and value of each limit, in the order to write them. The file for swap may not exist."""
        if self is V2:
            return [("", "memory.max", memory), ("", "memory.swap.max", 0), ("", "pids.max", tasks)]
        return [
            ("memory", "memory.limit_in_bytes", memory),
            ("memory", "memory.memsw.limit_in_bytes", memory),
            ("pids", "pids.max", tasks),
        ]


V1 = Words(
    ("cpuacct", "cpuacct.usage"),
    ("memory", "memory.usage_in_bytes"),
    ("memory", "memory.stat"),
    ("memory", "memory.oom_control"),
)
V2 = Words(("", "cpu.stat"), ("", "memory.current"), ("", "memory.stat"), ("", "memory.events"))
SWAP = ("memory.swap.max", "memory.memsw.limit_in_bytes")  # absent if the kernel does not count swap

FIRST_NUMBER = re.compile(rb"(?:usage_usec )?(\d+)")
OOM_KILLS = re.compile(rb"^oom_kill (\d+)", re.MULTILINE)
CACHED_FILES = re.compile(rb"^(?:in)?active_file (\d+)", re.MULTILINE)


class Base(NamedTuple):
    """Folders in which groups can be created, by controller. In version 2 there is one for all, with the key ""."""

    words: Words
    folders: Mapping[str, Path]

    @property
    def version(self) -> int:
        """Return the version of control groups: 1 or 2."""
        return 2 if self.words is V2 else 1


class Cgroup:
    """The control group of one sandbox. It is created empty. A process moved into it stays in it, and so do its descendants."""

    def __init__(self, base: Base, limits: Limits) -> None:
        name = f"{GROUP_PREFIX}{os.getpid()}-{_began(os.getpid())}-{next(_numbers)}"
        self._base, self._folders = base, {at: folder / name for at, folder in base.folders.items()}
        self._open: dict[tuple[str, str], int] = {}
        try:
            for folder in self._folders.values():
                folder.mkdir(exist_ok=True)  # controllers may share a folder
            for at, file, value in base.words.limits(limits.memory + KEEPER_BYTES, limits.tasks + 2):
                path = self._folders[at] / file
                if file not in SWAP or path.exists():
                    _write(path, str(value))
            words = base.words
            for word in (words.computed, words.used, words.of_which, words.killed):
                self._open[word] = os.open(self._folders[word[0]] / word[1], os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, NoGroup) as error:
            self.remove()
            raise NoGroup(str(error)) from error

    def add(self, pid: int) -> None:
        """Move a process into the group. Raise NoGroup if the kernel refuses."""
        for folder in self._folders.values():
            _write(folder / "cgroup.procs", str(pid))

    @property
    def folder(self) -> Path:
        """Return the folder of the group; in version 1, where it has several, that of its first controller."""
        return next(iter(self._folders.values()))

    def computed(self) -> float:
        """Return the processor time of all processes that were ever in the group, in seconds. A call costs a microsecond."""
        written = os.pread(self._open[self._base.words.computed], 64, 0)
        if self._base.words is V1:
            return int(written) / 1e9
        number = FIRST_NUMBER.match(written)
        return int(number[1]) / 1e6 if number else 0.0

    def killed(self) -> int:
        """Return the number of processes that the kernel has killed because the group reached its memory limit."""
        number = OOM_KILLS.search(self._read(self._base.words.killed))
        return int(number[1]) if number else 0

    def charged(self) -> int:
        """Return the bytes of memory in use, with the file cache. A call costs a microsecond."""
        return int(self._read(self._base.words.used))

    def used(self) -> int:
        """Return the bytes of memory in use, without the file cache, which the kernel frees on demand. A call costs 40 µs."""
        files = sum(map(int, CACHED_FILES.findall(self._read(self._base.words.of_which))))
        return max(self.charged() - files, 0)

    def _read(self, word: tuple[str, str]) -> bytes:
        with contextlib.suppress(OSError):  # another program has removed the group
            return os.pread(self._open[word], 8192, 0)
        return b"0"

    def remove(self) -> bool:
        """Remove the group. Return False if it still exists: a group that has a process cannot be removed."""
        while self._open:
            os.close(self._open.popitem()[1])
        for folder in self._folders.values():
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self._folders.values())

    def kill(self) -> None:
        """Kill all processes that are still in the group."""
        for folder in self._folders.values():
            with contextlib.suppress(OSError):
                if (folder / "cgroup.kill").exists():
                    (folder / "cgroup.kill").write_text("1")
                    continue
                for pid in (folder / "cgroup.procs").read_text().split():
                    os.kill(int(pid), 9)

    def waits(self) -> Iterator[float]:
        """Try to remove the group until it is gone. After each failure, yield the seconds until the next attempt.

        Raise NoGroup if the group still exists after REMOVAL_TIMEOUT_S.
        """
        deadline = time.monotonic() + REMOVAL_TIMEOUT_S
        for tries in count(1):
            if self.remove():
                return
            if time.monotonic() > deadline:
                raise NoGroup(f"{self.folder} cannot be removed")
            if tries % 10 == 0:
                self.kill()
            yield min(0.0005 * tries, 0.05)


_numbers = count(1)


def _began(pid: int) -> str:
    """Return the start time of a process in clock ticks. Together with its number it identifies the process uniquely."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


@cache
def base() -> Base:
    """Return the folders in which this process can create groups. Remove the groups of dead croupier processes there.

    To find the folders, create a group in each candidate until one works. Raise NoGroup with all reasons if none does.
    """
    try:
        first, second = mounts(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    except OSError as error:
        raise NoGroup(f"{error.filename}: {error.strerror}") from error
    candidates: list[Callable[[], Base]] = [partial(_delegated, mount) for mount in _preferred(second)]
    reasons = [] if candidates else ["no control groups of version 2 are mounted"]
    for candidate in (*candidates, *_first_version(_preferred(first))):
        try:
            found = candidate()
            for folder in found.folders.values():
                _remove_stale(folder)
            _try(found)
        except NoGroup as reason:
            reasons.append(str(reason))
        else:
            return found
    raise NoGroup("; ".join(dict.fromkeys(reasons)))


def make_group(limits: Limits) -> Cgroup:
    """Create a group with these limits. Raise NoGroup if that fails.

    If the folders for groups have vanished, because their hierarchy was unmounted, search for other folders once.
    """
    try:
        return Cgroup(base(), limits)
    except NoGroup:
        if all(folder.is_dir() for folder in base().folders.values()):
            raise
    base.cache_clear()
    return Cgroup(base(), limits)


def _try(found: Base) -> None:
    """Create a group, move a process into it, and remove the group. Raise NoGroup if a step fails."""
    group = Cgroup(found, Limits())
    try:
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
            group.add(child.pid)
            if child.stdin is not None:
                child.stdin.close()
        if not group.computed():
            raise NoGroup(f"{group.folder}: the group counts no processor time")
    finally:
        for wait in group.waits():
            time.sleep(wait)


def _remove_stale(folder: Path) -> None:
    """Remove groups of croupier processes that no longer exist. The processes in those groups died with them."""
    for group in folder.glob(f"{GROUP_PREFIX}*-*-*"):
        _, pid, began, _ = group.name.split("-", 3)
        if pid.isdigit() and _began(int(pid)) != began:
            with contextlib.suppress(OSError):
                group.rmdir()


def cure() -> str:
    """Return the command that runs croupier in a group in which it can create others."""
    if os.geteuid() == 0:
        return "systemd-run --scope -p Delegate=yes croupier …; in a container: docs/security.md"
    return "systemd-run --user --scope -p Delegate=yes croupier …; or run croupier as root"


class Mount(NamedTuple):
    """A mounted hierarchy of control groups: its controllers, and the group of this process in it."""

    controllers: frozenset[str]
    own: Path
    outermost: bool  # whether no group above it is visible from here
    point: Path = SYSTEM_MOUNTS
    device: str = ""  # major and minor number

    def is_visible(self) -> bool:
        """Return whether the group exists, and no other file system has been mounted over it."""
        with contextlib.suppress(OSError):
            device = self.own.stat().st_dev
            return f"{os.major(device)}:{os.minor(device)}" == self.device
        return False


def mounts(mountinfo: str, own: str) -> tuple[list[Mount], list[Mount]]:
    """Return the mounted hierarchies of version 1 and those of version 2, each with the group of this process in it.

    The arguments are the contents of /proc/self/mountinfo and /proc/self/cgroup.
    """
    paths: dict[frozenset[str], str] = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        paths[frozenset(filter(None, names.split(",")))] = path
    versions: dict[str, list[Mount]] = {"cgroup": [], "cgroup2": []}
    for line in mountinfo.splitlines():
        place, _, device = line.partition(" - ")
        kind, _, options = device.split(" ", 2)
        if kind not in versions:
            continue
        number, shown, point = (_unescaped(word) for word in place.split()[2:5])
        for controllers, path in paths.items():
            mounted = not controllers if kind == "cgroup2" else controllers and controllers <= set(options.split(","))
            inside = os.path.relpath(path, shown)
            if mounted and not shown.startswith("/..") and not inside.startswith(".."):
                versions[kind].append(Mount(controllers, Path(point, inside), inside == ".", Path(point), number))
    return versions["cgroup"], versions["cgroup2"]


def groups_of(pid: int) -> list[Path]:
    """Return the folders of the groups that can limit or freeze a process: its own, and all visible groups above it."""
    folders: dict[Path, None] = {}
    with contextlib.suppress(OSError):
        versions = mounts(Path("/proc/self/mountinfo").read_text(), Path(f"/proc/{pid}/cgroup").read_text())
        for mount in (each for found in versions for each in found):
            if not mount.controllers or mount.controllers & {"cpu", "freezer"}:
                inside = [each for each in (mount.own, *mount.own.parents) if each.is_relative_to(mount.point)]
                folders |= dict.fromkeys(inside)
    return list(folders)


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _preferred(found: list[Mount]) -> list[Mount]:
    """Return the visible mounts. Those of the system come first, because another program may unmount its own mounts."""
    seen = [mount for mount in found if mount.is_visible()]
    return sorted(seen, key=lambda mount: not mount.point.is_relative_to(SYSTEM_MOUNTS))


def _first_version(found: list[Mount]) -> Iterator[Callable[[], Base]]:
    """Yield functions that return a base in version 1.

    The first function uses the first mount of each controller, the next one the second mount, and so on.
    """
    by_controller = {wanted: [m for m in found if wanted in m.controllers] for wanted in ("memory", "cpuacct", "pids")}
    for nth in range(max(1, *map(len, by_controller.values()))):
        yield partial(_nth_mounts, by_controller, nth)


def _nth_mounts(by_controller: Mapping[str, list[Mount]], nth: int) -> Base:
    for wanted, found in by_controller.items():
        if not found:
            raise NoGroup(f"no {wanted} controller of version 1 is mounted")
    return Base(V1, {wanted: found[min(nth, len(found) - 1)].own for wanted, found in by_controller.items()})


def _delegated(mount: Mount) -> Base:
    """Return the group of this process in version 2 as a base, in which groups for sandboxes can be created.

    A group whose children have limits may not contain processes, so croupier moves itself into a new child. If other
    processes are in the group, move them too if the group was delegated to us or is the top group of a container.
    Otherwise undo the move and raise NoGroup.
    """
    own = mount.own
    if own.name == LEAF:  # another croupier, for example our parent, has already moved
        return _ready(own.parent)
    with contextlib.suppress(NoGroup):
        return _ready(own)
    offered = set(_line(own / "cgroup.controllers").split())
    if not {"memory", "pids"} <= offered:
        raise NoGroup(f"{own} (version 2) has the controllers: {' '.join(sorted(offered)) or 'none'}")
    leaf = own / LEAF
    try:
        leaf.mkdir(exist_ok=True)
    except OSError as error:
        raise NoGroup(f"{error} (version 2)") from error
    _write(leaf / "cgroup.procs", "0")
    try:
        _enable(own)
    except NoGroup:  # other processes are in the group
        if not (_is_delegated(own) or (mount.outermost and (own / "cgroup.type").exists())):
            _write(own / "cgroup.procs", "0")
            leaf.rmdir()
            raise
        for pid in _line(own / "cgroup.procs").split():
            with contextlib.suppress(NoGroup):  # the process has ended
                _write(leaf / "cgroup.procs", pid)
        _enable(own)
    return _ready(own)


def _enable(own: Path) -> None:
    _write(own / "cgroup.subtree_control", "+memory +pids")


def _write(path: Path, words: str) -> None:
    try:
        path.write_text(words)
    except OSError as error:
        raise NoGroup(f"{path}: {error.strerror}") from error


def _ready(folder: Path) -> Base:
    """Return the folder as a base. Raise NoGroup if it lacks a controller or is not writable."""
    enabled = set(_line(folder / "cgroup.subtree_control").split())
    if not ({"memory", "pids"} <= enabled and os.access(folder, os.W_OK)):
        raise NoGroup(f"{folder} (version 2) gives its groups: {' '.join(sorted(enabled)) or 'no controllers'}")
    return Base(V2, {"": folder})


def _line(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise NoGroup(f"{path} (version 2): {error.strerror}") from error


def _is_delegated(own: Path) -> bool:
    """Return whether systemd has delegated this group to the processes in it."""
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(own, name) == b"1":
                return True
    return False
