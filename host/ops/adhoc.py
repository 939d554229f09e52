"""Let bots play some tables outside a tournament: choose rules, level and limits, play, and return the standings."""

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from host.backends.placement import usable_cores
from host.base.errors import unknown_name, wrong_usage
from host.base.format import counted
from host.base.safe_text import escape_control_chars
from host.base.toml_file import whole_toml
from host.bots.bot_spec import BuiltBot
from host.config.limits_option import read_limits
from host.games.engine import Game
from host.inspect.replay import as_text
from host.inspect.table_replays import TableLocation, load_table
from host.journal.tournament_dir import seed_text
from host.ops.bots import GameAndBots, tournament_here
from host.ops.level import level_in_force
from host.play.fixture_id import FixtureId
from host.report.terminal import standings_text, text_of
from host.results.standings import StageStandings, stage_standings
from host.rules.catalogue import ref_of
from host.sandbox.levels import DEFAULT_LEVEL
from host.sandbox.limits import Limits
from host.stages import registry_of_game
from host.stages.adhoc import Adhoc
from host.stages.kind import PairStageConfig
from host.stages.round_robin import RoundRobin
from host.tournament.adhoc import AdhocMatch, AdhocSettings, played
from host.tournament.running import Observer
from host.tournament.stage_runner import Executor

MAX_JOURNALS = 20  # of games outside a tournament; older ones are deleted


class Conditions(NamedTuple):
    """Options of a game outside a tournament.

    None means the setting of the folder's tournament, or of the game if there is no tournament, unless a comment says
    otherwise.
    """

    game: str | None = None
    preset: str | None = None
    seed: str | None = None  # None: random
    mirror: bool = False
    limits: str | None = None  # in the form of `--limits`
    workers: int | None = None  # None: one for each core
    logs: Path | None = None  # the folder for what bots write to standard error
    unsafe: bool = False


def adhoc_settings(folder: Path, found: GameAndBots, stage: PairStageConfig, chosen: Conditions) -> AdhocSettings:
    """Return the settings of a game outside a tournament. Defaults come from the tournament in `folder`, if any."""
    tournament, game = tournament_here(folder), found.game
    preset, usual = chosen.preset, tournament.limits if tournament else Limits()
    if preset and preset not in game.presets:
        message = unknown_name(f"preset of {game.name}", preset, game.presets)
        raise wrong_usage(f"{message}  (presets: {', '.join(game.presets)})")
    own = tournament.rules if tournament and tournament.game.name == game.name else game.default_rules
    rules = game.presets[preset] if preset else own
    limits = read_limits(chosen.limits, usual, game) if chosen.limits else usual
    return AdhocSettings(
        game=game,
        rules=rules,
        submissions=[each.within(limits) for each in found.submissions],
        stage=replace(stage, mirror=chosen.mirror or game.chance.shared(rules)),
        seed_text=chosen.seed,
        level=level_in_force(tournament.level if tournament else DEFAULT_LEVEL, chosen.unsafe),
        limits=limits,
        logs=chosen.logs,
    )


class PlannedTables(NamedTuple):
    """The tables that bots will play outside a tournament."""

    settings: AdhocSettings
    tables: int
    workers: int


def plan_tables(
    folder: Path,
    found: GameAndBots,
    tables: int,
    chosen: Conditions,
    functions: Mapping[int, BuiltBot] = MappingProxyType({}),
) -> PlannedTables:
    """Return the plan of `tables` tables of all bots, or of `tables` tables of each pair if a game for two has more bots.

    `functions` are the bots that are functions of this process, by their index among all bots. Raise UserError (exit
    code 2) if the game cannot seat the bots.
    """
    pairs = _pairs(found.game, len(found.submissions) + len(functions))
    one_table = Adhoc(tables=tables)
    stage = RoundRobin(name=one_table.name, tables_per_pair=tables) if pairs > 1 else one_table
    settings = adhoc_settings(folder, found, stage, chosen)._replace(functions=functions)
    tables *= pairs
    return PlannedTables(settings, tables, min(chosen.workers or usable_cores(), tables))


def _pairs(game: Game, bots: int) -> int:
    """Return the number of pairs of bots in a game for two; otherwise 1. Raise UserError if no table seats the bots."""
    low, high = game.seats
    if bots > high == 2:
        return comb(bots, 2)
    if not low <= bots <= high:
        seats = f"{low} to {high}" if low != high else str(low)
        named = f"{bots} {'is' if bots == 1 else 'are'} named"
        raise wrong_usage(f"a table of {game.name} seats {seats} bots; {named}")
    return 1


@dataclass(frozen=True)
class PlayResult:
    """The results of bots that have played some tables outside a tournament."""

    planned: PlannedTables
    match: AdhocMatch
    seconds: float
    journal: Path
    option: str | None = None  # with it, other commands read this journal; None: no command can
    show: bool = False  # whether `text` has the first table

    @cached_property
    def standings(self) -> StageStandings:
        """Return the standings of the bots."""
        return stage_standings(self.match.state, self.match.state.stages[0], self.match.records, self.match.bots)

    def json(self) -> dict[str, Any]:
        """Return the results for JSON output, by key."""
        return {
            "game": self.planned.settings.game.name,
            "sandbox": self.planned.settings.level,
            "seed": seed_text(self.match.seed),
            "tables": self.planned.tables,
            "seconds": round(self.seconds, 3),
            "journal": str(self.journal),
            "rows": [row.flat() for row in self.standings.rows],
            "sure": self.standings.sure,
            "repeated": self.standings.repeated,
            "advice": [each._asdict() for each in self.standings.advice],
        }

    def text(self) -> Iterator[str]:
        """Yield the standings, then the faults of each bot. With `show`, yield the first table before them."""
        rows, advice = self.standings.rows, self.standings.advice
        seed = escape_control_chars(shlex.quote(seed_text(self.match.seed)))
        tables = f"{counted(self.planned.tables, 'table')} in {self.seconds:.1f} s"
        head = f"{tables} · level {self.planned.settings.level.label} · repeat with --seed {seed}"
        if self.show:
            yield from self._first_table()
        yield text_of(
            standings_text(head, rows, self.standings.sentences, advice, self.planned.settings.game.display.unit)
        )
        for row in rows:
            if row.costs.faults:
                kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(row.costs.faults_by_kind.items()))
                more = "" if self.option is None else f" → croupier faults {shlex.quote(row.bot)}{self.option}"
                yield f"{escape_control_chars(row.bot)}: {kinds}{more}"

    def _first_table(self) -> Iterator[str]:
        records, registry = self.match.records, registry_of_game(self.planned.settings.game)
        first = min(records, key=lambda record: FixtureId.parse(record.path).first_table or 0)  # of the first pair
        table = load_table(TableLocation(self.journal, first.path, 0, registry))
        return as_text(table.events, table.sitting.bots, table.evidence)


async def play_tables(
    planned: PlannedTables, journal: Path, executor: Executor, view: Observer, began: float
) -> PlayResult:
    """Play tables outside a tournament, with a new journal. `began` is the time from which the seconds count."""
    match = await played(planned.settings, journal, executor, planned.workers, view)
    return PlayResult(planned, match, time.monotonic() - began, journal)


def adhoc_journal(folder: Path, game: Game) -> Path:
    """Return the path for a new journal. Outside a tournament, delete the oldest journals beyond MAX_JOURNALS.

    If the game has a referee, write its folder into a file beside the journal: commands that read the journal need it.
    """
    journal = _new_journal(folder)
    known, names = ref_of(game), journal.with_suffix(".toml")
    names.unlink(missing_ok=True)
    if known.has_referee:
        names.parent.mkdir(exist_ok=True)
        names.write_text(f"game = {whole_toml(known.folder + '/')}\n")
    return journal


def _new_journal(folder: Path) -> Path:
    if (folder / "croupier.toml").exists():
        return folder / "run" / "play.sqlite"
    journals = folder / ".croupier"
    journals.mkdir(exist_ok=True)
    for old in sorted(journals.glob("play-*.sqlite"))[: -(MAX_JOURNALS - 1)]:
        for path in journals.glob(old.stem + "*"):
            path.unlink(missing_ok=True)
    return journals / f"play-{time.time_ns()}.sqlite"
