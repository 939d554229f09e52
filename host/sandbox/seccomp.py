"""Builds the system call filters: no access to other sandboxes or processes, no covert channels, a small kernel surface."""

import errno
import os
import signal
import tempfile
from collections.abc import Callable, Mapping
from functools import cache

FORBIDDEN = (
    # access to other processes, and through them to the host
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *(
        "setpriority",
        "sched_setaffinity",
        "sched_setscheduler",
        "sched_setattr",
        "sched_setparam",
        "ioprio_set",
        "migrate_pages",
    ),
    *("move_pages", "mbind", "set_mempolicy", "set_mempolicy_home_node"),
    # new namespaces and mounts: they give all capabilities over a large part of the kernel
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr"),
    # calls that bypass a filter, and the kernel's own machinery
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "kexec_load"),
    *("kexec_file_load", "init_module", "finit_module", "delete_module", "modify_ldt", "ioperm", "iopl", "syslog"),
    *("name_to_handle_at", "open_by_handle_at", "lookup_dcookie", "fanotify_init", "quotactl", "quotactl_fd", "acct"),
    *("swapon", "swapoff", "reboot", "vhangup", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "personality"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
    # sockets with a name or a family: one descriptor that listens, or has an address, holds the bytes of thousands of
    # closed ones, and no limit counts them; AF_VSOCK ignores namespaces. A socketpair() holds what its two ends may hold,
    # unless one of them is given an address
    *("socket", "bind", "connect", "listen"),
    # covert channels: keys, queues, shared memory, file locks
    *("add_key", "keyctl", "request_key", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify"),
    *("mq_getsetattr", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "shmget"),
    *("shmat", "shmdt", "shmctl", "inotify_init", "inotify_init1", "inotify_add_watch"),
    # attributes of an inode that outlives a process, for the next one to read: of /tmp and of the state file
    *("setxattr", "lsetxattr", "fsetxattr"),
    # a covert channel: whether a page of a file is in the cache, and how to remove it from the cache
    *("preadv2", "mincore", "fadvise64"),
    # memory that no memory limit counts
    *("memfd_create", "memfd_secret", "vmsplice", "tee"),
    # resources that are limited for the whole machine, and message buffers that no memory limit counts
    *("io_setup", "io_submit", "setsockopt"),
)
CONNECTING = ("socket", "connect", "setsockopt")
"""Allowed, for streams only, to a bot that asks models. The only socket with a path in its sandbox and the only port
belong to the relay. A local stream has no address of its own: the bot can neither bind it nor let the kernel bind it.
A TCP stream has an address when it is connected, perhaps to itself; the relay has limited the buffers of all streams
(host/relay/listen_inside.py)."""
ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr")
"""Denied with EOPNOTSUPP, as on a file system without attributes: `cp -p`, `install -m` and copy2 ignore that error in builds."""
SETS_TIMES, LOCKS_FILES = "utimensat", "flock"
BOT_ONLY = ("utime", "utimes", "futimesat", SETS_TIMES, LOCKS_FILES, "timer_create", "setpgid", "sync", "syncfs")
"""Denied to bots but not in builds. In a build, flock does nothing and reports success: `go` and `cargo` end if they
cannot lock their own files, but a lock on a file of the system is visible in every sandbox. So are the timestamps of a
device. A timer, or the exit of the last parent of a process group, can send SIGCONT to a bot that is stopped while
another bot is thinking. sync makes the whole machine wait for its disks."""
SENDS = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2, "pidfd_send_signal": 1}
"""The system calls that send a signal, and the position of the argument with the signal's number."""
INFO_LEAKS = ("statfs", "fstatfs", "openat2")
"""Denied with ENOSYS. How full the disk is reveals what other bots have written (sysinfo reveals it too, but runtimes
need it). For openat2 no filter can read the mode."""
NEW_LISTENER = 8  # seccomp: its descriptor keeps the filter, kernel memory, after the process that loaded it
NEWER = (449, 451, *range(454, 462), *range(463, 512))
"""Numbers of calls that libseccomp does not know by name; they are equal on all machines. The new futexes and cachestat
reach other sandboxes through files that all can read. statmount reveals the host's paths. setxattrat is like setxattr.
The last ranges are for future calls."""
WAKERS = (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13)
"""All futex operations except waiting. A futex that is not private belongs to the mapped file, so that processes in
other sandboxes could be woken through a file that both map."""
LOCKS = (5, 6, 7, 36, 37, 38)  # fcntl: F_GETLK F_SETLK F_SETLKW, also for open file descriptions
MODES: Mapping[str | int, int] = {"chmod": 1, "fchmod": 1, "fchmodat": 2, 452: 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""The system calls that set a file's mode, and the position of that argument (452 is fchmodat2)."""
OPENS = {"open": (1, 2), "openat": (2, 3)}
"""The system calls that open a file, and the positions of the flags and the mode."""
CREATING = (0x40, 0x400000)  # O_CREAT, O_TMPFILE
SETID_BITS = (0o4000, 0o2000)  # a program with such a bit runs as its owner, no matter who on the machine starts it
NAMESPACES = 0x7E020080  # CLONE_NEWNS CGROUP UTS IPC USER PID NET, and NEWTIME's bit
HIDDEN_VFORKS = (0x14000, 0xC000)
"""clone: CLONE_VFORK with CLONE_THREAD or CLONE_PARENT. A process that waits for a vfork looks as if it waits for a disk,
which is the machine's fault. Only its child shows the difference, and these children are not listed as its own."""
OWNERS = (8, 10, 15, 1024, 1026, 1031)  # fcntl: F_SETOWN F_SETSIG F_SETOWN_EX F_SETLEASE F_NOTIFY F_SETPIPE_SZ
RW_HINTS = (1036, 1038)  # fcntl: F_SET_RW_HINT F_SET_FILE_RW_HINT, which stay with the file
TERMINAL = 0x54  # type of the ioctls of terminals and pipes; all other types are for file systems, sockets and devices
HUGE = 0x40000  # mmap: MAP_HUGETLB, memory that is not counted
SHARED, KIND_OF_MAPPING = 0x21, 0x2F  # mmap: MAP_SHARED | MAP_ANONYMOUS
LOCAL, INTERNET = 1, 2  # socket and socketpair: AF_UNIX, AF_INET
TCP, NODELAY = 6, 1  # socket: IPPROTO_TCP; setsockopt: TCP_NODELAY, which clients of HTTP set
MERGEABLE = 12  # madvise: MADV_MERGEABLE; timing writes to merged pages reveals equal pages of others
PAGEOUT = 21  # madvise: MADV_PAGEOUT, which removes pages from the cache; the next process could find out which
COLLAPSE = 25  # madvise: MADV_COLLAPSE, which some kernels also do to system files: all sandboxes could notice it
CORE_SCHEDULING = 62  # prctl: PR_SCHED_CORE, which keeps others off the second thread of a core
MERGED = 67  # prctl: PR_SET_MEMORY_MERGE, MERGEABLE for a whole process
LAST_WISH = 1  # prctl: PR_SET_PDEATHSIG

Forbid = Callable[..., None]
"""Denies a system call, by name or number, under conditions; the error is EPERM by default."""


@cache
def program(
    more: tuple[str | int, ...] = (), *, shared_memory: bool = False, own_descriptor: int = -1, connects: bool = False
) -> bytes:
    """Return the filter of a keeper and its bots, as BPF bytecode. It also denies the system calls in `more`.

    `shared_memory`: whether to allow shared memory without a file, which only a control group counts.
    `own_descriptor`: a number that only a descriptor of the keeper can have; the keeper may set the times of its file.
    `connects`: whether to allow local streams and TCP streams, for the relay to models.

    Raise ImportError or RuntimeError if pyseccomp or libseccomp is not installed.

    A denied call fails with EPERM. clone3, whose flags no filter can read, fails with ENOSYS, so that libc uses clone.
    """

    def most(forbid: Forbid) -> None:
        _forbid_most(forbid, tuple(call for call in more if call != SETS_TIMES), CONNECTING if connects else ())
        if connects:
            _forbid_other_sockets(forbid)
        if SETS_TIMES in more:
            _forbid_times(forbid, own_descriptor)
        if not shared_memory:
            _forbid_shared_memory(forbid)

    return _exported(most)


@cache
def sigcont_filter() -> bytes:
    """Return a filter for bots, but not for their keeper, as BPF bytecode.

    It denies SIGCONT, so that only the keeper can resume a stopped bot.
    """
    return _exported(_forbid_waking)


@cache
def combined_filter(more: tuple[str | int, ...] = ()) -> bytes:
    """Return one filter, as BPF bytecode, with the rules of `program` and of `sigcont_filter`.

    It is for bots whose keeper is outside the sandbox. It also denies the system calls in `more`.
    """

    def both(forbid: Forbid) -> None:
        _forbid_most(forbid, more)
        _forbid_shared_memory(forbid)
        _forbid_waking(forbid)

    return _exported(both)


def _exported(forbid_all: Callable[[Forbid], None]) -> bytes:
    """Return a filter as BPF bytecode. `forbid_all` adds its rules. Raise as `program` does."""
    import pyseccomp as seccomp

    rules = seccomp.SyscallFilter(seccomp.ALLOW)

    def forbid(name: str | int, *conditions: object, error: int = errno.EPERM) -> None:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) if isinstance(name, str) else name
        if number >= 0:  # negative: a call that this machine does not have
            rules.add_rule(seccomp.ERRNO(error), name, *conditions)

    forbid_all(forbid)
    with tempfile.TemporaryFile() as exported:
        rules.export_bpf(exported)
        exported.seek(0)
        return exported.read()


def _forbid_waking(forbid: Forbid) -> None:
    """Deny all ways to cause a SIGCONT: sending it, and requesting it for the death of a parent or a child."""
    from pyseccomp import MASKED_EQ, Arg

    for name, place in SENDS.items():
        forbid(name, Arg(place, MASKED_EQ, 0xFFFFFFFF, signal.SIGCONT))
    forbid("prctl", Arg(0, MASKED_EQ, 0xFFFFFFFF, LAST_WISH), Arg(1, MASKED_EQ, 0xFFFFFFFF, signal.SIGCONT))
    forbid("clone", Arg(0, MASKED_EQ, 0xFF, signal.SIGCONT))


def _forbid_most(forbid: Forbid, more: tuple[str | int, ...], allowed: tuple[str, ...] = ()) -> None:
    import pyseccomp as seccomp

    for name in (call for call in (*FORBIDDEN, *more) if call not in allowed):
        forbid(name, error=errno.EOPNOTSUPP if name in ATTRIBUTES else errno.EPERM)
    if LOCKS_FILES not in more:
        forbid(LOCKS_FILES, error=0)
    for number in NEWER:
        forbid(number, error=errno.ENOSYS)
    for name in INFO_LEAKS:
        forbid(name, error=errno.ENOSYS)
    forbid("clone3", error=errno.ENOSYS)
    for flags in HIDDEN_VFORKS:
        forbid("clone", seccomp.Arg(0, seccomp.MASKED_EQ, flags, flags))
    for bit in range(32):
        if NAMESPACES >> bit & 1:
            forbid("clone", seccomp.Arg(0, seccomp.MASKED_EQ, 1 << bit, 1 << bit))
    for bit in SETID_BITS:
        for call, mode in MODES.items():
            if call not in more:
                forbid(call, seccomp.Arg(mode, seccomp.MASKED_EQ, bit, bit))
        for opens, (flags, mode) in OPENS.items():
            for flag in CREATING:
                creates = seccomp.Arg(flags, seccomp.MASKED_EQ, flag, flag)
                forbid(opens, creates, seccomp.Arg(mode, seccomp.MASKED_EQ, bit, bit))
    forbid("seccomp", seccomp.Arg(1, seccomp.MASKED_EQ, NEW_LISTENER, NEW_LISTENER))
    forbid("prlimit64", seccomp.Arg(0, seccomp.NE, 0))
    for command in WAKERS:
        forbid("futex", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFF, command))
    for command in (*LOCKS, *OWNERS, *RW_HINTS):
        forbid("fcntl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, command))  # the kernel reads 32 bits
    forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, 0x5412))  # TIOCSTI: writes to a terminal's input
    forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, 0x541C))  # TIOCLINUX
    for bit in range(8, 16):
        forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 1 << bit, ~(TERMINAL << 8) & 1 << bit), error=errno.ENOTTY)
    # fallocate could allocate memory beyond a file's end, where no limit applies.
    forbid("fallocate", seccomp.Arg(1, seccomp.NE, 0), error=errno.EOPNOTSUPP)
    forbid("mmap", seccomp.Arg(3, seccomp.MASKED_EQ, HUGE, HUGE), error=errno.ENOMEM)
    # The kernel creates two sockets of any family, and loads the family's module, before it finds that they cannot be paired.
    forbid("socketpair", seccomp.Arg(0, seccomp.NE, LOCAL))
    for advice in (MERGEABLE, PAGEOUT, COLLAPSE):
        forbid("madvise", seccomp.Arg(2, seccomp.MASKED_EQ, 0xFFFFFFFF, advice), error=errno.EINVAL)
    for option in (CORE_SCHEDULING, MERGED):
        forbid("prctl", seccomp.Arg(0, seccomp.MASKED_EQ, 0xFFFFFFFF, option), error=errno.EINVAL)


def _forbid_other_sockets(forbid: Forbid) -> None:
    """Deny all sockets except local streams and TCP streams, and all socket options except TCP_NODELAY.

    The type of a socket is in the lowest four bits of an argument; 1 is a stream.
    """
    from pyseccomp import EQ, GT, MASKED_EQ, NE, Arg

    forbid("socket", Arg(0, EQ, 0))
    forbid("socket", Arg(0, GT, INTERNET))
    forbid("socket", Arg(1, MASKED_EQ, 1, 0))
    for bit in (2, 4, 8):
        forbid("socket", Arg(1, MASKED_EQ, bit, bit))
    for protocol in range(1, TCP):
        forbid("socket", Arg(2, EQ, protocol))
    forbid("socket", Arg(2, GT, TCP))
    forbid("setsockopt", Arg(1, NE, TCP))
    forbid("setsockopt", Arg(2, NE, NODELAY))


def _forbid_times(forbid: Forbid, own_descriptor: int) -> None:
    """Deny setting the times of all files except the one with the descriptor `own_descriptor`."""
    from pyseccomp import NE, Arg

    forbid(SETS_TIMES, Arg(0, NE, own_descriptor))
    forbid(SETS_TIMES, Arg(1, NE, 0))  # with a path, the descriptor may be ignored


def _forbid_shared_memory(forbid: Forbid) -> None:
    """Deny shared memory without a file: no counter of a process shows it while no process maps it."""
    import pyseccomp as seccomp

    forbid("mmap", seccomp.Arg(3, seccomp.MASKED_EQ, KIND_OF_MAPPING, SHARED))


def descriptor(filtered: bytes) -> int:
    """Return a descriptor from which a filter can be read. The caller closes it."""
    reader, writer = os.pipe()
    os.write(writer, filtered)
    os.close(writer)
    return reader
