"""Groups the faults of a journal by bot and kind, with evidence."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import format_limit, longest_answer
from host.bots.values import Evidence
from host.inspect.evidence import time_breakdown, times_json
from host.inspect.visibility import table_of
from host.journal.reader import Journal, UndecidedFixture
from host.play.fixture_id import FixtureId
from host.play.records import after_faults, causes_of_benching, count_faults, joined_to_causes
from host.results.standings import missing_sentence
from host.submissions.diagnosis import cause_of_time_out
from host.submissions.headline import Output
from protocols.wire import FaultKind

MAX_FAULT_STDERR_LINES = 3  # -v prints all
MAX_ANSWER_CHARS = 200
TIME_KEYS = ("milliseconds", "computed_ms", "waited_ms", "overhead_ms", "stalls_ms")


class RecordedFault(NamedTuple):
    """The evidence of one fault."""

    id: int
    decision: str  # TABLE:N
    evidence: Evidence


class FaultGroup(NamedTuple):
    """All faults of one kind of one bot, with the recorded evidence in the order of play. Not every fault has evidence."""

    bot: str
    kind: str
    total: int
    recorded: Sequence[RecordedFault] = ()
    after: Mapping[str, int] = {}  # for the kind `benched`: the number of faults that caused it, by kind
    output: int = 0  # maximum bytes of an answer of the bot; 0 if that is not known

    @property
    def details(self) -> list[str]:
        """Return the different details of the recorded faults, escaped."""
        details = dict.fromkeys(escape_control_chars(fault.evidence.detail) for fault in self.recorded)
        return [detail for detail in details if detail]

    def json(self) -> dict[str, Any]:
        """Return the group as JSON values, by key. A time that was not measured is None.

        A group without evidence has only the keys `bot`, `kind`, `count` and `after`.
        """
        row: dict[str, Any] = {"bot": self.bot, "kind": self.kind, "count": self.total, "after": dict(self.after)}
        if not self.recorded:
            return row
        first, last = self.recorded[0], self.recorded[-1]
        piece = first.evidence
        return row | {
            "first": first.decision,
            "fault": first.id,
            "question": _escaped(piece.question),
            "answer": _escaped(piece.raw)[:MAX_ANSWER_CHARS],
            "stderr": _escaped(piece.stderr),
            "headline": Output(piece.stderr).headline,
            **times_json(piece, TIME_KEYS, lambda time: round(time * 1000, 3)),
            "went": time_breakdown(piece),
            "cause": cause_of_time_out(piece) if piece.kind == FaultKind.TIMEOUT else "",
            "bank_ms": piece.bank,
            "ended": escape_control_chars(piece.ended),
            "details": self.details,
            "last": last.decision,
        }

    def text(self, option: str, *, verbose: bool) -> Iterator[str]:
        """Yield the group as lines, with the evidence of its first recorded fault. For `option`, see `report_lines`."""
        details = f"  ({', '.join([after_faults(self.after)] if self.after else self.details)})"
        details = "" if details == "  ()" else details
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
        if self.kind == FaultKind.FLOOD and self.output:
            yield f"  limit    {format_limit(self.output)} of output for one answer"
        if row["went"]:
            yield f"  time     {row['went']}"
        if row["cause"]:
            yield f"  cause    {row['cause']}"
        if row["bank_ms"] is not None:
            yield f"  bank     {row['bank_ms'] / 1000:.3f} s left when it was asked"
        if row["headline"]:
            yield f"  error    {row['headline']}"
        said = Output(self.recorded[0].evidence.stderr)
        for line in row["stderr"].splitlines() if verbose else said.lines(MAX_FAULT_STDERR_LINES):
            yield f"  stderr   {line}"


def report_lines(
    groups: Sequence[FaultGroup], undecided: Sequence[UndecidedFixture], option: str, *, verbose: bool
) -> Iterator[str]:
    """Yield groups as lines, after a sentence about the fixtures without a result.

    `option` is the option with which other commands read the journal of these faults; "" if they need none.
    """
    if undecided:
        yield missing_sentence([each.why for each in undecided])
    if not groups:
        yield "no faults"
    for group in groups:
        yield from group.text(option, verbose=verbose)


def fault_groups(journal: Journal, bot: str = "", version: int = 0) -> list[FaultGroup]:
    """Return the faults of a journal in one group for each bot and kind, the largest group first.

    A benching follows the faults that caused it. With a version of a bot, from 1, return the faults of that version,
    also in fixtures that no longer count.
    """
    records = [record for _, record in (journal.played_by(bot, version) if version else journal.records())]
    if version:
        records = [record._replace(faults={bot: record.faults.get(bot, {})}) for record in records]
    pieces = journal.evidence_by(bot, version) if version else journal.evidence("WHERE fault.kind != 'slowest'")
    counts, causes = count_faults(records), causes_of_benching(records)
    recorded = defaultdict[tuple[str, str], list[RecordedFault]](list)
    stages = {stage.name: stage for stage in journal.state().configs}
    for fault_id, path, piece in sorted(pieces, key=_order_of_play):
        table = table_of(stages.get(FixtureId.parse(path).stage), path, piece.table)
        recorded[piece.bot, piece.kind].append(RecordedFault(fault_id, f"{table}:{piece.number}", piece))
    outputs = {name: longest_answer(known.limits, known.protocol) for name, known in journal.bots().items()}
    totals = {key: counts[key] or 1 for key in (*counts, *recorded)}
    return [
        FaultGroup(
            *(bot, kind, totals[bot, kind], recorded[bot, kind]),
            after=causes[bot] if kind == FaultKind.BENCHED else {},
            output=outputs.get(bot, 0),
        )
        for bot, kind in joined_to_causes(totals, causes)
    ]


def _order_of_play(row: tuple[int, str, Evidence]) -> tuple[object, int, int]:
    _, path, piece = row
    return FixtureId.parse(path).sort_key, piece.table, piece.number


def _escaped(data: bytes) -> str:
    return escape_control_chars(data.decode(errors="replace"))
