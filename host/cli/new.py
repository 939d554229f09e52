"""The command `new`: creates a tournament folder."""

import shlex
from pathlib import Path

import click

from host.base.errors import Problem, UserError, unknown_name
from host.base.format import counted
from host.base.system_errors import file_problem
from host.cli import CliContext, Facts, completers, print_result
from host.ops.bots import find_game


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "-g", "--game", shell_complete=completers.games, required=True, metavar="GAME", help="`croupier games` lists them"
)
@click.option(
    "--kind",
    shell_complete=completers.stage_kinds,
    default="",
    metavar="KIND",
    help="the kind of stage: gauntlet for a course …",
)
@click.option("--with-samples", is_flag=True, help="add the sample bots of the game")
@click.option("--models", is_flag=True, help="bots may ask a language model: add a sample bot that does")
@click.option("--season", is_flag=True, help="a season: people hand in bots, and a ladder of rounds runs")
@click.pass_obj
def new(
    context: CliContext, folder: Path, game: str, kind: str, with_samples: bool, models: bool, season: bool
) -> None:
    """Create the folder of a tournament or of a season."""
    from host.config.reference import write_with_schema
    from host.config.template import template, templates_of
    from host.stages import KINDS, RENAMED_KINDS
    from host.submissions.sample_bots import samples
    from host.submissions.scaffold import asker_files

    found = find_game(game)
    game = found.name
    if (folder / "croupier.toml").exists():
        raise UserError(
            [Problem("C016", str(folder / "croupier.toml"), "already exists", hint="choose another folder")], 2
        )
    kinds, kind = templates_of(found), RENAMED_KINDS.get(kind, kind)
    if kind and kind not in kinds and kind in KINDS:
        hint = f"[[stage]] in croupier.toml takes every kind; `croupier new` writes, for {game}: {', '.join(kinds)}"
        raise UserError([Problem("U001", "", f"--kind {kind}: there is no example of it for {game}", hint=hint)], 2)
    if kind and kind not in kinds:
        raise click.UsageError(f"{unknown_name('kind of stage', kind, kinds)}  (for {game}: {', '.join(kinds)})")
    known = sorted(samples(game))
    guests = bool(kind) and kinds[kind].references is not None  # sample bots are its references
    if guests and with_samples:
        raise click.UsageError(f"--with-samples: the sample bots are the references of a {kind}")
    if season and (kind or with_samples):
        raise click.UsageError("--season: its rounds have their own kind of stage, and people hand in the bots")
    if season and models:
        raise click.UsageError("--season: the bots of a season cannot ask a model yet")
    opponents = max(1, found.seats[0] - 1) if models and not guests else 0
    names = known if with_samples else known[:opponents]
    text = template(found, season or bool(names), names or known, kind, season=season, models=models)
    try:
        (folder if season else folder / "bots").mkdir(parents=True, exist_ok=True)
        if models:
            (folder / "bots" / "asker").mkdir()
            for name, content in asker_files(found).items():
                (folder / "bots" / "asker" / name).write_text(content)
        write_with_schema(folder / "croupier.toml", text)
    except OSError as failed:
        raise UserError([file_problem("created", folder, failed)], 2) from failed
    what = f"a season of {game}" if season else f"a {game} tournament"
    sampled = "" if season else f" with {counted(len(names), 'sample bot')}" if names else ", bots go into bots/"
    steps = ["season invite NAME…", "season open"] if season else ["run"] if names else ["add FILE…", "run"]
    steps = ["doctor --models", "check asker", *steps] if models else steps
    here = f"  croupier -C {shlex.quote(str(folder))}"
    model = [f"  {folder / 'croupier.toml'}: [models.small] says which model bots/asker asks"] if models else []
    lines = [f"{folder}: {what}{sampled}", *model, *(f"{here} {step}" for step in steps)]
    print_result(context, "new", Facts({"folder": str(folder), "game": game, "samples": names}, lines))
