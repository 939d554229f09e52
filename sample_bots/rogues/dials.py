# Connects to services of the host, a name server and the Internet. Verdict: harmless, there is no network.
import socket
import sys

reached = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 8080)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 22)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
    (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443)),
    (socket.AF_UNIX, socket.SOCK_STREAM, "/run/docker.sock"),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\0/tmp/.X11-unix/X0"),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\0dbus"),
):
    try:
        call = socket.socket(family, kind)
        call.settimeout(0.1)
        call.connect(address)
        call.send(b"\0\1\1\0\0\1\0\0\0\0\0\0")
        reached.append(address)
    except OSError:
        pass
try:
    reached.append(socket.getaddrinfo("example.com", 80))
except OSError:
    pass
print(*reached, file=sys.stderr)
print("B 666" if reached else "S")
