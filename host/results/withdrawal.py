"""Finds the bots that an organiser has withdrawn from a stage: what the schedule, the places and the standings leave out."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from host.play.records import Record
from host.results.changes import withdrawn
from host.results.journal import Journal
from host.stages import kind_of
from host.stages.kind import StageConfig

NOTE = "withdrawn"


class Withdrawn(NamedTuple):
    """The bots that are withdrawn when a stage begins, and those when the next one begins, or now.

    A withdrawal after the next stage has begun does not change which bots play that one.
    """

    before: Collection[str] = ()
    during: Collection[str] = ()

    def entered(self, order: Sequence[str]) -> list[str]:
        """Return the bots that begin the stage."""
        return [bot for bot in order if bot not in self.before]

    def left(self, order: Sequence[str]) -> tuple[str, ...]:
        """Return the bots that begin the stage and then leave it."""
        return tuple(bot for bot in self.entered(order) if bot in self.during)


def withdrawn_in(journal: Journal, stages: Sequence[StageConfig], number: int) -> Withdrawn:
    """Return the bots that are withdrawn from stage `number`, from 0."""
    changes = journal.changes()
    if not changes:
        return Withdrawn()
    begins = [journal.first_number(stage.name) for stage in stages[number:]]
    before, during = (
        withdrawn(change for change in changes if end is None or change.after < end)
        for end in (begins[0], min((begin for begin in begins[1:] if begin is not None), default=None))
    )
    return Withdrawn(frozenset(before), frozenset(during))


def withdrawn_now(facts: Mapping[str, str]) -> frozenset[str]:
    """Return the withdrawn bots, from the metadata of a run."""
    return frozenset(json.loads(facts.get("withdrawn", "[]")))


def left_out(stage: StageConfig, out: Iterable[str]) -> frozenset[str]:
    """Return the bots whose tables do not count if these bots are withdrawn.

    If other fixtures depend on the tables of a withdrawn bot, they count: they have decided who met whom.
    """
    return frozenset(out) if kind_of(stage).leavable else frozenset()


def counting(stage: StageConfig, records: Iterable[Record], out: Collection[str]) -> list[Record]:
    """Return the records that count if these bots are withdrawn."""
    gone = left_out(stage, out)
    return [record for record in records if gone.isdisjoint(record.results)] if gone else list(records)
