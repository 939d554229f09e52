"""Sends one request to the address of a model, and reads an answer of limited size. No redirect is followed."""

import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import h11
import trio

from host.sandbox.limits import ModelAccess

MAX_HEAD_BYTES = 16 << 10
MAX_KEY_BYTES = 4096
CHUNK_BYTES = 64 << 10
LATER = (408, 425, 429)
"""Statuses below 500 after which croupier repeats the request. It also does so after every status from 500."""

OF_THE_ADDRESS = (401, 402, 403, 404, 407)
"""Statuses that mean that the address, the model or the key is wrong. Other statuses from 400 to 499 mean that the
request is wrong."""


class Repeatable(Exception):
    """Raised when the address cannot answer now.

    `after` is the number of seconds that the address asks to wait; 0 if it names none. `status` is the status of its
    answer; 0 if there is no answer.
    """

    def __init__(self, reason: str, after: float = 0.0, status: int = 0) -> None:
        super().__init__(reason)
        self.after, self.status = after, status


class Unusable(Exception):
    """Raised when the address, the key or the answer cannot be used, so that repeating the request does not help.

    `status` is the status of the answer; 0 if it is not the cause.
    """

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class TooLong(Exception):
    """Raised when the answer is longer than the organiser allows."""


class Reply(NamedTuple):
    """An answer of the address: its status, and its whole body."""

    status: int
    body: bytes


def key_of(model: ModelAccess) -> str:
    """Return the key of a model; "" if it needs none. Raise Unusable if it cannot be read."""
    if model.key_env:
        key, where = os.environ.get(model.key_env, ""), f"the variable {model.key_env}"
    elif model.key_file:
        where = f"the file {model.key_file}"
        try:
            with Path(model.key_file).open(errors="replace") as file:
                key = file.read(MAX_KEY_BYTES)
        except OSError as error:
            raise Unusable(f"cannot read {where}: {error.strerror}") from error
    else:
        return ""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise Unusable(f"{where} has no key" if not key else f"{where} has characters that no key has")
    return key


async def ask(model: ModelAccess, body: bytes) -> Reply:
    """Send a request with this body to the model, once, and return the answer.

    Raise Repeatable, Unusable or TooLong if there is no answer that may be passed on to a bot.
    """
    key = key_of(model)
    try:
        reply, after = await _exchange(model, body, key)
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as broken:
        raise Repeatable(
            "the connection broke"
        ) from broken  # not with its message, which may contain the address, or what the address has sent
    except ValueError as wrong:
        raise Unusable("the address cannot be used") from wrong
    if reply.status in LATER or reply.status >= 500:
        raise Repeatable(f"status {reply.status}", after, reply.status)
    if not _reaches_bot(reply.status):
        raise Unusable(f"status {reply.status}", reply.status)
    if key and key.encode() in reply.body:
        raise Unusable("the answer contains the key")
    return reply


def _reaches_bot(status: int) -> bool:
    """Return whether an answer with this status is passed on to the bot."""
    return status == 200 or (400 <= status < 500 and status not in (*LATER, *OF_THE_ADDRESS))


async def _exchange(model: ModelAccess, body: bytes, key: str) -> tuple[Reply, float]:
    """Send a request and read the answer.

    Return the answer, and the seconds that it asks to wait; 0 if it names none.
    """
    where = urlsplit(model.address)
    path = "" if where.scheme == "unix" else where.path.rstrip("/")
    headers = [
        ("Host", where.netloc or "localhost"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "croupier"),
        ("Connection", "close"),
        *([("Authorization", f"Bearer {key}")] if key else []),
    ]
    http = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
    async with await _connected(model.address) as stream:
        head = http.send(h11.Request(method="POST", target=f"{path or '/v1'}/chat/completions", headers=headers))
        await stream.send_all((head or b"") + (http.send(h11.Data(data=body)) or b""))
        http.send(h11.EndOfMessage())
        return await read_message(http, stream.receive_some, model.answer)


async def _connected(address: str) -> trio.abc.Stream:
    """Connect to the address of a model, and return the open connection."""
    where = urlsplit(address)
    if where.scheme == "unix":
        return await trio.open_unix_socket(where.path)
    if where.scheme == "http":
        return await trio.open_tcp_stream(where.hostname or "", where.port or 80)
    return await trio.open_ssl_over_tcp_stream(
        where.hostname or "", where.port or 443, ssl_context=_tls(), https_compatible=True
    )


@cache
def _tls() -> ssl.SSLContext:
    """Return the settings of TLS, with the certificates of this machine. They are cached: reading them takes 20 ms."""
    return ssl.create_default_context()


async def read_message(
    http: h11.Connection, receive: Callable[[int], Awaitable[bytes | bytearray]], most: int
) -> tuple[Reply, float]:
    """Read an answer. Return it, and the seconds that it asks to wait; 0 if it names none.

    If the answer is not passed on to the bot, read only its head. Raise TooLong if its body has more than `most` bytes.
    """
    status, after, parts, size = 0, 0.0, list[bytes](), 0
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(bytes(await receive(CHUNK_BYTES)))
        elif isinstance(event, h11.Response):
            status = event.status_code
            after = _seconds(dict(event.headers).get(b"retry-after", b""))
            if not _reaches_bot(status):
                return Reply(status, b""), after
        elif isinstance(event, h11.Data):
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > most:
                raise TooLong(f"the answer is longer than {most} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return Reply(status, b"".join(parts)), after
        elif isinstance(event, h11.ConnectionClosed):
            raise h11.RemoteProtocolError("closed without an answer")


def _seconds(text: bytes) -> float:
    """Return the seconds of a header retry-after; 0 for a date, because the clocks of both sides may differ."""
    with suppress(ValueError):
        return float(max(int(text[:9]), 0))
    return 0.0
