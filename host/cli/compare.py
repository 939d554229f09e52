"""The command `compare`: tests whether a new bot is stronger than an old one."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from host.base.format import rough_duration, thousands
from host.base.safe_text import escape_control_chars
from host.cli import STARTED, CliContext, completers, options, print_result
from host.rating.statistics import Verdict, tables_left
from host.sandbox.levels import Level

if TYPE_CHECKING:
    from host.bots.bot_spec import BuiltBot
    from host.cli.bot_arguments import GameAndBots
    from host.games.engine import Game
    from host.tournament.comparison import Comparison

PROGRESS_INTERVAL_S = 5.0  # between two lines of progress
ELO_LIMIT = 1000
EXIT_CODES = {"H1": 0, "H0": 1, "": 8}  # by what the test has accepted


class CompareOptions(NamedTuple):
    """The options of `compare`."""

    bounds: tuple[float, float]
    not_worse: float | None  # chooses the bounds in its way
    max_tables: int
    mirror: bool
    game: str | None
    seed: str | None
    preset: str | None
    workers: int | None
    limits: str | None
    logs: Path | None
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
    "--not-worse",
    type=click.FloatRange(0, ELO_LIMIT, min_open=True),
    metavar="ELO",
    help="succeed unless the new bot is weaker by ELO: the same as --elo -ELO,0",
)
@click.option(
    *("-n", "--games", "--max", "max_tables"),
    type=click.IntRange(1, 10_000_000),
    default=50_000,
    show_default=True,
    help="stop after this many tables",
)
@click.option("--mirror/--no-mirror", default=True, help="play every deal from every seat  [default: --mirror]")
@options.GAME_OPTION
@options.SEED_OPTION
@options.PRESET
@options.WORKERS_OPTION
@options.LIMITS
@options.LOGS
@options.UNSAFE
@click.pass_obj
def compare(context: CliContext, /, new: str, old: str, **values: Any) -> None:
    """Play a new bot against an old one until a sequential test decides.

    The exit code is 0 if the new bot is stronger (with --not-worse: not weaker), 1 if it is not, 8 if the test is undecided,
    and 5 after ^C.
    """
    chosen = CompareOptions(**values)
    if chosen.not_worse is not None:
        if click.get_current_context().get_parameter_source("bounds") is not ParameterSource.DEFAULT:
            raise click.UsageError("--not-worse and --elo both set the bounds of the test: leave out one of the two")
        chosen = chosen._replace(bounds=(-chosen.not_worse, 0.0))
    result = run_compare(context, new, old, chosen)
    if result is None:
        raise click.exceptions.Exit(5)
    print_result(context, "compare", result)
    raise click.exceptions.Exit(
        5 if result.interrupted and not result.verdict.accepted else EXIT_CODES[result.verdict.accepted]
    )


class CompareResult(NamedTuple):
    """The state of a comparison when it ended."""

    game: "Game"
    bots: tuple[str, str]  # new and old
    level: Level
    comparison: "Comparison"
    verdict: Verdict
    bounds: tuple[float, float]  # in Elo
    interrupted: bool
    seconds: float
    seed: str
    journal: Path

    def json(self) -> dict[str, Any]:
        """Return the comparison as JSON keys."""
        comparison, verdict = self.comparison, self.verdict
        points, error = comparison.elo
        low, high = comparison.interval
        return {
            "game": self.game.name,
            "new": self.bots[0],
            "old": self.bots[1],
            "accepted": verdict.accepted or None,
            "tables": comparison.tables,
            "deals": comparison.deals,
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
            "tables_left": None if comparison.repeats.mostly else tables_left(verdict, comparison.tables),
            "different": comparison.repeats.different,
            "sure": self._order(),
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "journal": str(self.journal),
        }

    def text(self) -> Iterator[str]:
        """Yield the comparison as lines."""
        comparison = self.comparison
        yield f"{self._decision()} · {rough_duration(self.seconds)}"
        results = f"{comparison.won} won, {comparison.drawn} drawn, {comparison.lost} lost"
        deals = f" in {thousands(comparison.deals)} deals" if comparison.deals < comparison.tables else ""
        yield f"  {results}{deals} · level {self.level.label} · seed {self.seed}"
        yield f"  {self._order()}"
        if comparison.repeats.sentence:
            yield f"  {comparison.repeats.sentence}"

    def _order(self) -> str:
        """Return how sure the order of the two bots would be in standings."""
        from host.base.safe_text import one_line
        from host.rating.statistics import words

        (new, old), sure = map(one_line, self.bots), self.comparison.sure(self.game)
        return words(new, old, sure) if sure >= 0.5 else words(old, new, 1 - sure)

    def _decision(self) -> str:
        new, old = map(escape_control_chars, self.bots)
        low, high = self.bounds
        tables = self.comparison.tables
        after, lead = f"after {thousands(tables)} tables", lead_text(self.game, self.comparison)
        if self.verdict.accepted == "H1":
            better = f"stronger than {old}" if low >= 0 else f"not weaker than {old} by {-low:g} Elo"
            return f"H1 accepted {after}: {new} is {better}: {lead}"
        if self.verdict.accepted == "H0":
            if high <= 0:
                return f"H0 accepted {after}: {new} is weaker than {old}: {lead}"
            return f"H0 accepted {after}: {new} is not stronger than {old} by {high:g} Elo: {lead}"
        left = None if self.comparison.repeats.mostly else tables_left(self.verdict, tables)
        more = f"; about {thousands(left)} more tables would decide it: -n {tables + left}" if left else ""
        return f"undecided {after}: {new} against {old} {lead}{more}"


def run_compare(context: CliContext, new: str, old: str, chosen: CompareOptions) -> CompareResult | None:
    """Play the two bots against each other; return None if ^C came before the first result."""
    import trio

    from host.backends.local import local_workers
    from host.backends.placement import usable_cores
    from host.cli.bot_arguments import find_bots
    from host.cli.plain_view import Quiet
    from host.cli.play import adhoc_journal, adhoc_settings
    from host.journal.tournament_dir import seed_text
    from host.stages.adhoc import Adhoc
    from host.tournament.adhoc import adhoc_session
    from host.tournament.comparison import DUEL, run_comparison, sides
    from host.tournament.signals import interruptible

    game = find_bots(context, (new, old), chosen.game).game
    found = find_bots(context, (new, old) * sides(game), game.name)
    stage = Adhoc(name=DUEL, tables=chosen.max_tables, mirror=chosen.mirror)
    rules = adhoc_settings(context, found, stage, chosen)
    journal, view = adhoc_journal(context), Quiet()
    progress = _Progress(game, chosen.max_tables, silent=context.quiet or context.json)
    seeds = list[str]()

    async def work() -> bool:
        async with (
            interruptible(view.say) as stop,
            adhoc_session(rules, journal, local_workers, chosen.workers or usable_cores(), view) as session,
        ):
            seeds.append(seed_text(session.seed))
            _warn_of_same_program(found, new, old)
            progress.begin(session.bots)
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
        seconds=time.monotonic() - STARTED,
        seed=seeds[0],
        journal=journal,
    )


def _warn_of_same_program(found: "GameAndBots", new: str, old: str) -> None:
    if found.submissions[0].with_keys(name="") == found.submissions[1].with_keys(name=""):
        click.echo(f"WARNING  {new} and {old} are the same program: neither can be stronger", err=True)


def _without_number(name: str) -> str:
    """Return the name of the bot of which this is another copy: `mine` for `mine#2`."""
    return name.partition("#")[0]


class _Progress:
    """Remembers the latest state of a comparison, and prints it every PROGRESS_INTERVAL_S."""

    def __init__(self, game: "Game", most: int, *, silent: bool) -> None:
        self.latest: tuple[Comparison, Verdict] | None = None
        self._game, self._most, self._silent = game, most, silent
        self._began = self._printed_at = time.monotonic()

    def begin(self, bots: "Sequence[BuiltBot]") -> None:
        """Start the clock, and name the bots that could be asked for several tables at once."""
        from protocols import PROTOCOLS

        self._began = self._printed_at = time.monotonic()
        slow = [bot.name for bot in bots if bot.spec.parallel_tables == 1 and PROTOCOLS[bot.spec.protocol].persistent]
        if slow and not self._silent:
            names = escape_control_chars(", ".join(dict.fromkeys(map(_without_number, slow))))
            click.echo(
                f"faster if its bot.toml says parallel_tables = 64, for a bot that remembers nothing: {names}", err=True
            )

    def report(self, comparison: "Comparison", verdict: Verdict) -> None:
        """Store a new state, and print it if it is time."""
        self.latest = comparison, verdict
        now = time.monotonic()
        if self._silent or verdict.accepted or now - self._printed_at <= PROGRESS_INTERVAL_S:
            return
        self._printed_at = now
        goal = verdict.high if verdict.llr > 0 else verdict.low
        way = f"{100 * verdict.llr / goal:.0f} % of the way to {'yes' if verdict.llr > 0 else 'no'}"
        left = "" if comparison.repeats.mostly else self._time_left(comparison.tables, verdict, now)
        click.echo(f"{thousands(comparison.tables)} tables  {lead_text(self._game, comparison)}  {way}{left}", err=True)

    def _time_left(self, tables: int, verdict: Verdict, now: float) -> str:
        """Return how long the test may take at this speed; "" if it shows no trend."""
        if (left := tables_left(verdict, tables)) is None:
            return ""
        most = self._most - tables
        seconds = min(left, most) * (now - self._began) / tables
        return f"  {'at most' if left > most else 'about'} {rough_duration(seconds)} left"


def lead_text(game: "Game", comparison: "Comparison") -> str:
    """Return the lead of the new bot with its interval: in Elo, or in points per table if the game has no winners."""
    if game.winners is None:
        low, high = comparison.interval
        return f"{comparison.mean:+.2f} a table ({low:+.2f} … {high:+.2f})"
    points, error = comparison.elo
    return f"{points:+.1f} Elo ({points - error:+.1f} … {points + error:+.1f})"
