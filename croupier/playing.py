"""`croupier.play`: lets bots and functions play some tables, and returns the standings."""

import html
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from croupier.functions import Player, executor_of, function_bots
from croupier.session import Bar, Error, errors, folder_of, limits_of, seed_of, session, whole
from host.base.errors import Problem, UserError
from host.base.format import counted
from host.inspect.replay import as_text
from host.inspect.table_lookup import find_table
from host.inspect.table_replays import ReplayedTable, load_table
from host.journal.reader import reading
from host.journal.tournament_dir import seed_text
from host.ops.adhoc import Conditions, PlannedTables, PlayResult, plan_tables, play_tables
from host.ops.bots import find_bots
from host.play.fixture_id import group_of
from host.report.export import COLUMNS, seat_rows
from host.report.terminal import without_colour
from host.results.standings import Row
from host.stages import registry_of_game
from host.tournament.adhoc import AdhocMatch, match_in

Bot = str | PathLike[str] | Player
"""A bot: the path of a file or folder, `sample:NAME`, a bot of the tournament in the folder, or a Python function."""


class Standing(NamedTuple):
    """The place of one bot. `value` is what ranks it, by default its share of tables won or its mean score.

    `low` and `high` are the bounds of the 95 % interval of the value; None if it has none.
    """

    rank: int  # from 1; equal bots share a rank
    bot: str
    language: str
    tables: int
    value: float | None
    low: float | None
    high: float | None
    faults: int

    @classmethod
    def of(cls, row: Row) -> "Standing":
        """Return the standing in a row of the standings."""
        first = row.first
        return cls(row.rank, row.bot, row.language, row.tables, first.value, first.low, first.high, row.costs.faults)


def to_html(rows: Sequence[Standing], value: str, sentences: Sequence[str]) -> str:
    """Return standings as a small HTML table for a notebook."""

    def cell(number: float | None) -> str:
        return "" if number is None else f"{number:.4g}"

    head = "".join(f"<th>{html.escape(title)}</th>" for title in ("#", "bot", "tables", value, "95 %", "faults"))
    body = "".join(
        f"<tr><td>{row.rank}</td><td>{html.escape(row.bot)}</td><td>{row.tables}</td><td>{cell(row.value)}</td>"
        f"<td>{cell(row.low)} … {cell(row.high)}</td><td>{row.faults}</td></tr>"
        for row in rows
    )
    sure = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{sure}"


class PlayedTable:
    """A table that has been played. Its text is what `croupier replay` prints; in a notebook it is a page that plays it.

    `events` are those of `croupier replay --json`: dictionaries with the key `ev`. `scores` are in the order of `bots`,
    the bots by seat.
    """

    def __init__(self, table: ReplayedTable) -> None:
        self._table = table
        self.name: str = table.sitting.path
        self.bots: tuple[str, ...] = tuple(table.sitting.bots)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events from the deal to the scores."""
        return [{"ev": event, **facts} for event, facts in self._table.events]

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores by seat."""
        return tuple(self._table.events[-1].facts["scores"])

    def __str__(self) -> str:
        return "\n".join(as_text(self._table.events, self.bots, self._table.evidence, {}))

    def __repr__(self) -> str:
        return f"<table {self.name}: {dict(zip(self.bots, self.scores, strict=True))}>"

    def _repr_html_(self) -> str:
        from host.report.html_file import page_of  # slow to import

        return (
            '<iframe sandbox="allow-scripts" style="width: 100%; height: 44em; border: 0" '
            f'srcdoc="{html.escape(page_of(self._table))}"></iframe>'
        )


class Result:
    """The standings of bots that have played some tables. Its text is what `croupier play` prints.

    A pickle of it has everything but its tables' events: `table` raises Error there, and after `croupier.close()`.
    """

    def __init__(self, result: PlayResult) -> None:
        self._result: PlayResult | None = result
        settings, match = result.planned.settings, result.match
        self.tables: int = result.planned.tables
        self.seconds: float = result.seconds
        self.seed: str = seed_text(match.seed)
        self.game: str = settings.game.name
        self._game = settings.game
        self.sandbox: str = settings.level.label
        self.bots: tuple[str, ...] = tuple(match.bots)
        """The names of the bots, in the order in which they were given."""
        rows = result.standings.rows
        self.rows: tuple[Standing, ...] = tuple(map(Standing.of, rows))
        self.scores: dict[str, float] = {row.bot: _mean_score(match, row.bot) for row in rows if row.tables}
        """The mean score of each bot at a table, best rank first."""
        self.ranked_by: str = rows[0].ranking.name
        """What ranks the bots: `win_rate` (0 to 1), or `score`."""
        self.faults: dict[str, dict[str, int]] = {
            row.bot: row.costs.faults_by_kind for row in rows if row.costs.faults_by_kind
        }
        """How many faults each bot has, by kind. Bots without faults are left out."""
        self.sure: list[str] = list(result.standings.sentences)
        """How sure the order of neighbours is, one sentence for each pair."""
        self._groups = sorted({group_of(record.path) for record in match.records})
        weakref.finalize(self, _remove_journal, result.journal)

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_text": self._text, "_dicts": self._dicts}
        if self._result is not None and self._result.journal.exists():
            kept["_seats"] = self._seats
        return self.__dict__ | kept | {"_result": None, "_game": None}

    @property
    def values(self) -> dict[str, float | None]:
        """What ranks each bot: see `ranked_by`."""
        return {row.bot: row.value for row in self.rows}

    def interval(self, bot: str) -> tuple[float, float] | None:
        """Return the 95 % interval of what ranks a bot; None if there is none. Raise KeyError for another bot."""
        row = {row.bot: row for row in self.rows}[bot]
        return None if row.low is None or row.high is None else (row.low, row.high)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each bot, with the keys of `croupier play --json`, for example for pandas."""
        return [dict(row) for row in self._dicts]

    def table_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each seat at each table, for example for pandas.

        Its keys are `table` (a name), `seat` (from 0), `bot`, `score`, and `won` and `drawn` (0 or 1; empty in a game
        without winners). Raise Error after `croupier.close()`.
        """
        return [dict(row) for row in self._seats]

    def table(self, which: int | str) -> PlayedTable:
        """Return a table: its number from 1, or its name, as `faults` and `standings` print it.

        In a round robin a number does not say which pair. Raise KeyError if there is no such table, and Error if the tables
        of this result are gone.
        """
        journal, name = self._journal(), str(which)
        if not isinstance(which, str):
            name = f"{self._groups[0]}/{whole('table', which)}"
            if len(self._groups) > 1:
                raise KeyError(f"name the pair, too: {self._groups[0]}/1")
        if (location := find_table([journal], registry_of_game(self._game), name)) is None:
            raise KeyError(which)
        return PlayedTable(load_table(location))

    def _journal(self) -> Path:
        """Return the journal with the tables. Raise Error if it has been deleted."""
        if self._result is None or not self._result.journal.exists():
            why = "the tables of this result are gone: croupier.close() has deleted them, or it is a copy from another process"
            raise Error(UserError([Problem("U001", "", why, hint="play again with its seed")], 2))
        return self._result.journal

    @cached_property
    def _seats(self) -> list[dict[str, Any]]:
        with reading(self._journal(), registry_of_game(self._game)) as journal:
            rows = [dict(zip(COLUMNS, row, strict=True)) for row in seat_rows(journal, None, spoilers=True)]
        return [{key: row[key] for key in ("table", "seat", "bot", "score", "won", "drawn")} for row in rows]

    @cached_property
    def _dicts(self) -> list[dict[str, Any]]:
        return [] if self._result is None else [row.flat() for row in self._result.standings.rows]

    @cached_property
    def _text(self) -> str:
        return "" if self._result is None else without_colour("\n".join(self._result.text()))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{self.tables} tables of {self.game}: {self.values}>"

    def _repr_html_(self) -> str:
        return to_html(self.rows, self.ranked_by, self.sure)


class Interrupted(KeyboardInterrupt):
    """Raised by `croupier.play` at ^C if tables have been played. Its `result` has them."""

    def __init__(self, result: Result, planned: int) -> None:
        played = f"{result.tables} of {counted(planned, 'table')} have been played"
        super().__init__(f"{played}: `result` of this exception has them")
        self.result = result


def _result_so_far(planned: PlannedTables, journal: Path, began: float) -> Result | None:
    """Return what a call that was interrupted has stored; None if that is nothing."""
    if not journal.exists():
        return None
    with reading(journal, registry_of_game(planned.settings.game)) as stored:
        match = match_in(stored)
    tables = sum(max(result.tables for result in record.results.values()) for record in match.records)
    if not tables:
        return None
    return Result(PlayResult(planned._replace(tables=tables), match, time.monotonic() - began, journal))


def _mean_score(match: AdhocMatch, bot: str) -> float:
    results = [record.results[bot] for record in match.records if bot in record.results]
    return sum(result.score for result in results) / sum(result.tables for result in results)


def _remove_journal(journal: Path) -> None:
    """Remove the files of the journal of a result that nobody has any more."""
    for path in journal.parent.glob(f"{journal.name}*"):
        path.unlink(missing_ok=True)


def play(
    game: str | None,
    bots: Sequence[Bot],
    *,
    tables: int = 100,
    seed: int | str | None = None,
    mirror: bool = False,
    preset: str | None = None,
    limits: str | Mapping[str, str] | None = None,
    workers: int | None = None,
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
    progress: bool = True,
) -> Result:
    """Let bots play tables against each other, as `croupier play` does. In a game for two, more bots play a round robin.

    `tables` is the number of tables, or of those of each pair. `game` is None if the bots name it. A `seed` repeats the
    deals. With `mirror`, each deal is played from every seat. `limits` are those of `[limits]`: `{"move": "200ms"}`.
    Paths start at the current directory; limits, rules and sandbox level are those of the tournament in `folder`, if
    there is one. Functions play in this process, with bots in their sandboxes: one table after the other, or with an
    `async` function `workers` (16) tables at the same time. What a function raises is a fault.

    Raise Error where the command prints an error, and Interrupted at ^C if tables have been played.
    """
    began = time.monotonic()
    if isinstance(bots, str):
        raise TypeError(f"bots: a list of bots, not {bots!r}")
    tables = whole("tables", tables, 1)
    places = [place for place, bot in enumerate(bots) if callable(bot)]
    names = tuple(str(bot) for bot in bots if not callable(bot))
    with errors():
        place = folder_of(folder)
        found = find_bots(place, names, game)
        functions = function_bots([bot for bot in bots if callable(bot)], {bot.name for bot in found.submissions})
        chosen = Conditions(
            preset=preset,
            seed=seed_of(seed),
            mirror=mirror,
            limits=limits_of(limits),
            workers=workers,
            unsafe=unsafe,
        )
        players = dict(zip(places, (bot for bot, _ in functions), strict=True))
        planned = plan_tables(place, found, tables, chosen, players)
    own = session()
    executor, journal = executor_of(functions, found.game, own.workers.executor, workers), own.new_journal()
    with Bar(shown=progress) as bar:
        try:
            return Result(own.run(partial(play_tables, planned, journal, executor, bar, began)))
        except KeyboardInterrupt as interrupt:
            if (result := _result_so_far(planned, journal, began)) is None:
                raise
            raise Interrupted(result, planned.tables) from interrupt
