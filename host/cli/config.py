"""The command `config`: prints, validates or describes croupier.toml."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from host.base.format import counted
from host.base.toml_file import toml_lines
from host.cli import CliContext, Facts, in_folder, print_result

if TYPE_CHECKING:
    from host.config.tournament_config import Tournament

SCHEMA_OF = ("croupier.toml", "bot.toml")


@click.command()
@click.argument("what", type=click.Choice(["show", "check", "schema", "reference"]), default="show")
@click.argument("file", type=click.Choice(SCHEMA_OF), default=SCHEMA_OF[0])
@click.pass_obj
def config(context: CliContext, what: str, file: str) -> None:
    """Print croupier.toml with all default values (show), or whether it is valid (check).

    `check` refuses what `run` refuses before it builds a bot; it does not build the bots.
    `schema` prints the JSON schema of croupier.toml or of bot.toml, and `reference` a page with every key of both.
    """
    match what:
        case "schema":
            result = _schema(file)
        case "reference":
            result = _reference()
        case "check":
            result = _check(context)
        case _:
            result = _settings(context)
    print_result(context, "config", result)


def _facts(tournament: "Tournament", warnings: Sequence[str], lines: Iterable[str]) -> Facts:
    """Return the settings of a tournament or a season as JSON keys, and lines about them."""
    from host.config.difference import settings_of

    path, settings = str(tournament.path), settings_of(tournament)
    return Facts({"path": path, "right": True, "warnings": warnings, "settings": settings}, lines)


def _settings(context: CliContext) -> Facts:
    """Return croupier.toml with all default values."""
    from host.config.difference import settings_of
    from host.config.tournament_config import load

    tournament = load(context.folder)
    return _facts(tournament, [*map(str, tournament.warnings)], toml_lines(settings_of(tournament)))


def _check(context: CliContext) -> Facts:
    """Return the settings of a tournament that can be run, or of a season; print the warnings about a tournament.

    Raise UserError for everything that `run` would refuse before it builds a bot.
    """
    from host.config.tournament_config import load
    from host.results.disqualification import rule
    from host.tournament.loading import check_playable

    season = load(context.folder)
    if season.season:
        return _facts(season, [], [f"{season.path} is valid: a season, {season.name}, {season.game.name}"])
    warnings: list[str] = []
    tournament, _, submissions = check_playable(context.folder, warnings.append)
    if not context.json:
        for warning in warnings:
            click.echo(warning, err=True)
    bots, stages = counted(len(submissions), "bot"), counted(len(tournament.stages), "stage")
    about = f"{tournament.name}, {tournament.game.name}, {bots}, {stages}"
    faults = [rule(tournament.max_faults)] if tournament.max_faults else []
    built = in_folder("the bots were not built: croupier check --all builds them", str(context.folder))
    return _facts(tournament, warnings, [f"{tournament.path} is valid: {about}", *faults, built])


def _schema(file: str) -> Facts:
    """Return the JSON schema of a file."""
    from host.config.reference import SCHEMAS

    shape = SCHEMAS[file]()
    return Facts({"schema_of": file, "shape": shape}, [json.dumps(shape, indent=1, ensure_ascii=False)])


def _reference() -> Facts:
    """Return the page with every key."""
    from host.config.reference import page

    return Facts({"page": page()}, [page().removesuffix("\n")])
