"""The system calls that no bot needs: what reaches another sandbox, another process, or a wide kernel surface."""

import errno
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping
from functools import cache

FORBIDDEN = (
    # other processes, and the host through them
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
    # new namespaces and mounts: full capabilities over a large surface
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr"),
    # a filter's blind spots and the kernel's own machinery
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "kexec_load"),
    *("kexec_file_load", "init_module", "finit_module", "delete_module", "modify_ldt", "ioperm", "iopl", "syslog"),
    *("name_to_handle_at", "open_by_handle_at", "lookup_dcookie", "fanotify_init", "quotactl", "quotactl_fd", "acct"),
    *("swapon", "swapoff", "reboot", "vhangup", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "personality"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
    # covert channels: keys, queues, shared memory, file locks; of sockets see program()
    *("add_key", "keyctl", "request_key", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify"),
    *("mq_getsetattr", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "shmget"),
    *("shmat", "shmdt", "shmctl", "flock", "inotify_init", "inotify_init1", "inotify_add_watch"),
    # what outlives a process at an inode that the next one sees: /tmp itself, the state file
    *("setxattr", "lsetxattr", "fsetxattr"),
    # whether a page of the system has been read before, and to have it read again; anybody may need it
    *("preadv2", "fadvise64"),
    # memory that no limit of memory sees
    *("memfd_create", "memfd_secret", "vmsplice", "tee"),
    # what all the machine has but so much of; and room for messages that no limit of memory sees
    *("io_setup", "io_submit", "setsockopt"),
)
BOT_ONLY = ("utime", "utimes", "futimesat", "utimensat", "timer_create", "setpgid", "sync", "syncfs")
"""Also forbidden to bots, but not to builds: whoever may write a device may set its times, and every sandbox sees them; a
timer, or the end of a group's last parent, can send SIGCONT to who is stopped off turn; and the whole machine waits for its
disks."""
SENDS = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2, "pidfd_send_signal": 1}
"""What sends a signal, and which of its arguments says what signal."""
INFO_LEAKS = ("statfs", "fstatfs", "openat2")
"""Forbidden with ENOSYS: how full the disk is tells what others have written (what sysinfo tells, runtimes must know), and
what is opened with which mode no filter can read."""
NEWER = (449, 451, *range(454, 462), *range(463, 512))
"""Calls younger than libseccomp's names, the same numbers on all machines: the new futexes and cachestat, which reach
other sandboxes through files that all can see, statmount, which tells the host's paths, setxattrat, and whatever comes
after these lists."""
WAKERS = (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13)
"""futex: all but to wait. Not private, it goes by the file that is mapped: whoever maps the same may be woken."""
LOCKS = (5, 6, 7, 36, 37, 38)  # fcntl: F_GETLK F_SETLK F_SETLKW and their open-file-description twins
MODES: Mapping[str | int, int] = {"chmod": 1, "fchmod": 1, "fchmodat": 2, 452: 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""What gives a file a mode, and which of its arguments that is (452 is fchmodat2)."""
OPENS = {"open": (1, 2), "openat": (2, 3)}
"""What opens a file, and which of its arguments are the flags and the mode."""
CREATING = (0x40, 0x400000)  # O_CREAT, O_TMPFILE
SETID_BITS = (0o4000, 0o2000)  # a program with such a bit runs as its owner: whoever on the machine starts it
NAMESPACES = 0x7E020080  # CLONE_NEWNS CGROUP UTS IPC USER PID NET, and NEWTIME's bit
OWNERS = (8, 10, 15, 1024, 1026, 1031)  # fcntl: F_SETOWN F_SETSIG F_SETOWN_EX F_SETLEASE F_NOTIFY F_SETPIPE_SZ
HINTS = (1036, 1038)  # fcntl: F_SET_RW_HINT F_SET_FILE_RW_HINT, which stay with the file
TERMINAL = (
    0x54  # the type of an ioctl that terminals and pipes answer; all others are for file systems, sockets, devices
)
HUGE = 0x40000  # mmap: MAP_HUGETLB, memory that is in no count of memory
MERGEABLE = 12  # madvise: pages that others' equal pages can be told by
CORES = 62  # prctl: PR_SCHED_CORE, which keeps others from the other half of a core
MERGED = 67  # prctl: PR_SET_MEMORY_MERGE, which does the same as MERGEABLE for all of a process
LAST_WISH = 1  # prctl: PR_SET_PDEATHSIG

Forbid = Callable[..., None]
"""Forbids a system call, by name or number, under conditions, with an error other than EPERM if need be."""


@cache
def program(more: tuple[str | int, ...] = ()) -> bytes:
    """Return the filter that holds for a keeper and its bots; it forbids `more`, too. Raise ImportError without libseccomp.

    A forbidden call fails with EPERM; clone3, whose flags no filter can read, with ENOSYS, so that libc uses clone.
    """
    return _exported(lambda forbid: _forbid_most(forbid, more))


@cache
def sigcont_filter() -> bytes:
    """Return the filter that holds for bots but not for their keeper: who is stopped off turn is woken by nobody else."""
    return _exported(_forbid_waking)


@cache
def combined_filter(more: tuple[str | int, ...] = ()) -> bytes:
    """Return both in one, for bots of a keeper that stands outside."""

    def both(forbid: Forbid) -> None:
        _forbid_most(forbid, more)
        _forbid_waking(forbid)

    return _exported(both)


def _exported(forbid_all: Callable[[Forbid], None]) -> bytes:
    """Return a filter as BPF, exported by libseccomp."""
    import pyseccomp as seccomp

    rules = seccomp.SyscallFilter(seccomp.ALLOW)

    def forbid(name: str | int, *conditions: object, error: int = errno.EPERM) -> None:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) if isinstance(name, str) else name
        if number >= 0:  # an older kernel interface, or another machine's: nothing to forbid
            rules.add_rule(seccomp.ERRNO(error), name, *conditions)

    forbid_all(forbid)
    with tempfile.TemporaryFile() as exported:
        rules.export_bpf(exported)
        exported.seek(0)
        return exported.read()


def _forbid_waking(forbid: Forbid) -> None:
    """Forbid all that can bring about a SIGCONT: to send it, to ask for it at a parent's death, or for a child's."""
    from pyseccomp import MASKED_EQ, Arg

    for name, place in SENDS.items():
        forbid(name, Arg(place, MASKED_EQ, 0xFFFFFFFF, signal.SIGCONT))
    forbid("prctl", Arg(0, MASKED_EQ, 0xFFFFFFFF, LAST_WISH), Arg(1, MASKED_EQ, 0xFFFFFFFF, signal.SIGCONT))
    forbid("clone", Arg(0, MASKED_EQ, 0xFF, signal.SIGCONT))


def _forbid_most(forbid: Forbid, more: tuple[str | int, ...]) -> None:
    import pyseccomp as seccomp

    for name in (*FORBIDDEN, *more):
        forbid(name)
    for number in NEWER:
        forbid(number, error=errno.ENOSYS)
    for name in INFO_LEAKS:
        forbid(name, error=errno.ENOSYS)
    forbid("clone3", error=errno.ENOSYS)
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
    if "socket" not in more:
        forbid("socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))  # AF_VSOCK, for one, knows no namespaces
    forbid("prlimit64", seccomp.Arg(0, seccomp.NE, 0))
    for command in WAKERS:
        forbid("futex", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFF, command))
    for command in (*LOCKS, *OWNERS, *HINTS):
        forbid("fcntl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, command))  # the kernel reads no more of it
    forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, 0x5412))  # TIOCSTI: types into a terminal
    forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, 0x541C))  # TIOCLINUX
    for bit in range(8, 16):
        forbid("ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 1 << bit, ~(TERMINAL << 8) & 1 << bit), error=errno.ENOTTY)
    forbid("fallocate", seccomp.Arg(1, seccomp.NE, 0), error=errno.EOPNOTSUPP)  # beyond a file's end no limit holds
    forbid("mmap", seccomp.Arg(3, seccomp.MASKED_EQ, HUGE, HUGE), error=errno.ENOMEM)
    forbid("madvise", seccomp.Arg(2, seccomp.MASKED_EQ, 0xFFFFFFFF, MERGEABLE), error=errno.EINVAL)
    for option in (CORES, MERGED):
        forbid("prctl", seccomp.Arg(0, seccomp.MASKED_EQ, 0xFFFFFFFF, option), error=errno.EINVAL)


def descriptor(filtered: bytes) -> int:
    """Return a descriptor from which a filter can be read; the caller closes it."""
    reader, writer = os.pipe()
    os.write(writer, filtered)
    os.close(writer)
    return reader
