"""The kind `pairs`: exactly the meetings that its config lists are played, each with its own number of tables.

The scheduler of a season writes the list of each round; an organiser can write one by hand, too.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from host.base.toml_file import to_toml
from host.base.value_types import Text, TextOrNothing
from host.games.engine import Game
from host.play.records import Fixture
from host.rating.results import Fact
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    TWO_OR_MORE,
    BotCount,
    ChangePolicy,
    Field,
    ImpossibleStageError,
    Kind,
    PairStageConfig,
    Ranked,
    Size,
    Surroundings,
    block_size,
    blocks,
    check_entered,
    meeting_path,
    with_plan,
)

MAX_TABLES = 10_000_000
"""Most tables of a meeting."""

SCORED_TABLES = 100
"""Most tables of a fixture of three bots or more: rankings then read the order of the bots at each table."""

SEPARATOR = "/"
"""The text between the bots of a line. No bot has it in its name."""

LINE = re.compile(r"\s*([0-9]{1,8})\s+(\S.*?)\s*", re.DOTALL)


class ListedMeeting(NamedTuple):
    """A line of the list: a number of tables, and the bots. The first bot has the first seat at the first table."""

    tables: int
    bots: tuple[str, ...]

    @classmethod
    def parse(cls, line: str) -> "ListedMeeting":
        """Return the meeting of a line such as `20 ada / davey`. Raise ValueError if the line has another form."""
        match = LINE.fullmatch(line)
        bots = tuple(bot.strip() for bot in match[2].split(SEPARATOR)) if match else ()
        if match is None or len(bots) < 2 or not all(bots) or not 1 <= int(match[1]) <= MAX_TABLES:
            raise ValueError(f"{to_toml(line)} is not a number of tables and the names of at least two bots")
        return cls(int(match[1]), bots)

    def __str__(self) -> str:
        return f"{self.tables} {f' {SEPARATOR} '.join(self.bots)}"

    def renamed(self, rename: Callable[[str], str]) -> "ListedMeeting":
        """Return the meeting with `rename` applied to the name of each bot."""
        return self._replace(bots=tuple(map(rename, self.bots)))


@lru_cache(maxsize=8)
def listed(lines: Sequence[str]) -> tuple[ListedMeeting, ...]:
    """Return the meetings of a list, in its order. Raise ValueError if a line has another form."""
    return tuple(map(ListedMeeting.parse, lines))


@dataclass(frozen=True)
class Pairs(PairStageConfig):
    """Exactly the listed meetings are played, of two bots or more. Seats rotate from table to table."""

    kind: Literal["pairs"] = "pairs"
    meetings: tuple[Text, ...] = ()
    """The meetings: a number of tables, and the bots, with a slash between them. `list` with a file sets it. A stage needs
    one of the two. Example: `meetings = ["200 ada / davey", "100 ada / neptr"]`"""
    list: TextOrNothing = ""
    """A text file next to croupier.toml with a meeting in each line; `#` begins a comment.
    Example: `list = "meetings.txt"`"""
    rank_by: tuple[Ranked, ...] = ("elo",)
    min_bots: BotCount = 2

    def completed(self) -> "Pairs":
        """Return the stage. Raise ImpossibleStageError if it has no meetings, or two lists of them."""
        if self.meetings and self.list:
            raise ImpossibleStageError("list", "list and meetings both name meetings", "leave out one of the two")
        if not self.meetings and not self.list:
            message, hint = "no meetings are listed", 'list = "meetings.txt", or meetings = ["200 ada / davey"]'
            raise ImpossibleStageError("meetings", message, hint, "C007")
        return self

    def settled(self, around: Surroundings) -> "Pairs":
        """Return the stage with the meetings in its list, from the file or the key, as `meetings`.

        Raise ImpossibleStageError if a line is not a meeting of entered bots, has too many or too few bots for a table,
        or repeats a meeting, and if the list is empty. Raise UserError if the file cannot be read.
        """
        key = "list" if self.list else "meetings"
        lines = around.names_in(self.list) if self.list else self.meetings
        meetings, entered = dict[frozenset[str], str](), {*around.bots()}
        for number, line in enumerate(lines):
            where: tuple[str | int, ...] = (key,) if self.list else (key, number)
            meeting = _parsed(line, where)
            _check_bots(meeting, entered, where)
            _check_seats(meeting, around.game, where)
            if frozenset(meeting.bots) in meetings:
                message = f"{key} lists the meeting of {' and '.join(sorted(meeting.bots))} twice"
                raise ImpossibleStageError(where, message, "one line for all its tables")
            meetings[frozenset(meeting.bots)] = str(meeting)
        if not meetings:
            raise ImpossibleStageError("list", f"{to_toml(self.list)} lists no meetings", '"200 ada / davey"', "C007")
        return replace(self, meetings=tuple(meetings.values()))


def _parsed(line: str, where: tuple[str | int, ...]) -> ListedMeeting:
    try:
        return ListedMeeting.parse(line)
    except ValueError as wrong:
        raise ImpossibleStageError(where, f"{where[0]}: {wrong}", "200 ada / davey", "C009") from None


def _check_bots(meeting: ListedMeeting, entered: Collection[str], where: tuple[str | int, ...]) -> None:
    """Raise ImpossibleStageError if a bot of a meeting is not entered, or meets itself."""
    for number, bot in enumerate(meeting.bots):
        check_entered(bot, entered, where)
        if bot in meeting.bots[:number]:
            message = f"{where[0]}: in {to_toml(str(meeting))} {to_toml(bot)} meets itself"
            raise ImpossibleStageError(where, message, "name each bot once in a line")


def _check_seats(meeting: ListedMeeting, game: Game, where: tuple[str | int, ...]) -> None:
    """Raise ImpossibleStageError if a meeting has too few or too many bots for a table."""
    fewest, most, bots = max(2, game.seats[0]), game.seats[1], len(meeting.bots)
    if not fewest <= bots <= most:
        seats = str(most) if fewest == most else f"{fewest} to {most}"
        message = f"{where[0]}: {to_toml(str(meeting))} has {bots} bots, and a table of {game.name} has {seats} seats"
        raise ImpossibleStageError(where, message, f"name {seats} bots in each line")


def meetings_of(stage: Pairs, bots: Sequence[str]) -> list[ListedMeeting]:
    """Return the listed meetings whose bots all play the stage. An earlier stage may have eliminated some bots."""
    playing = {*bots}
    return [meeting for meeting in listed(stage.meetings) if playing.issuperset(meeting.bots)]


def blocks_of(stage: Pairs, blank: Fixture, meeting: ListedMeeting, meetings: int) -> list[Fixture]:
    """Return the fixtures of a meeting. `meetings` is the number of meetings of the stage."""
    seats = len(meeting.bots)
    block = block_size(stage, meeting.tables, meetings)
    if seats > 2:
        block = min(block, SCORED_TABLES - SCORED_TABLES % seats)
    path = meeting_path(stage, meeting.bots)
    return blocks(with_plan(stage, blank)._replace(path=path, bots=meeting.bots, tables=meeting.tables), block)


def schedule(stage: Pairs, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield the first block of every meeting in the order of the list, then the second blocks, and so on."""
    meetings = meetings_of(stage, field.bots)
    divided = [blocks_of(stage, blank, meeting, len(meetings)) for meeting in meetings]
    longest = max(map(len, divided), default=0)
    fixtures = (each[nth] for nth in range(longest) for each in divided if nth < len(each))
    yield Lazy(sum(map(len, divided)), fixtures)


def size(stage: Pairs, blank: Fixture, bots: int) -> Size:
    """Return the size of a whole stage that all listed bots reach."""
    meetings = listed(stage.meetings)
    fixtures = sum(len(blocks_of(stage, blank, meeting, len(meetings))) for meeting in meetings)
    named = len({*chain.from_iterable(meeting.bots for meeting in meetings)})
    about = f"{len(meetings)} listed {'meeting' if len(meetings) == 1 else 'meetings'} of {named} bots"
    return Size(fixtures, sum(meeting.tables for meeting in meetings), bots, about=about)


PAIRS_LISTED = Kind(
    name="pairs",
    config=Pairs,
    schedule=schedule,
    plays=TWO_OR_MORE,
    size=size,
    own_deals=True,
    changes=ChangePolicy.field_decides("its meetings are listed", leavable=True),
    provides=frozenset({Fact.WINNERS, Fact.MEETINGS, Fact.TABLE_SCORES}),
    scored_tables=SCORED_TABLES,
)
