"""Defines the progress of a stage, which a run reports and views show."""

from collections.abc import Sequence
from typing import NamedTuple

from host.play.records import Record
from host.stages.kind import StageConfig


class AllMeet(NamedTuple):
    """A stage in which every two bots meet, and its bots."""

    stage: StageConfig
    bots: Sequence[str]


class Progress(NamedTuple):
    """The progress of a stage: reported once before the first fixture, and after every fixture."""

    stage: str
    done: int
    known: int  # fixtures played and due
    record: Record | None
    more: bool = False  # whether more fixtures may follow: in a knockout each set decides what comes next
    all_meet: AllMeet | None = None  # None: not every two bots of the stage meet
