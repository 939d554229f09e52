"""The command `config`: prints, validates or describes croupier.toml."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from host.base.format import counted
from host.base.toml_file import whole_toml as to_toml
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
    return _facts(tournament, [*map(str, tournament.warnings)], describe_setting(settings_of(tournament)))


def _check(context: CliContext) -> Facts:
    """Return that the tournament can be run. Raise UserError for whatever `run` would refuse before it builds a bot."""
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


def describe_setting(settings: dict[str, Any]) -> list[str]:
    """Return settings as lines of a croupier.toml. The keys outside of tables come first."""
    lines = [f"{key} = {to_toml(value)}" for key, value in settings.items() if not is_table(value)]
    for key, value in settings.items():
        for table in value if isinstance(value, list) and is_table(value) else [value] if is_table(value) else []:
            lines += ["", f"[[{key}]]" if isinstance(value, list) else f"[{key}]"]
            lines += [f"{inner} = {to_toml(each)}" for inner, each in table.items()]
    return lines


def is_table(value: Any) -> bool:
    """Return whether a setting is a table or an array of tables."""
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))
