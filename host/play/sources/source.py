"""Defines a source of questions: an object that holds tables, receives answers, and returns the next questions.

A source is all that a match knows of rules in another process: those of an organiser's code, of a library, or of a
referee. `source_of` (own_rules.py) opens such a source. Only the rules of croupier's own games run in this process.

A source knows nothing of bots, clocks and records, and does not recover from failures. Calls never overlap: the caller
of `advance` waits until the last call has returned.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from host.games.engine import Moves, Request, Scores
from host.games.luck import Shuffler
from host.play.table_plans import TableSetup
from host.sandbox.levels import Level
from protocols.wire import Answer

if TYPE_CHECKING:  # commands that only read a journal need no trio
    from host.bots.monitor import Monitor


class NewTable(NamedTuple):
    """A table that begins. `number` names it in this source only. A source never gets the same number twice."""

    number: int
    setup: TableSetup  # the rules, and the path of the luck; a source does not use the bots
    root: bytes  # of all luck of the tournament. A source passes on values drawn from it, never the root itself

    @property
    def luck(self) -> Shuffler:
        """Return the randomness of the table, from its first draw on."""
        return self.setup.shuffler(self.root)

    @property
    def luck_path(self) -> str:
        """Return the path of the table's luck. The key of the table is `derive(root, luck_path)` (host/games/luck.py)."""
        return self.setup.luck or self.setup.path


Told = tuple[str, Mapping[str, Any]]
"""An event for spectators, such as `("trick", {"winner": 1})`: its name, and plain values by name."""


class Step(NamedTuple):
    """The progress of a table after it was opened, or after all its open questions were answered.

    Either `requests` are open, to different seats, and are answered together; or the table is over and has `scores`.
    A text for a seat that needs no answer is not part of a step. The source puts it into the view of the seat's next
    question, in front of the question, because a seat receives nothing but views.
    """

    requests: tuple[Request, ...] = ()
    scores: Scores | None = None  # of each bot: partners have one score
    illegal: tuple[int, ...] = ()  # the indexes, from 0, of the answers just given that were illegal moves
    limits: tuple[float | None, ...] = ()
    """Seconds for the answer to each request. None, or () for all requests, means the bot's own limit.

    A bot never gets more than its own limit.
    """
    told: tuple[Told, ...] = ()  # the events before the requests or before the scores, in order
    moves: Moves | None = None  # opening and moves of a table that is over; None: chance has taken part


class SourceFailed(Exception):
    """Raised when a source has failed: its process died, was silent, or wrote something that is not allowed.

    A source that has failed is not used again, and all its tables are lost. No bot is ever to blame.
    """

    def __init__(
        self, reason: str, table: int | None = None, said: bytes = b"", where: str = "", *, lacks: bool = False
    ) -> None:
        """`table` is the number of the table at which the source failed; None if the source cannot know it.

        `said` is the last output of the process, for people: at most a few KiB, written by a stranger's program.
        `where` is the file and the line of an organiser's code, if they are known. `lacks` is whether the process had
        too little time or memory.
        """
        super().__init__(reason)
        self.reason, self.table, self.said, self.where, self.lacks = reason, table, said, where, lacks


class Source(Protocol):
    """A source of questions. It holds many tables at the same time."""

    async def advance(
        self, opened: Sequence[NewTable], answers: Mapping[int, Sequence[Answer]], dropped: Collection[int]
    ) -> Mapping[int, Step]:
        """Forget the tables in `dropped`, begin new tables, and give each table in `answers` its answers.

        A table gets an answer to each of its open requests, in their order. Return the progress of each table that was
        opened or answered, by number; a table whose progress has scores is over, and its number is not used again. The
        source checks the progress that it returns: every seat is a seat of the game and is asked once, and each bot has
        a score. Raise SourceFailed if any table fails. Raise UserError if the source cannot run here.

        The progress of a table must follow from its setup, its luck and its answers alone: after a failure a fresh
        source is given the same answers step by step, and must return the same steps.
        """
        ...


class SourcePlace(NamedTuple):
    """The place of a source: its sandbox level, its cores, and the monitor that measures its memory and CPU time."""

    level: Level
    cores: Sequence[int]  # () for every core of this process
    monitor: "Monitor"


class OpenSource(Protocol):
    """A function that opens a source for the length of a block."""

    def __call__(self, place: SourcePlace, /) -> AbstractAsyncContextManager[Source]:
        """Return a context manager for a source. Entering it raises SourceFailed if the source does not start.

        Leaving it closes the source and ends its processes. It opens no nursery and no cancel scope: a worker keeps it
        open while it enters and leaves the blocks of several fixtures.
        """
        ...
