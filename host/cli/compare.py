"""The command `compare`: tests whether a new bot is stronger than an old one."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.cli import CliContext, completers, options, print_result

if TYPE_CHECKING:
    from host.cli.bot_arguments import GameAndBots
    from host.games.engine import Game
    from host.rating.statistics import Verdict
    from host.sandbox.levels import Level
    from host.tournament.comparison import Comparison

PROGRESS_INTERVAL_S = 5.0  # between two lines of progress
ELO_LIMIT = 1000


class CompareOptions(NamedTuple):
    """The options of `compare`."""

    bounds: tuple[float, float]
    max_tables: int
    game: str | None
    seed: str | None
    preset: str | None
    workers: int | None
    unsafe: bool


def parse_bounds(_context: click.Context, _option: click.Parameter, text: str) -> tuple[float, float]:
    """Return the two numbers of `--elo 0,10`."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not two numbers, for example 0,10") from None
    if not -ELO_LIMIT <= low < high <= ELO_LIMIT:
        raise click.BadParameter(f"{text!r}: the first must be less than the second, both within {ELO_LIMIT}")
    return low, high


@click.command()
@click.argument("new", shell_complete=completers.bots)
@click.argument("old", shell_complete=completers.bots)
@click.option(
    *("--elo", "bounds"),
    default="0,10",
    show_default=True,
    callback=parse_bounds,
    metavar="LOW,HIGH",
    help="stop when a lead of LOW can be distinguished from one of HIGH",
)
@click.option(
    *("-n", "--games", "--max", "max_tables"),
    type=click.IntRange(1, 10_000_000),
    default=50_000,
    show_default=True,
    help="stop after this many tables",
)
@options.GAME_OPTION
@options.SEED_OPTION
@options.PRESET
@options.WORKERS_OPTION
@options.UNSAFE
@click.pass_obj
def compare(context: CliContext, /, new: str, old: str, **values: Any) -> None:
    """Play a new bot against an old one until a sequential test decides.

    The exit code is 0 if the new bot is stronger, 1 if it is not or the test is undecided, and 5 after ^C.
    """
    result = run_compare(context, new, old, CompareOptions(**values))
    if result is None:
        raise click.exceptions.Exit(5)
    print_result(context, "compare", result)
    raise click.exceptions.Exit(0 if result.verdict.accepted == "H1" else 5 if result.interrupted else 1)


class CompareResult(NamedTuple):
    """The state of a comparison when it ended."""

    game: "Game"
    bots: tuple[str, str]  # new and old
    level: "Level"
    comparison: "Comparison"
    verdict: "Verdict"
    bounds: tuple[float, float]  # in Elo
    interrupted: bool
    seconds: float
    seed: str
    journal: Path

    def json(self) -> dict[str, Any]:
        """Return the comparison as JSON keys."""
        from host.rating.statistics import tables_left

        comparison, verdict = self.comparison, self.verdict
        points, error = comparison.elo
        low, high = comparison.interval
        return {
            "game": self.game.name,
            "new": self.bots[0],
            "old": self.bots[1],
            "accepted": verdict.accepted or None,
            "tables": comparison.tables,
            "won": comparison.won,
            "drawn": comparison.drawn,
            "lost": comparison.lost,
            "elo": {"points": round(points, 2), "low": round(points - error, 2), "high": round(points + error, 2)},
            "lead": {"mean": round(comparison.mean, 4), "low": round(low, 4), "high": round(high, 4)},
            "test": {
                "llr": round(verdict.llr, 4),
                "low": verdict.low,
                "high": verdict.high,
                "elo": list(self.bounds),
            },
            "tables_left": tables_left(verdict, comparison.tables),
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "journal": str(self.journal),
        }

    def text(self) -> Iterator[str]:
        """Yield the comparison as lines."""
        from host.base.format import rough_duration

        comparison = self.comparison
        yield f"{self._decision()} · {rough_duration(self.seconds)}"
        results = f"{comparison.won} won, {comparison.drawn} drawn, {comparison.lost} lost"
        yield f"  {results} · level {self.level.label} · seed {self.seed}"

    def _decision(self) -> str:
        from host.base.format import thousands
        from host.base.safe_text import escape_control_chars
        from host.rating.statistics import tables_left

        new, old = map(escape_control_chars, self.bots)
        low, high = self.bounds
        tables = self.comparison.tables
        after, lead = f"after {thousands(tables)} tables", lead_text(self.game, self.comparison)
        if self.verdict.accepted == "H1":
            better = f"stronger than {old}" if low >= 0 else f"not weaker than {old} by {-low:g} Elo"
            return f"H1 accepted {after}: {new} is {better}: {lead}"
        if self.verdict.accepted == "H0":
            least = f"by {high:g} Elo" if high > 0 else "enough"
            return f"H0 accepted {after}: {new} is not stronger than {old} {least}: {lead}"
        left = tables_left(self.verdict, tables)
        more = f"; about {thousands(left)} more tables would decide it: -n {tables + left}" if left else ""
        return f"undecided {after}: {new} against {old} {lead}{more}"


def run_compare(context: CliContext, new: str, old: str, chosen: CompareOptions) -> CompareResult | None:
    """Play the two bots against each other; return None if ^C came before the first result."""
    import trio

    from host.backends.local import local_workers
    from host.cli.bot_arguments import find_bots
    from host.cli.play import adhoc_journal, adhoc_settings
    from host.cli.progress import Quiet
    from host.play.placement import usable_cores
    from host.results.tournament_dir import seed_text
    from host.stages.adhoc import Adhoc
    from host.tournament.adhoc import adhoc_session
    from host.tournament.comparison import DUEL, run_comparison, sides
    from host.tournament.runner import interruptible

    game = find_bots(context, (new, old), chosen.game).game
    found = find_bots(context, (new, old) * sides(game), game.name)
    stage = Adhoc(name=DUEL, tables=chosen.max_tables)
    rules = adhoc_settings(context, found, stage, preset=chosen.preset, seed=chosen.seed, unsafe=chosen.unsafe)
    journal, view, started = adhoc_journal(context), Quiet(), time.monotonic()
    progress = _Progress(game, silent=context.quiet or context.json)
    seeds: list[str] = []

    async def work() -> bool:
        async with (
            interruptible(view.say) as stop,
            adhoc_session(rules, journal, local_workers, chosen.workers or usable_cores(), view) as session,
        ):
            seeds.append(seed_text(session.seed))
            _warn_of_same_program(found, new, old)
            await run_comparison(session, game, chosen.max_tables, chosen.bounds, progress.report)
        return stop.scope.cancelled_caught

    interrupted = trio.run(work)
    if progress.latest is None:
        return None
    comparison, verdict = progress.latest
    return CompareResult(
        game=game,
        bots=(found.submissions[0].name, found.submissions[1].name),
        level=rules.level,
        comparison=comparison,
        verdict=verdict,
        bounds=chosen.bounds,
        interrupted=interrupted,
        seconds=time.monotonic() - started,
        seed=seeds[0],
        journal=journal,
    )


def _warn_of_same_program(found: "GameAndBots", new: str, old: str) -> None:
    if found.submissions[0].with_keys(name="") == found.submissions[1].with_keys(name=""):
        click.echo(f"WARNING  {new} and {old} are the same program: neither can be stronger", err=True)


class _Progress:
    """Remembers the latest state of a comparison, and prints it every PROGRESS_INTERVAL_S."""

    def __init__(self, game: "Game", *, silent: bool) -> None:
        self.latest: tuple[Comparison, Verdict] | None = None
        self._game, self._silent, self._printed_at = game, silent, time.monotonic()

    def report(self, comparison: "Comparison", verdict: "Verdict") -> None:
        """Store a new state, and print it if it is time."""
        from host.base.format import thousands

        self.latest = comparison, verdict
        now = time.monotonic()
        if self._silent or verdict.accepted or now - self._printed_at <= PROGRESS_INTERVAL_S:
            return
        self._printed_at = now
        goal = verdict.high if verdict.llr > 0 else verdict.low
        way = f"{100 * verdict.llr / goal:.0f} % of the way to {'yes' if verdict.llr > 0 else 'no'}"
        click.echo(f"{thousands(comparison.tables)} tables  {lead_text(self._game, comparison)}  {way}", err=True)


def lead_text(game: "Game", comparison: "Comparison") -> str:
    """Return the lead of the new bot with its interval: in Elo, or in points per table if the game has no winners."""
    if game.winners is None:
        low, high = comparison.interval
        return f"{comparison.mean:+.2f} a table ({low:+.2f} … {high:+.2f})"
    points, error = comparison.elo
    return f"{points:+.1f} Elo ({points - error:+.1f} … {points + error:+.1f})"
