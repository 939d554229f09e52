"""Leaves out the records of the bots that an organiser has withdrawn from a stage."""

from collections.abc import Collection, Iterable

from host.play.records import Record
from host.stages import kind_of
from host.stages.kind import StageConfig

NOTE = "withdrawn"


def left_out(stage: StageConfig, out: Iterable[str]) -> frozenset[str]:
    """Return the withdrawn bots whose tables do not count: all bots in `out`, or an empty set.

    The set is empty for a kind of stage in which other fixtures depend on the tables of a withdrawn bot, for example
    because these tables decided which bots met later.
    """
    return frozenset(out) if kind_of(stage).changes.leavable else frozenset()


def counting(stage: StageConfig, records: Iterable[Record], out: Collection[str]) -> list[Record]:
    """Return the records that count if the bots in `out` are withdrawn. Undecided fixtures are among them."""
    absent = left_out(stage, out)
    return [record for record in records if absent.isdisjoint(record.results)] if absent else list(records)
