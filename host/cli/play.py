"""The command `play`: lets bots play some tables outside a tournament."""

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import comb
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from host.base.format import counted
from host.base.safe_text import escape_control_chars
from host.cli import STARTED, CliContext, completers, options, print_result, unknown_name
from host.cli.common import level_in_force
from host.cli.journals import journal_option
from host.play.fixture_id import FixtureId
from host.sandbox.levels import DEFAULT_LEVEL
from host.sandbox.limits import Limits

if TYPE_CHECKING:
    from host.bots.bot_spec import BuiltBot
    from host.cli.bot_arguments import GameAndBots
    from host.games.engine import Game
    from host.results.standings import StageStandings
    from host.stages.kind import PairStageConfig
    from host.tournament.adhoc import AdhocMatch, AdhocSettings

MAX_JOURNALS = 20  # of games outside a tournament; older ones are deleted


class PlayOptions(NamedTuple):
    """The options of `play`."""

    tables: int
    game: str | None
    seed: str | None
    preset: str | None
    mirror: bool
    workers: int | None
    show: bool
    limits: str | None
    logs: Path | None
    unsafe: bool


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1, required=True, metavar="BOT...")
@click.option(
    "-n",
    "tables",
    type=click.IntRange(1, 10_000_000),
    default=100,
    show_default=True,
    help="tables to play, or to play by each pair",
)
@options.GAME_OPTION
@options.SEED_OPTION
@options.PRESET
@click.option("--mirror", is_flag=True, help="play every deal from every seat, so that luck counts less")
@options.WORKERS_OPTION
@click.option("--show", is_flag=True, help="print the first table")
@options.LIMITS
@options.LOGS
@options.UNSAFE
@click.pass_obj
def play(context: CliContext, /, names: tuple[str, ...], **values: Any) -> None:
    """Let bots play against each other, and print the standings with error bars. Faults do not change the exit code.

    In a game for two, three or more bots play a round robin: every pair plays the tables.
    """
    chosen = PlayOptions(**values)
    print_result(context, "play", play_tables(context, names, chosen))


class PlayResult(NamedTuple):
    """The standings of bots that have played some tables."""

    planned: "PlannedTables"
    match: "AdhocMatch"
    seconds: float
    journal: Path
    standings: "StageStandings"
    option: str  # makes another command read this journal too; "" if it does so without one
    show: bool  # whether its text has the first table

    def json(self) -> dict[str, Any]:
        """Return the standings as JSON keys."""
        from host.journal.tournament_dir import seed_text

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
        """Yield the standings, and how to list the faults; with `show` the first table is above them."""
        from host.journal.tournament_dir import seed_text
        from host.report.terminal import standings_text, text_of

        rows, advice = self.standings.rows, self.standings.advice
        seed = escape_control_chars(shlex.quote(seed_text(self.match.seed)))
        played = f"{counted(self.planned.tables, 'table')} in {self.seconds:.1f} s"
        head = f"{played} · level {self.planned.settings.level.label} · repeat with --seed {seed}"
        if self.show:
            yield from self._first_table()
        yield text_of(
            standings_text(head, rows, self.standings.sentences, advice, self.planned.settings.game.display.unit)
        )
        for row in rows:
            if row.costs.faults:
                kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(row.costs.faults_by_kind.items()))
                yield f"{escape_control_chars(row.bot)}: {kinds} → croupier faults {shlex.quote(row.bot)}{self.option}"

    def _first_table(self) -> Iterator[str]:
        from host.inspect.replay import as_text
        from host.inspect.table_replays import TableLocation, load_table
        from host.stages import registry_of_game

        records, registry = self.match.records, registry_of_game(self.planned.settings.game.name)
        first = min(records, key=lambda record: FixtureId.parse(record.path).first_table or 0)  # of the first pair
        table = load_table(TableLocation(self.journal, first.path, 0, registry))
        yield from as_text(table.events, table.sitting.bots, table.evidence)


def play_tables(context: CliContext, names: tuple[str, ...], chosen: PlayOptions) -> PlayResult:
    """Play tables between the bots of these names. Raise UsageError if their number does not fit the game."""
    import trio

    from host.backends.local import local_workers
    from host.backends.placement import usable_cores
    from host.cli.bot_arguments import find_bots
    from host.cli.progress import progress_view
    from host.results.standings import stage_standings
    from host.tournament.adhoc import played

    found = find_bots(context, names, chosen.game)
    planned = plan_tables(context, found, chosen)
    journal = adhoc_journal(context)
    workers = min(chosen.workers or usable_cores(), planned.tables)
    with progress_view("none" if context.json or planned.tables <= 2 else "auto", quiet=context.quiet) as view:
        match = trio.run(played, planned.settings, journal, local_workers, workers, view)
    return PlayResult(
        planned=planned,
        match=match,
        seconds=time.monotonic() - STARTED,
        journal=journal,
        standings=stage_standings(match.state, match.state.stages[0], match.records, match.bots),
        option=journal_option(context, journal),
        show=chosen.show,
    )


class PlannedTables(NamedTuple):
    """What `play` will play, and the number of its tables."""

    settings: "AdhocSettings"
    tables: int


def plan_tables(
    context: CliContext,
    found: "GameAndBots",
    chosen: PlayOptions,
    functions: "Mapping[int, BuiltBot]" = MappingProxyType({}),
) -> PlannedTables:
    """Return the tables that bots, and functions of this process, will play. Raise UsageError if no table seats them."""
    from host.stages.adhoc import Adhoc
    from host.stages.round_robin import RoundRobin

    pairs = _check_seats(found.game, len(found.submissions) + len(functions))
    one_table = Adhoc(tables=chosen.tables, mirror=chosen.mirror)
    each_pair = RoundRobin(name=one_table.name, tables_per_pair=chosen.tables, mirror=chosen.mirror)
    settings = adhoc_settings(context, found, each_pair if pairs > 1 else one_table, chosen)
    return PlannedTables(settings._replace(functions=functions), chosen.tables * pairs)


def _check_seats(game: "Game", bots: int) -> int:
    """Return the number of pairs that play: 1, or more in a game for two. Raise UsageError if no table seats the bots."""
    low, high = game.seats
    if bots > high == 2:
        return comb(bots, 2)
    if not low <= bots <= high:
        seats = f"{low} to {high}" if low != high else str(low)
        named = f"{bots} {'is' if bots == 1 else 'are'} named"
        raise click.UsageError(f"a table of {game.name} seats {seats} bots; {named}")
    return 1


class AdhocOptions(Protocol):
    """The options of `play` and `compare` that say how bots play outside a tournament."""

    @property
    def preset(self) -> str | None: ...
    @property
    def seed(self) -> str | None: ...
    @property
    def limits(self) -> str | None: ...
    @property
    def logs(self) -> Path | None: ...
    @property
    def unsafe(self) -> bool: ...


def adhoc_settings(
    context: CliContext, found: "GameAndBots", stage: "PairStageConfig", chosen: AdhocOptions
) -> "AdhocSettings":
    """Return the rules, level and limits of a game outside a tournament; those of the tournament here, if there is one."""
    from host.cli.bot_arguments import tournament_here
    from host.config.limits_option import read_limits
    from host.tournament.adhoc import AdhocSettings

    tournament, game = tournament_here(context), found.game
    preset, usual = chosen.preset, tournament.limits if tournament else Limits()
    if preset and preset not in game.presets:
        message = unknown_name(f"preset of {game.name}", preset, game.presets)
        raise click.UsageError(f"{message}  (presets: {', '.join(game.presets)})")
    own = tournament.rules if tournament and tournament.game == game.name else next(iter(game.presets.values()))
    rules = game.presets[preset] if preset else own
    limits = read_limits(chosen.limits, usual, game) if chosen.limits else usual
    return AdhocSettings(
        game=game,
        rules=rules,
        submissions=[each.within(limits) for each in found.submissions],
        stage=replace(stage, mirror=stage.mirror or game.chance.shared(rules)),
        seed_text=chosen.seed,
        level=level_in_force(tournament.level if tournament else DEFAULT_LEVEL, chosen.unsafe),
        limits=limits,
        logs=chosen.logs,
    )


def adhoc_journal(context: CliContext) -> Path:
    """Return the path of a new journal. Outside a tournament, the oldest journals beyond MAX_JOURNALS are deleted."""
    if (context.folder / "croupier.toml").exists():
        return context.folder / "run" / "play.sqlite"
    folder = context.folder / ".croupier"
    folder.mkdir(exist_ok=True)
    for old in sorted(folder.glob("play-*.sqlite"))[: -(MAX_JOURNALS - 1)]:
        for path in folder.glob(old.stem + "*"):
            path.unlink(missing_ok=True)
    return folder / f"play-{time.time_ns()}.sqlite"
