"""Defines a source of questions: it holds tables, is given answers, and says what each table asks next.

A match knows nothing else of rules that run in another process: those of an organiser's code, of a library, or of a referee.
`source_of` (own_rules.py) opens such a source; only the rules of croupier's own games run in this process.

A source knows nothing of bots, clocks, records or what to do after a failure. It is asked in turn: nobody calls `advance`
before the last call has returned.
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


class Opened(NamedTuple):
    """A table that begins. Its `number` is used by this source only, and only once while the source lives."""

    number: int
    setup: TableSetup  # its rules, and the name that its luck follows from; a source has no use for the bots
    root: bytes  # of all luck of the tournament: a source passes on what is drawn from it, never the root itself

    @property
    def luck(self) -> Shuffler:
        """The randomness of the table, from its beginning."""
        return self.setup.shuffler(self.root)

    @property
    def luck_path(self) -> str:
        """The path of the table's luck. The key of the table is `derive(root, luck_path)` (host/games/luck.py)."""
        return self.setup.luck or self.setup.path


Told = tuple[str, Mapping[str, Any]]
"""An event for spectators, such as `("trick", {"winner": 1})`: its name, and plain values by name."""


class Step(NamedTuple):
    """What a table says when it has been opened, or when all its open questions have been answered.

    Either `requests` are open, to different seats, and are answered together; or the table is over and has `scores`.
    A text for a seat that expects no answer is not part of it: a source puts it before the next question of that seat, into
    the view, because the view is all that a seat is sent.
    """

    requests: tuple[Request, ...] = ()
    scores: Scores | None = None  # of each bot: partners have one score
    illegal: tuple[int, ...] = ()  # which of the answers just given were illegal moves: indexes, from 0
    limits: tuple[float | None, ...] = ()
    """Seconds for the answer to each request, at most those of the bot's own limit; None or () for that limit."""
    told: tuple[Told, ...] = ()  # what happened, in order, before the requests or before the scores
    moves: Moves | None = None  # at the end: what the bots were asked and what followed; None: chance has taken part


class SourceFailed(Exception):
    """Raised when a source has failed: its process died, was silent, or wrote what it must not write.

    The source is not used again after it, and all its tables are lost. No bot is ever to blame.
    """

    def __init__(
        self, reason: str, table: int | None = None, said: bytes = b"", where: str = "", *, lacks: bool = False
    ) -> None:
        """`table` is the number of the table at which it failed; None if the source cannot know.

        `said` is the end of what its process wrote, for people. It comes from a stranger and has at most a few KiB. `where`
        is the file and the line of an organiser's code, if they are known. `lacks`: it had too little time or memory.
        """
        super().__init__(reason)
        self.reason, self.table, self.said, self.where, self.lacks = reason, table, said, where, lacks


class Source(Protocol):
    """A source of questions: holds many tables at once."""

    async def advance(
        self, opened: Sequence[Opened], answers: Mapping[int, Sequence[Answer]], dropped: Collection[int]
    ) -> Mapping[int, Step]:
        """Forget the tables in `dropped`, begin new tables, and give each table in `answers` its answers.

        A table gets an answer to each of its open requests, in their order. Return the progress of each table that was
        opened or answered, by number; a table whose progress has scores is over, and its number is not used again.
        Every progress is checked: its seats are those of the game, each asked once, and there is a score for each bot.
        Raise SourceFailed if any table fails. Raise UserError if the source cannot run here.

        The result must follow from the setup, the luck and the answers of a table alone: after a failure a fresh source
        is given the same answers step by step, and must say the same.
        """
        ...


class SourcePlace(NamedTuple):
    """Where a source runs: at which sandbox level, on which cores, and who measures its memory and CPU time."""

    level: Level
    cores: Sequence[int]  # () for every core of this process
    monitor: "Monitor"


class OpenSource(Protocol):
    """Opens a source, which is closed at the end of the block, with its processes."""

    def __call__(self, place: SourcePlace, /) -> AbstractAsyncContextManager[Source]:
        """Return the block of a source. Entering it raises SourceFailed if it does not start.

        The block opens no nursery and no cancel scope: a worker keeps it open while the blocks of fixtures come and go.
        """
        ...
