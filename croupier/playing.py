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
"""A bot: the path of a file or folder, `sample:NAME`, a bot's name in the folder's tournament, or a Python function."""


class Standing(NamedTuple):
    """The row of one bot in the standings.

    `value` is the value that ranks the bot, by default its share of tables won (0 to 1) or its mean score at a table.
    `low` and `high` are the bounds of its 95 % interval. Each of the three is None if it is not known. `tables` and
    `faults` are numbers.
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
        """Return the standing of the bot in an internal row of the standings."""
        first = row.first
        return cls(row.rank, row.bot, row.language, row.tables, first.value, first.low, first.high, row.costs.faults)


def to_html(rows: Sequence[Standing], value: str, sentences: Sequence[str]) -> str:
    """Return standings as a small HTML table for a notebook. `value` is the title of the column of values."""

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
    """A table that has been played. `str()` returns the text of `croupier replay`; a notebook shows a replay page.

    `name` is the name of the table, for example `play/ada+bob/17`. `bots` are the names of the bots, by seat.
    """

    def __init__(self, table: ReplayedTable) -> None:
        self._table = table
        self.name: str = table.sitting.path
        self.bots: tuple[str, ...] = tuple(table.sitting.bots)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events from the deal to the scores, in order, as `croupier replay --json` has them.

        Each is a dictionary with the name of the event as `ev`; the other keys depend on the event.
        """
        return [{"ev": event, **facts} for event, facts in self._table.events]

    @property
    def scores(self) -> tuple[int, ...]:
        """Return the scores, in the order of `bots`."""
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
    """The standings of bots that have played some tables. `str()` returns the text that `croupier play` prints.

    `rows` has a Standing for each bot, best rank first. `tables` is the number of tables played, `seconds` the time of
    the call. `seed` is the seed as text: `croupier.play` with it repeats the deals. `game` and `sandbox` are the names
    of the game and of the sandbox level.

    A pickle of a result has no events of its tables: `table` raises Error on the copy. `table` also raises Error after
    `croupier.close()`.
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
        """The name of the value that ranks the bots: `win_rate` (0 to 1), or `score` (the mean at a table)."""
        self.faults: dict[str, dict[str, int]] = {
            row.bot: row.costs.faults_by_kind for row in rows if row.costs.faults_by_kind
        }
        """The number of faults by bot, then by kind. Bots without faults are left out."""
        self.sure: list[str] = list(result.standings.sentences)
        """Sentences about the order: notes about the results, if any, then the certainty for each two neighbours."""
        self._groups = sorted({group_of(record.path) for record in match.records})
        weakref.finalize(self, _remove_journal, result.journal)

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_text": self._text, "_dicts": self._dicts}
        if self._result is not None and self._result.journal.exists():
            kept["_seats"] = self._seats
        return self.__dict__ | kept | {"_result": None, "_game": None}

    @property
    def values(self) -> dict[str, float | None]:
        """Return the value that ranks each bot (see `ranked_by`), by bot, best rank first; None if it is not known."""
        return {row.bot: row.value for row in self.rows}

    def interval(self, bot: str) -> tuple[float, float] | None:
        """Return the 95 % interval (low, high) of the value that ranks a bot; None if it has none.

        Raise KeyError if no bot has this name.
        """
        row = {row.bot: row for row in self.rows}[bot]
        return None if row.low is None or row.high is None else (row.low, row.high)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each bot, best rank first, for example for pandas.

        The keys are those of the rows of `croupier play --json`.
        """
        return [dict(row) for row in self._dicts]

    def table_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each seat at each table, for example for pandas.

        The keys are `table` (a name), `seat` (from 0), `bot` (a name), `score`, and `won` and `drawn` (0 or 1; "" in a
        game without winners). Raise Error if the tables of this result are gone: after `croupier.close()`, unless this
        method was called before, and for a copy that was pickled then.
        """
        return [dict(row) for row in self._seats]

    def table(self, which: int | str) -> PlayedTable:
        """Return a table, by its number from 1 or by its name: "ada+bob/17", or as `croupier faults` prints it.

        Raise KeyError if there is no such table, and for a number if several pairs have played: name the pair, too.
        Raise TypeError if `which` is neither a text nor a whole number. Raise Error if the tables of this result are
        gone: `croupier.close()` has deleted them, or this is a copy that was pickled.
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
    """Raised by `croupier.play` at ^C if tables have been played. `result` is the Result of these tables."""

    def __init__(self, result: Result, planned: int) -> None:
        played = f"{result.tables} of {counted(planned, 'table')} have been played"
        super().__init__(f"{played}: `result` of this exception has them")
        self.result = result


def _result_so_far(planned: PlannedTables, journal: Path, began: float) -> Result | None:
    """Return the result of the tables that an interrupted call has stored; None if it has stored none."""
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
    """Remove the files of a journal. Python calls this when the result of the journal no longer exists."""
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
    """Let bots play tables against each other, as `croupier play` does, and return the standings.

    In a game for two, three or more bots play a round robin. `tables` is the number of tables, in a round robin of each
    pair. `game` is the name of a game; None if the bots or the tournament in `folder` name it. A `seed` repeats the
    deals; None: a random one. With `mirror`, each deal is played from every seat. `preset` is the name of a preset of
    the game's rules. `limits` are those of `[limits]`, as texts with a unit: `{"move": "200ms"}`, or the text of
    `--limits`. `workers` is the number of worker processes; None: one for each core. `unsafe` plays without a sandbox.
    `progress` prints the progress to standard error.

    Paths start at the current directory. If `folder` has a tournament, its limits, rules and sandbox level count.
    Functions play in this process, and the bots in their sandboxes: one table after the other, or with an `async`
    function `workers` (16) tables at the same time. An exception that a function raises is a fault of this bot.

    Raise Error where the command prints an error. Raise Interrupted at ^C if tables have been played, otherwise
    KeyboardInterrupt. Raise TypeError if `bots` is a string, or if `tables` or `seed` has a wrong type, and ValueError
    if `tables` is below 1. Raise RuntimeError if a function at a table calls it.
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
