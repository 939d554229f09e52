"""Receives files and forms within limits: size, fields, pauses and time. Refused files are removed from the disk."""

import hashlib
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from io import BufferedRandom
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

import trio
from multipart import (
    MultipartError,
    MultipartSegment,
    ParserLimitReached,
    PushMultipartParser,
    parse_options_header,
)
from starlette.requests import ClientDisconnect, Request

from host.base.errors import Problem
from host.base.safe_text import one_line
from host.season.entries.names import submitted_file_name
from host.season.site.errors import RETRY_AFTER_S, Refusal, checked

CHUNK_TIMEOUT_S = 10.0  # for the next bytes of a body
BODY_TIMEOUT_S = 300.0  # for all of a body
MAX_FORM_BYTES = 256 << 10  # of a form without a file, or of a JSON body
MAX_FIELD_BYTES = 64 << 10
MAX_FIELDS = 64
MAX_PARTS = 8  # of a form with a file
MAX_PART_HEADER_BYTES, MAX_PART_HEADERS = 2048, 6
MAX_DISCARDED_BYTES, DISCARD_TIMEOUT_S = 64 << 20, 5.0
UNFINISHED = ".upload-"  # the beginning of the names of files that are being received, in the inbox


class Upload(NamedTuple):
    """A file that was received, and the fields that came with it. Without a file, `size` is 0."""

    path: Path
    file_name: str
    sha256: str
    size: int
    fields: dict[str, str]


async def chunks_of(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the body of a request in chunks. Raise Refusal if it exceeds `limit` bytes, is too slow or incomplete."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    received, end = 0, trio.current_time() + BODY_TIMEOUT_S
    async with aclosing(request.stream()) as stream:
        while True:
            chunk = b""
            with trio.move_on_after(min(CHUNK_TIMEOUT_S, end - trio.current_time())) as patience:
                try:
                    chunk = await anext(stream, b"")
                except ClientDisconnect as ended:
                    raise Refusal(400, Problem("W006", "", "the connection ended before the body did")) from ended
            if patience.cancelled_caught:
                message = f"nothing was received for {CHUNK_TIMEOUT_S:.0f} s, or the body took {BODY_TIMEOUT_S:.0f} s"
                raise Refusal(408, Problem("W006", "", message, hint="send it again"), RETRY_AFTER_S)
            if not chunk:
                return
            received += len(chunk)
            if received > limit:
                raise too_large(limit)
            yield chunk


async def discard(request: Request) -> None:
    """Receive the rest of the body of a refused request, and drop it.

    Many clients do not read a response before they have sent everything. Stop after MAX_DISCARDED_BYTES or
    DISCARD_TIMEOUT_S.
    """
    left = MAX_DISCARDED_BYTES
    with trio.move_on_after(DISCARD_TIMEOUT_S):
        try:
            async with aclosing(request.stream()) as stream:
                async for chunk in stream:
                    left -= len(chunk)
                    if left < 0:
                        return
        except (RuntimeError, ClientDisconnect):  # all was received, or the client has gone
            return


async def small_body(request: Request) -> bytes:
    """Return the body of a form without a file, or of a JSON request.

    Raise Refusal if the body exceeds MAX_FORM_BYTES, is too slow or incomplete.
    """
    body = bytearray()
    async with aclosing(chunks_of(request, MAX_FORM_BYTES)) as chunks:
        async for chunk in chunks:
            body += chunk
    return bytes(body)


async def fields_of(request: Request) -> dict[str, list[str]]:
    """Return the values of a form without a file, by field. Raise Refusal if the body is not such a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise unreadable(f"the body is not a form: content-type {kind or 'missing'}", 415)
    try:
        pairs = parse_qsl(
            (await small_body(request)).decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise unreadable(f"the form cannot be read: {error}") from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


@asynccontextmanager
async def received_file(request: Request, folder: Path, limit: int, file_name: str) -> AsyncIterator[Upload]:
    """Receive the body as a file in a folder, and yield the file with its SHA-256 and size.

    The file is removed after the block, unless the block moves it. Raise Refusal if the body is empty or cannot be
    received.
    """
    async with _new_file(folder) as (path, file):
        checked(submitted_file_name, file_name)
        async with aclosing(chunks_of(request, limit)) as chunks:
            async for chunk in chunks:
                file.write(chunk)
        if not file.tell():
            raise unreadable("the body is empty: it must be the file")
        yield Upload(path, file_name, await _completed(file), file.tell(), {})


@asynccontextmanager
async def received_form(request: Request, folder: Path, limit: int) -> AsyncIterator[Upload]:
    """Receive a form with at most one file, and yield the file with its SHA-256, its size and the fields of the form.

    The file is removed after the block, unless the block moves it. Raise Refusal if the body is not such a form or
    cannot be received.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get("boundary", "")
    if kind != "multipart/form-data" or not 0 < len(boundary) <= 200 or not boundary.isascii():
        raise unreadable("the body is not a form with a file: multipart/form-data with a boundary", 415)
    async with _new_file(folder) as (path, file):
        form = _Form(file)
        parser = PushMultipartParser(
            boundary,
            max_header_size=MAX_PART_HEADER_BYTES,
            max_header_count=MAX_PART_HEADERS,
            max_segment_size=limit,
            max_segment_count=MAX_PARTS,
            strict=True,
        )
        try:
            async with aclosing(chunks_of(request, limit + MAX_FORM_BYTES)) as chunks:
                async for chunk in chunks:
                    for event in parser.parse(chunk):
                        form.take(event)
            parser.close()
        except ParserLimitReached as error:
            if "size" in str(error).lower() and form.in_file:
                raise too_large(limit) from error
            raise unreadable(f"the form is too large: {error}", 413) from error
        except MultipartError as error:
            raise unreadable(f"the form cannot be read: {error}") from error
        yield form.upload(path, await _completed(file))


class _Form:
    """Takes the events of the form's parser: writes the file, and collects the fields."""

    def __init__(self, file: BufferedRandom) -> None:
        self._file, self._file_name = file, ""
        self._fields: dict[str, bytearray] = {}
        self._segment: MultipartSegment | None = None

    @property
    def in_file(self) -> bool:
        """Return whether the part that is being received is a file."""
        return self._segment is not None and self._segment.filename is not None

    def take(self, event: "MultipartSegment | bytes | bytearray | None") -> None:
        """Take an event of the parser: the beginning of a part, some bytes of it, or its end (None).

        Raise Refusal if a field is too long or there twice, or if the form has two files or one in a wrong field.
        """
        if event is None:
            self._segment = None
        elif isinstance(event, MultipartSegment):
            self._begin(event)
        elif self.in_file:
            self._file.write(event)
        else:
            assert self._segment is not None
            field = self._fields[self._segment.name or ""]
            field += event
            if len(field) > MAX_FIELD_BYTES:
                raise unreadable("a field of the form is too long", 413)

    def _begin(self, segment: MultipartSegment) -> None:
        self._segment = segment
        if segment.filename is None:
            if (segment.name or "") in self._fields:
                raise unreadable(f"the form has two fields {one_line(segment.name or '')!r}")
            self._fields[segment.name or ""] = bytearray()
        elif segment.filename:  # a browser sends an empty one if no file was chosen
            if segment.name != "file":
                raise unreadable(f"the form has a file in the field {one_line(segment.name or '')!r}, not in 'file'")
            if self._file_name:
                raise unreadable("the form has two files; an archive can hold several")
            self._file_name = checked(submitted_file_name, segment.filename)

    def upload(self, path: Path, sha256: str) -> Upload:
        """Return the received file and fields. Raise Refusal if a field is not UTF-8, or if the file has no name."""
        try:
            fields = {name: bytes(value).decode() for name, value in self._fields.items()}
        except UnicodeDecodeError as error:
            raise unreadable("a field of the form is not UTF-8") from error
        size = self._file.tell()
        if size and not self._file_name:
            raise unreadable("the file has no name")
        return Upload(path, self._file_name, sha256, size, fields)


@asynccontextmanager
async def _new_file(folder: Path) -> AsyncIterator[tuple[Path, BufferedRandom]]:
    """Create and open a file with a unique name; yield its path and the file.

    Remove the file after the block, unless the block has moved it. Raise Refusal (503) if it cannot be written, also
    when it is closed after the block.
    """
    path = folder / f"{UNFINISHED}{secrets.token_hex(12)}"
    try:
        with path.open("x+b") as file:
            yield path, file
    except OSError as error:
        raise no_room(error) from error
    finally:
        path.unlink(missing_ok=True)


async def _completed(file: BufferedRandom) -> str:
    """Wait until all bytes of a file are on the disk; return its SHA-256."""
    file.flush()
    await trio.to_thread.run_sync(os.fsync, file.fileno())
    file.seek(0)
    return await trio.to_thread.run_sync(lambda: hashlib.file_digest(file, "sha256").hexdigest())


def remove_unfinished(folder: Path) -> None:
    """Remove the incomplete files that a killed site has left in the inbox."""
    for path in folder.glob(f"{UNFINISHED}*"):
        path.unlink(missing_ok=True)


def too_large(limit: int) -> Refusal:
    """Return the refusal of a file above the limit."""
    hint = "remove what the bot does not need: build products, data, .git"
    return Refusal(413, Problem("W005", "", f"the file has more than {limit >> 10} KiB", hint=hint))


def unreadable(message: str, status: int = 400) -> Refusal:
    """Return the refusal of a body that is not of the form that the address expects."""
    return Refusal(status, Problem("W008", "", message, hint="curl -F file=@bot.tar.gz LINK"))


def no_room(error: OSError) -> Refusal:
    """Return the refusal of a file or request that cannot be written, for example because the disk is full."""
    return Refusal(503, Problem("W010", "inbox", f"cannot be written: {error.strerror}"), 60)
