"""The command `check`: checks that bots build, start and answer correctly."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from host.cli import STARTED, CliContext, Facts, completers, options, print_result
from host.sandbox.levels import DEFAULT_LEVEL


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1, metavar="BOT...")
@options.GAME_OPTION
@click.option("--all", "check_all", is_flag=True, help="check all bots of the tournament, then again under load")
@options.LIMITS
@options.LOGS
@options.UNSAFE
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="give a referee the answers at which it failed: a file of run/undecided",
)
@click.pass_obj
def check(
    context: CliContext,
    /,
    names: tuple[str, ...],
    game: str | None,
    check_all: bool,
    bundle: Path | None,
    limits: str | None,
    logs: Path | None,
    unsafe: bool,
) -> None:
    """Check that each bot builds, starts, and answers forty questions in time, readably and the same way twice.

    Illegal moves are reported as notes, not as errors: the rules define their penalty. A bot fails the check if it does
    not build or start, or if an answer is late, unreadable or missing.

    The folder of a game with game.toml is a referee: it must say the same in every process, for every order of tables.
    So is a referee for another runner, by its name in croupier.toml: botzone:judge/
    """
    import trio

    from host.ops.checking import CheckOptions, check_bots, find_candidates, find_entrants
    from host.rules.foreign import is_foreign

    if referees := [name for name in names if is_foreign(name) or (Path(name) / "game.toml").is_file()]:
        if len(referees) < len(names) or check_all:
            raise click.UsageError("check the folder of a game alone, and its bots with -g FOLDER")
        _check_referees(context, referees, bundle, unsafe)
    if bundle is not None:
        raise click.UsageError("--bundle is for the folder of a game with a game.toml")
    if bool(names) == check_all:
        raise click.UsageError("--all checks all bots: do not name any" if names else "name a bot, or use --all")
    candidates = find_entrants(context.folder) if check_all else find_candidates(context.folder, names, game)
    chosen = CheckOptions(loaded=check_all, limits=limits, logs=logs, unsafe=unsafe)
    result = trio.run(check_bots, context.folder, candidates, chosen, STARTED)
    print_result(context, "check", result)
    raise click.exceptions.Exit(0 if result.accepted else 1)


def _check_referees(context: CliContext, places: Sequence[str], bundle: Path | None, unsafe: bool) -> NoReturn:
    """Check referees, or play the table of `bundle` again with one referee. Print the result, and exit with 0 or 1."""
    import trio

    from host.ops.level import level_in_force
    from host.ops.referees import check_referees, replay_failed

    level = level_in_force(DEFAULT_LEVEL, unsafe)
    if bundle is not None:
        if len(places) > 1:
            raise click.UsageError("--bundle is for one folder")
        again = trio.run(replay_failed, places[0], level, bundle)
        print_result(context, "check", again)
        raise click.exceptions.Exit(0 if again.accepted else 1)
    reports = trio.run(check_referees, places, level, STARTED)
    facts = {"sandbox": level, "referees": [report.json() for report in reports]}
    print_result(context, "check", Facts(facts, (line for report in reports for line in report.text())))
    raise click.exceptions.Exit(0 if all(report.accepted for report in reports) else 1)
