"""Packs the data that the author of a bot may see into one zip: a self-contained page, and the same data as NDJSON."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from host.base.safe_text import escape_control_chars
from host.inspect.packet import Packet, PacketTable
from host.inspect.replay import Event, as_text
from host.report.page import environment

DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the zip. It is fixed, so that the same packet always has the same bytes."""
TABLES_ON_PAGE = 50


def packet_zip(packet: Packet) -> bytes:
    """Return a packet as a zip with index.html, faults.ndjson, slowest.ndjson and tables.ndjson."""
    files = {
        "index.html": page_of(packet).encode(),
        "faults.ndjson": _lines(each._asdict() for each in packet.faults),
        "slowest.ndjson": _lines(each._asdict() for each in packet.slowest),
        "tables.ndjson": _lines(each._asdict() for each in packet.own_tables),
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def page_of(packet: Packet) -> str:
    """Return the page of a packet as HTML. Escape every text that a program wrote."""
    tables = [(each, _text(each)) for each in packet.own_tables[:TABLES_ON_PAGE]]
    return environment().get_template("packet.html").render(packet=packet, tables=tables, safe=escape_control_chars)


def _text(table: PacketTable) -> str:
    """Return the events of a table as lines, with control characters escaped."""
    events = [Event(each["ev"], {key: value for key, value in each.items() if key != "ev"}) for each in table.events]
    return "\n".join(map(escape_control_chars, as_text(events, table.bots, [])))
