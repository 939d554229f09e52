# Creates kernel objects that grow without end behind one descriptor and that no limit at L3 counts: a Landlock ruleset, a
# listening socket that keeps what closed sockets have sent, sockets with an address, the listener of a system call filter.
# Verdict: harmless, none can be created.
import ctypes
import os
import socket
import sys

CREATE_RULESET, ADD_RULE, NET_PORT = 444, 445, 2
SECCOMP = 317 if os.uname().machine == "x86_64" else 277
SET_MODE_FILTER, NEW_LISTENER = 1, 8

libc = ctypes.CDLL(None, use_errno=True)
grown = []


def ruleset() -> None:
    """Add rules to a ruleset."""
    descriptor = libc.syscall(CREATE_RULESET, (ctypes.c_uint64 * 2)(0, 3), ctypes.c_size_t(16), 0)
    if descriptor >= 0:
        rules = [
            libc.syscall(ADD_RULE, descriptor, NET_PORT, (ctypes.c_uint64 * 2)(1, port), 0) for port in range(60000)
        ]
        grown.append(f"a ruleset with {rules.count(0)} rules")


def listener() -> None:
    """Fill a listening socket from sockets that are closed at once, and another one with datagrams."""
    try:
        held = 0
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            server = socket.socket(socket.AF_UNIX, kind)
            server.bind(f"\0full{kind}")
            if kind == socket.SOCK_STREAM:
                server.listen(4096)
            for _ in range(200):
                with socket.socket(socket.AF_UNIX, kind) as client:
                    client.setblocking(False)
                    client.connect(f"\0full{kind}")
                    held += client.send(bytes(100_000))
    except OSError:
        pass
    if held > 1 << 20:
        grown.append(f"sockets with {held} bytes")


def addressed_pair() -> None:
    """Give one end of a pair an address, and send it the datagrams of ends that are closed at once."""
    held = 0
    receiver, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.close()
    try:
        receiver.send(b"")
    except OSError:
        pass  # now it has no peer, so that others may send to it
    try:
        receiver.bind("\0pair")
        for _ in range(20):
            one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            with one, other:
                one.setblocking(False)
                held += one.sendto(bytes(200_000), "\0pair")
    except OSError:
        pass
    if held > 1 << 20:
        grown.append(f"a pair with {held} bytes")


def filter_listener() -> None:
    """Load a system call filter whose descriptor outlives its process."""
    allow = ctypes.create_string_buffer(b"\x06\0\0\0\0\0\xff\x7f")
    program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))
    libc.prctl(38, 1, 0, 0, 0)
    if libc.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program) >= 0:
        grown.append("the listener of a filter")


ruleset()
listener()
addressed_pair()
filter_listener()
print(*grown, sep="\n", file=sys.stderr)
print("B 666" if grown else "S")
