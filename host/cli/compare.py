"""The command that tells whether a change has made a bot better."""

import time
from typing import TYPE_CHECKING, Any

import click

from host.cli import CliContext, completion, print_json

if TYPE_CHECKING:
    from host.tournament.comparison import Comparison
    from host.tournament.statistics import Verdict

SELDOM = 5.0  # seconds between two lines of progress


def bounds_of(_context: click.Context, _option: click.Parameter, said: str) -> tuple[float, float]:
    """Return the two numbers of `--elo 0,10`."""
    try:
        low, high = (float(part) for part in said.split(","))
    except ValueError:
        raise click.BadParameter(f"{said!r} is not two numbers, 0,10 say") from None
    if not -1000 <= low < high <= 1000:
        raise click.BadParameter(f"{said!r}: the first is to be less than the second, both within 1000")
    return low, high


@click.command()
@click.argument("new", shell_complete=completion.bots)
@click.argument("old", shell_complete=completion.bots)
@click.option("--elo", "bounds", default="0,10", show_default=True, callback=bounds_of, metavar="LOW,HIGH",
              help="it is enough to tell a lead of LOW from one of HIGH")  # fmt: skip
@click.option("-n", "--games", "--max", "most", type=click.IntRange(1, 10_000_000), default=50_000, show_default=True,
              help="tables at the most")  # fmt: skip
@click.option(
    "-g",
    "--game",
    shell_complete=completion.games,
    metavar="GAME",
    help="default: what the bots' manifests or the tournament say",
)
@click.option("--seed", help="32 hexadecimal digits, or any text; default: random")
@click.option("--preset", metavar="NAME", help="the game's rules; default: the tournament's, or the first preset")
@click.option("--workers", type=click.IntRange(1, 1024), help="worker processes; default: one a core")
@click.option("--unsafe", is_flag=True, help="no sandbox at all: only for bots you wrote yourself")
@click.pass_obj
def compare(
    context: CliContext,
    new: str,
    old: str,
    bounds: tuple[float, float],
    most: int,
    game: str | None,
    seed: str | None,
    preset: str | None,
    workers: int | None,
    unsafe: bool,
) -> None:
    """Let a new bot play an old one until a sequential test is sure; exit code 1 when it is not stronger, or not sure."""
    import trio

    from host.backends.local import processes, usable_cores
    from host.cli.author import named, terms_of
    from host.cli.progress import Quiet
    from host.tournament.adhoc import adhoc_session
    from host.tournament.comparison import run_comparison, sides
    from host.tournament.runner import interruptible

    chosen, submissions = named(context, (new, old), game)
    _, submissions = named(context, (new, old) * sides(chosen), chosen.name)
    terms, journal = terms_of(context, chosen, submissions, preset, seed, unsafe=unsafe)
    watch, began, told = Quiet(), time.monotonic(), time.monotonic()
    standing: list[tuple[Comparison, Verdict]] = []
    seeds: list[str] = []

    def heard(duel: "Comparison", verdict: "Verdict") -> None:
        nonlocal told
        standing.append((duel, verdict))
        if time.monotonic() - told > SELDOM and not (context.quiet or context.json or verdict.accepted):
            told = time.monotonic()
            click.echo(f"{_count(duel.tables)} tables  {_lead(chosen, duel)}  {_progress(verdict)}", err=True)

    async def work() -> bool:
        async with (
            interruptible(watch.say) as stop,
            adhoc_session(terms, journal, processes, workers or usable_cores(), watch) as us,
        ):
            seeds.append(us.seed.hex())
            if submissions[0].with_keys(name="") == submissions[1].with_keys(name=""):
                click.echo(
                    f"WARNING  {new} and {old} are the same program: nobody can be sure which is better", err=True
                )
            await run_comparison(us, chosen, most, bounds, heard)
        return stop.scope.cancelled_caught

    interrupted = trio.run(work)
    if not standing:
        raise click.exceptions.Exit(5)
    duel, verdict = standing[-1]
    seconds = time.monotonic() - began
    if context.json:
        _print_as_json(chosen, submissions, duel, verdict, bounds, seconds, str(journal), seeds[0], interrupted)
    else:
        click.echo(_words(chosen, submissions, duel, verdict, bounds, seconds))
        click.echo(f"  {duel.won} won, {duel.drawn} drawn, {duel.lost} lost · level {terms.level} · seed {seeds[0]}")
    raise click.exceptions.Exit(0 if verdict.accepted == "H1" else 5 if interrupted else 1)


def _words(
    game: Any,
    submissions: list[Any],
    duel: "Comparison",
    verdict: "Verdict",
    bounds: tuple[float, float],
    seconds: float,
) -> str:
    from host.base.safe_text import escape_control_chars
    from host.cli.progress import duration
    from host.tournament.statistics import tables_left

    one, other = (escape_control_chars(submission.name) for submission in submissions[:2])
    after = f"after {_count(duel.tables)} tables"
    took = f" · {duration(seconds)}"
    if verdict.accepted == "H1":
        better = f"stronger than {other}" if bounds[0] >= 0 else f"not weaker than {other} by {-bounds[0]:g} Elo"
        return f"H1 accepted {after}: {one} is {better}: {_lead(game, duel)}{took}"
    if verdict.accepted == "H0":
        least = f"by {bounds[1]:g} Elo" if bounds[1] > 0 else "enough"
        return f"H0 accepted {after}: {one} is not stronger than {other} {least}: {_lead(game, duel)}{took}"
    left = tables_left(verdict, duel.tables)
    more = f"; some {_count(left)} tables more would tell, if they go as these: -n {duel.tables + left}" if left else ""
    return f"not sure {after}: {one} against {other} {_lead(game, duel)}{more}{took}"


def _lead(game: Any, duel: "Comparison") -> str:
    """Return by how much the first is ahead, with its interval: Elo, or what a table brings."""
    if game.winners is None:
        low, high = duel.interval
        return f"{duel.mean:+.2f} a table ({low:+.2f} … {high:+.2f})"
    points, error = duel.elo
    return f"{points:+.1f} Elo ({points - error:+.1f} … {points + error:+.1f})"


def _progress(verdict: "Verdict") -> str:
    goal = verdict.high if verdict.llr > 0 else verdict.low
    return f"{100 * verdict.llr / goal:.0f} % of the way to {'yes' if verdict.llr > 0 else 'no'}"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")


def _print_as_json(
    game: Any,
    submissions: list[Any],
    duel: "Comparison",
    verdict: "Verdict",
    bounds: tuple[float, float],
    seconds: float,
    journal: str,
    seed: str,
    interrupted: bool,
) -> None:
    from host.tournament.statistics import tables_left

    points, error = duel.elo
    low, high = duel.interval
    print_json(
        "compare",
        game=game.name,
        new=submissions[0].name,
        old=submissions[1].name,
        accepted=verdict.accepted or None,
        tables=duel.tables,
        won=duel.won,
        drawn=duel.drawn,
        lost=duel.lost,
        elo={"points": round(points, 2), "low": round(points - error, 2), "high": round(points + error, 2)},
        lead={"mean": round(duel.mean, 4), "low": round(low, 4), "high": round(high, 4)},
        test={"llr": round(verdict.llr, 4), "low": verdict.low, "high": verdict.high, "elo": list(bounds)},
        tables_left=tables_left(verdict, duel.tables),
        interrupted=interrupted,
        seconds=round(seconds, 3),
        seed=seed,
        journal=journal,
    )
