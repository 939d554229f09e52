"""Determines the addresses at which clients reach a server of this machine. Needs none of the packages of the extra `web`."""

import socket
from ipaddress import ip_address

DOCUMENTATION_ADDRESSES = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses that belong to nobody (RFC 5737, RFC 3849)."""
LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


def url_of(host: str, port: int | str) -> str:
    """Return the URL of a server for links, without a slash at its end.

    If the server listens at all addresses, the URL has the address of this machine in its network.
    """
    try:
        address = ip_address(host)
    except ValueError:  # a name
        return f"http://{host}:{port}"
    if address.is_unspecified:
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        address = ip_address(own_address(family) or LOOPBACK[family])
    return f"http://{address if address.version == 4 else f'[{address}]'}:{port}"


def own_address(family: socket.AddressFamily) -> str:
    """Return the address of this machine in its network; empty if it has no network."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((DOCUMENTATION_ADDRESSES[family], 9))  # chooses a route, and sends nothing
            return str(probe.getsockname()[0])
    except OSError:
        return ""
