"""Defines the protocols between the host and a bot: pure functions without I/O. README.md is the manual."""

from collections.abc import Mapping

from protocols import argv, block, botzone, jsonlines, lines
from protocols.wire import Protocol

PROTOCOLS: Mapping[str, Protocol] = {
    "argv": argv.PROTOCOL,
    "lines": lines.PROTOCOL,
    "json": jsonlines.PROTOCOL,
    "block": block.PROTOCOL,
    "botzone": botzone.PROTOCOL,
    "botzone-simple": botzone.SIMPLE,
}
