"""The commands `new`, `add`, `ls`, `build` and `standings`."""

import contextlib
import glob
import json
import os
import shlex
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, completion, print_json

if TYPE_CHECKING:  # pydantic takes longer to import than most commands take
    from host.tournament.config import Tournament


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "-g", "--game", shell_complete=completion.games, required=True, metavar="GAME", help="`croupier games` lists them"
)
@click.option("--with-samples", is_flag=True, help="add the sample bots of the game")
@click.pass_obj
def new(context: CliContext, folder: Path, game: str, with_samples: bool) -> None:
    """Create a tournament folder."""
    from host.cli.common import find_game
    from host.submissions.sample_bots import samples
    from host.tournament.config_template import template

    find_game(game)
    path = context.folder / folder
    if (path / "croupier.toml").exists():
        raise UserError(
            [Problem("C016", str(path / "croupier.toml"), "already exists", hint="choose another folder")], 2
        )
    names = sorted(samples(game)) if with_samples else []
    try:
        (path / "bots").mkdir(parents=True, exist_ok=True)
        (path / "croupier.toml").write_text(template(game, with_samples, names))
    except OSError as failed:
        raise click.UsageError(f"{path} cannot be created: {failed.strerror}") from failed
    if context.json:
        print_json("new", folder=str(path), game=game, samples=names)
    else:
        click.echo(
            f"{path}: a {game} tournament" + (f" with {len(names)} sample bots" if names else ", bots go into bots/")
        )
        here = f"  croupier -C {shlex.quote(str(path))}"
        click.echo(f"{here} run" if names else f"{here} add FILE…\n{here} run")


@click.command()
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="the name of the bot (for one submission only)")
@click.option("--unsafe", is_flag=True, help="build and start the bot without a sandbox")
@click.pass_obj
def add(context: CliContext, submissions: tuple[Path, ...], name: str | None, unsafe: bool) -> None:
    """Add submissions (a file, a folder, a .zip or .tar) to the tournament: copy, build and start them.

    A submission that does not build or start is not added.
    """
    import trio

    from host.base.paths import SAMPLE_PREFIX
    from host.cli.common import find_game, level_in_force
    from host.submissions.archive import import_submission
    from host.submissions.discovery import expand_patterns, load_submissions
    from host.submissions.preflight import prepare_bots
    from host.submissions.sample_bots import sample
    from host.tournament.config import load

    if name and len(submissions) > 1:
        raise click.UsageError("--as names a single submission; several are given")
    tournament = load(context.folder)
    level = level_in_force(tournament.level, unsafe)
    bots = context.folder / "bots"
    new = not bots.exists()
    bots.mkdir(exist_ok=True)
    taken = []
    try:
        for submission in submissions:
            with tempfile.TemporaryDirectory(dir=bots, prefix=".taking-") as making:
                ours = str(submission).startswith(SAMPLE_PREFIX)
                path = sample(str(submission), tournament.game) if ours else context.folder / submission
                copied = import_submission(path, Path(making), name)
                target = bots / copied.name
                (checked,) = load_submissions(
                    [glob.escape(copied.name)], Path(making), tournament.game, tournament.limits
                )
                refuse_duplicate(tournament, context.folder, target, checked.name)
                (bot,) = trio.run(prepare_bots, [checked], find_game(tournament.game), tournament.limits, level)
                copied.rename(target)
            entry = {"bot": bot.name, "path": str(target), "sha256": bot.sha256, "at": time.time()}
            with (bots / ".submissions.jsonl").open("a") as log:
                log.write(json.dumps(entry) + "\n")
            plays = target.absolute() in expand_patterns(tournament.bots, context.folder, tournament.game)
            taken.append(entry | {"plays": plays})
            if not context.json:
                click.echo(f"added {bot.name} as {target}  sha256 {bot.sha256[:16]}…")
            if not plays:
                click.echo(
                    f"WARNING  {target} does not play: `bots` in {tournament.path} does not include it", err=True
                )
    finally:
        if new and not taken:
            bots.rmdir()
    if context.json:
        print_json("add", sandbox=level, rows=taken)


def refuse_duplicate(tournament: "Tournament", folder: Path, target: Path, name: str) -> None:
    """Raise UserError if a file or a bot of this name already exists."""
    from host.submissions.discovery import expand_patterns, load_submission

    if os.path.lexists(target):
        hint = "use --as NAME, or remove the old one"
        raise UserError([Problem("C016", str(target), "already exists", hint=hint)], 3)
    duplicates = []
    for path in expand_patterns(tournament.bots, folder, tournament.game):
        with contextlib.suppress(UserError):  # the problems of other bots are reported when they play
            duplicates += [path] if load_submission(path).name == name else []
    if duplicates:
        message = f'a bot called "{name}" already exists: {duplicates[0]}'
        raise UserError([Problem("C003", str(target), message, hint="name = … in bot.toml")], 3)


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1)
@click.pass_obj
def ls(context: CliContext, names: tuple[str, ...]) -> None:
    """List the bots of the tournament: language, protocol, missing programs, problems."""
    from host.base.safe_text import escape_control_chars
    from host.cli.common import find_entries
    from host.submissions.build import protocol_of
    from host.submissions.discovery import refuse_broken
    from host.submissions.languages import missing
    from host.tournament.config import load

    tournament = load(context.folder)
    entered = find_entries(tournament, context.folder, names)
    rows = [
        {
            "bot": entry.name,
            "language": submission.spec.language if submission else "",
            "protocol": protocol_of(submission.with_keys(game=tournament.game)) if submission else "",
            "path": str(entry.path),
            "author": submission.spec.author if submission else "",
            "missing": missing(submission) if submission else [],
            "problems": [problem.code for problem in entry.problems],
        }
        for entry in entered
        for submission in [entry.submission]
    ]
    if context.json:
        print_json("ls", rows=rows)
        raise click.exceptions.Exit(3 if any(row["problems"] for row in rows) else 0)
    if not rows:
        click.echo("no bots yet: croupier add FILE")
    for row in rows:
        lack = f"   ✗ missing {', '.join(row['missing'])}" if row["missing"] else ""
        lack += f"   ✗ {', '.join(row['problems'])}" if row["problems"] else ""
        path = f"   {escape_control_chars(str(row['path']))}" if context.verbose else ""
        about = f"{escape_control_chars(str(row['bot'])):<24} {row['language']:<8} {row['protocol']:<6}"
        click.echo(f"{about}{path}{lack}".rstrip())
    refuse_broken(entered)


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1)
@click.option("--force", is_flag=True, help="build all bots again")
@click.option("--unsafe", is_flag=True, help="build without a sandbox")
@click.pass_obj
def build(context: CliContext, names: tuple[str, ...], force: bool, unsafe: bool) -> None:
    """Build the bots that are not built yet, in a sandbox."""
    import trio

    from host.base.safe_text import escape_control_chars
    from host.cli.common import find_entries, level_in_force
    from host.submissions.build import build as build_bot
    from host.submissions.build import build_log
    from host.submissions.discovery import refuse_broken
    from host.tournament.config import load

    tournament = load(context.folder)
    level = level_in_force(tournament.level, unsafe)
    problems: list[Problem] = []
    rows, exit_code = [], 0
    for entry in find_entries(tournament, context.folder, names):
        started = time.monotonic()
        try:
            refuse_broken([entry])
            submission = entry.submission
            assert submission is not None  # otherwise refuse_broken has raised
            bot = trio.run(partial(build_bot, submission.with_keys(game=tournament.game), level, force=force))
        except UserError as refused:
            problems += refused.problems
            exit_code = max(exit_code, refused.exit_code)
            continue
        took = time.monotonic() - started
        rows.append({"bot": bot.name, "language": bot.spec.language, "sha256": bot.sha256, "seconds": round(took, 3)})
        if not context.json:
            click.echo(f"  ✓ {escape_control_chars(bot.name):<24} {bot.spec.language:<8} {took:.2f} s")
            if context.verbose and build_log(bot.sha256).exists():
                click.echo(build_log(bot.sha256).read_text())
    if context.json and not problems:
        print_json("build", sandbox=level, rows=rows)
    if problems:
        raise UserError(problems, exit_code)


@click.command()
@click.argument("stage", shell_complete=completion.stages, required=False)
@click.option(
    "--by", type=click.Choice(["bot", "pair", "seat"]), default="bot", help="one row per bot, pair of bots, or seat"
)
@click.option("--csv", "as_csv", is_flag=True, help="print comma-separated values")
@click.pass_obj
def standings(context: CliContext, stage: str | None, by: str, as_csv: bool) -> None:
    """Print the standings with error bars, or the results of each pair, or the advantage of each seat."""
    if by == "bot":
        from host.cli.common import print_standings

        print_standings(context, context.folder, stage, as_csv=as_csv)
        return
    from host.cli.standings_by import print_pairs, print_seats

    if by == "pair":
        print_pairs(context, context.folder, stage, as_csv=as_csv)
    else:
        print_seats(context, context.folder, stage, as_csv=as_csv)
