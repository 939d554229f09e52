"""Opens a port of 127.0.0.1 in the network namespace of a sandbox.

Its command is `python listen_inside.py KEEPER PORT USER GROUP CHANNEL`: the keeper's process id, the port, the owner's
user and group, and a descriptor.

croupier runs this file in a separate process, because a process cannot leave a user namespace. The process imports no
module of croupier. It sends the listening socket over CHANNEL, the descriptor of a Unix socket that it inherits.
"""

import ctypes
import fcntl
import os
import socket
import sys
from pathlib import Path

NS_GET_USERNS = 0xB701  # ioctl: the user namespace to which a namespace belongs
BACKLOG = 1  # connections that wait; they take memory of the kernel
BUFFERS = {"tcp_rmem": "4096 65536 65536", "tcp_wmem": "4096 16384 65536"}
"""Bytes of the buffers of a connection, by setting of the kernel: least, default, most.

They must be small: no limit of a sandbox counts them, and a bot can connect a socket to itself."""


def main(keeper: int, port: int, user: int, group: int, channel: int) -> None:
    """Enter the namespaces of a keeper as their owner, limit the buffers, listen at a port, and send the socket.

    `keeper` is the id of the keeper's process. Raise OSError if one of these steps is not possible.
    """
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    network = os.open(f"/proc/{keeper}/ns/net", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    for namespace in (fcntl.ioctl(network, NS_GET_USERNS), network):
        if libc.setns(namespace, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, limits in BUFFERS.items():
        Path("/proc/sys/net/ipv4", name).write_text(limits)
    with socket.socket() as listener, socket.socket(fileno=channel) as to_relay:
        listener.bind(("127.0.0.1", port))
        listener.listen(BACKLOG)
        socket.send_fds(to_relay, [b"."], [listener.fileno()])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
