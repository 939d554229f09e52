"""Describe the problems of a cluster as errors that name the machine and the remedy."""

import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import dask.config
from distributed import Security
from distributed.comm.core import CommClosedError

from host.backends.dask_client import CONNECT_TIMEOUT_S, DaskClient, WorkerInfo
from host.base.errors import Problem

VERSION_MISMATCH = "S012"

SECURITY: Callable[[], Any] = Security  # untyped in distributed


def version_problems(side: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Problem]:
    """Return a problem if the versions of a machine differ from ours, otherwise []. `side` is the name of the machine.

    `ours` and `theirs` are versions by package. Packages that only the machine has do not count.
    """
    differing = [
        f"{name} {theirs.get(name, 'none')}, and {version} here"
        for name, version in ours.items()
        if theirs.get(name) != version
    ]
    if not differing:
        return []
    hint = "install the same croupier on all machines, or run one image on all of them"
    return [Problem(VERSION_MISMATCH, side, f"has {'; '.join(differing)}", hint=hint)]


def machine_problem(worker: WorkerInfo, error: OSError) -> Problem:
    """Return the problem of a machine whose operating system reports an error."""
    message = "an error of its operating system prevents it from taking part"
    return Problem("S013", str(worker), message, str(error), "croupier doctor, on that machine")


def no_scheduler(client: DaskClient) -> Problem:
    """Return the problem of a scheduler to which no connection can be made."""
    address, details = client.address, str(client.last_error or "")
    if address.startswith("tls:") and isinstance(client.last_error, CommClosedError):
        details = str(client.last_error.__cause__ or details)
        message = "the scheduler and this run do not trust each other's certificates"
        hint = "certificates of one authority for scheduler, workers and this run: docs/running.md"
        return Problem("S017", address, message, details, hint)
    if address.startswith("tcp:") and isinstance(client.last_error, CommClosedError) and speaks_tls(address):
        hint = f"--cluster {address.replace('tcp:', 'tls:')}, with certificates: docs/running.md"
        return Problem("S016", address, "the scheduler speaks TLS only", hint=hint)
    hint = "start one there with  dask scheduler  and check that its port can be reached from here"
    return Problem("S010", address, "no Dask scheduler answers", details, hint)


def speaks_tls(address: str) -> bool:
    """Return whether the server at an address speaks TLS, without checking certificates."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = urlsplit(address)
    try:
        with socket.create_connection((url.hostname or "", url.port or 0), CONNECT_TIMEOUT_S) as plain:
            context.wrap_socket(plain).close()
    except OSError:
        return False
    return True


def certificate_problems(address: str) -> list[Problem]:
    """Return a problem if the address needs TLS and Dask's configuration names no certificate for this run; else []."""
    details = "distributed.comm.tls names no ca-file, or no cert and key of the client"
    try:
        if not address.startswith("tls:") or SECURITY().get_connection_args("client")["ssl_context"] is not None:
            return []
    except OSError as error:
        details = f"distributed.comm.tls: {error}"
    hint = "create them, and name them in Dask's configuration: docs/running.md"
    return [Problem("S016", address, "this run has no certificate to speak TLS with", details, hint)]


def in_the_clear(address: str) -> bool:
    """Return whether traffic to an address crosses a network unencrypted.

    Return False if Dask's `require-encryption` is set explicitly to any value.
    """
    url = urlsplit(address)
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(url.hostname or "").is_loopback:
            return False
    configured = dask.config.get("distributed.comm.require-encryption") is not None
    return url.scheme == "tcp" and url.hostname != "localhost" and not configured


def no_worker(client: DaskClient) -> Problem:
    """Return the problem of a scheduler without workers."""
    hint = f"on each machine that is to play:  dask worker {client.address}"
    return Problem("S011", client.address, "this scheduler has no worker", hint=hint)
