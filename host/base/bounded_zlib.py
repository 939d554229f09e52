"""Decompresses data from a stranger's file up to a limit. One megabyte of zlib data can expand to one gigabyte."""

import zlib

MAX_UNPACKED_BYTES = 256 << 20  # of one fixture's answers, scores or seats, or of a bundle


def decompress(squeezed: bytes, limit: int = MAX_UNPACKED_BYTES) -> bytes:
    """Return the decompressed bytes. Raise ValueError if they are more than `limit`, zlib.error if they are damaged."""
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(squeezed, limit + 1)
    if len(found) > limit:
        raise ValueError(f"compressed data of more than {limit} bytes")
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return found
