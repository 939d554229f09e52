"""Groups the faults of a journal by bot and kind, with evidence."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host.base.safe_text import escape_control_chars
from host.bots.values import Evidence
from host.inspect.evidence import time_breakdown, times_json
from host.inspect.visibility import table_of
from host.play.fixture_id import FixtureId
from host.play.records import count_faults
from host.results.journal import Journal

MAX_FAULT_STDERR_LINES = 3  # -v prints all
MAX_ANSWER_CHARS = 200
MAX_STDERR_CHARS = 500
TIME_KEYS = ("milliseconds", "computed_ms", "waited_ms", "overhead_ms", "stalls_ms")


class RecordedFault(NamedTuple):
    """The evidence of one fault."""

    id: int
    decision: str  # TABLE:N
    evidence: Evidence


class FaultGroup(NamedTuple):
    """The faults of one kind of one bot, and the recorded evidence, in the order of play. Not every fault has evidence."""

    bot: str
    kind: str
    total: int
    recorded: Sequence[RecordedFault] = ()

    @property
    def details(self) -> list[str]:
        """The different details of the recorded faults."""
        details = dict.fromkeys(escape_control_chars(fault.evidence.detail) for fault in self.recorded)
        return [detail for detail in details if detail]

    def json(self) -> dict[str, Any]:
        """Return the group as JSON keys: a time that was not measured is null.

        A group without evidence has only its bot, kind and count.
        """
        row: dict[str, Any] = {"bot": self.bot, "kind": self.kind, "count": self.total}
        if not self.recorded:
            return row
        first, last = self.recorded[0], self.recorded[-1]
        piece = first.evidence
        return row | {
            "first": first.decision,
            "fault": first.id,
            "question": _escaped(piece.question),
            "answer": _escaped(piece.raw)[:MAX_ANSWER_CHARS],
            "stderr": _escaped(piece.stderr)[-MAX_STDERR_CHARS:],
            **times_json(piece, TIME_KEYS, lambda time: round(time * 1000, 3)),
            "went": time_breakdown(piece),
            "bank_ms": piece.bank,
            "ended": escape_control_chars(piece.ended),
            "details": self.details,
            "last": last.decision,
        }

    def text(self, option: str, *, verbose: bool) -> Iterator[str]:
        """Yield the group as lines, with the evidence of its first recorded fault. `option` names another journal."""
        details = f"  ({', '.join(self.details)})" if self.details else ""
        yield f"{escape_control_chars(self.bot)}  {escape_control_chars(self.kind)}  ×{self.total}{details}"
        if not self.recorded:
            return
        row = self.json()
        first, last = escape_control_chars(row["first"]), escape_control_chars(row["last"])
        table = escape_control_chars(shlex.quote(row["first"].rpartition(":")[0]))
        yield f"  first at {first}, last recorded at {last}"
        yield f"  again    croupier ask fault:{row['fault']}{option}   croupier replay {table}{option}"
        yield f"  asked    {row['question']}"
        ended = row["ended"] or "the process kept running"
        after = "" if row["milliseconds"] is None else f"   after {row['milliseconds']} ms"
        yield f"  wrote    {row['answer']!r}{after}; {ended}"
        if row["went"]:
            yield f"  time     {row['went']}"
        if row["bank_ms"] is not None:
            yield f"  bank     {row['bank_ms'] / 1000:.3f} s left when it was asked"
        for line in row["stderr"].splitlines()[0 if verbose else -MAX_FAULT_STDERR_LINES :]:
            yield f"  stderr   {line}"


class FaultReport(NamedTuple):
    """The faults of a journal in groups, the largest group first."""

    journal: Path
    groups: Sequence[FaultGroup]
    option: str  # makes another command read this journal too; "" if it does so without one
    verbose: bool

    def json(self) -> dict[str, Any]:
        """Return the groups as JSON keys."""
        return {"journal": str(self.journal), "rows": [group.json() for group in self.groups]}

    def text(self) -> Iterator[str]:
        """Yield the groups as lines."""
        if not self.groups:
            yield "no faults"
        for group in self.groups:
            yield from group.text(self.option, verbose=self.verbose)


def fault_groups(journal: Journal) -> list[FaultGroup]:
    """Return the faults of a journal by bot and kind, the largest group first."""
    counts = count_faults(record for _, record in journal.records())
    recorded = defaultdict[tuple[str, str], list[RecordedFault]](list)
    stages = {stage.name: stage for stage in journal.state().configs}
    for fault_id, path, piece in sorted(journal.evidence("WHERE fault.kind != 'slowest'"), key=_order_of_play):
        table = table_of(stages.get(FixtureId.parse(path).stage), path, piece.table)
        recorded[piece.bot, piece.kind].append(RecordedFault(fault_id, f"{table}:{piece.number}", piece))
    groups = [
        FaultGroup(bot=bot, kind=kind, total=counts[bot, kind] or 1, recorded=recorded[bot, kind])
        for bot, kind in dict.fromkeys([*counts, *recorded])
    ]
    return sorted(groups, key=lambda group: -group.total)


def _order_of_play(row: tuple[int, str, Evidence]) -> tuple[object, int, int]:
    _, path, piece = row
    return FixtureId.parse(path).sort_key, piece.table, piece.number


def _escaped(data: bytes) -> str:
    return escape_control_chars(data.decode(errors="replace"))
