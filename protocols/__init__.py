"""Defines the three protocols between the host and a bot: pure functions without I/O. README.md is the manual."""

from collections.abc import Mapping

from protocols import argv, jsonlines, lines
from protocols.wire import Protocol

PROTOCOLS: Mapping[str, Protocol] = {
    "argv": argv.PROTOCOL,
    "lines": lines.PROTOCOL,
    "json": jsonlines.PROTOCOL,
}
