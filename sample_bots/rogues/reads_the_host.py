# Reads accounts, files of others, information on processes, and kernel files. Verdict: harmless.
import os
import sys

PRIVATE = (
    "/etc/shadow",
    "/etc/passwd",
    "/etc/hostname",
    "/etc/machine-id",
    "/etc/ssh",
    "/root",
    "/home",
    "/var/log",
    "/var/lib/dpkg",
    "/var/cache",
    "/srv",
    "/proc",
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/cpuinfo",
    "/sys",
    "/sys/class/net",
    "/sys/fs/cgroup",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/sda",
    "/dev/tty",
    "/dev/pts",
    "/dev/ptmx",
    "/dev/shm",
    "/dev/mqueue",
    "/dev/fuse",
    "/run/docker.sock",
    "/run/systemd",
    "/var/run/docker.sock",
    "/tmp/.X11-unix",
    "/work",
    "/mnt",
    "/media",
    "/opt",
    "/boot",
    "/lost+found",
    "/.dockerenv",
    "/bot/../../root",
    "/etc/alternatives/../shadow",
)
read = []
for path in PRIVATE:
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(1)
        read.append(path)
    except OSError:
        pass
for number in range(3, 256):
    try:
        read.append(f"descriptor {number}: {os.fstat(number)}")
    except OSError:
        pass
print(*read, sep="\n", file=sys.stderr)
print("B 666" if read else "S")
