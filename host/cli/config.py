"""The command `config`: prints, validates or describes croupier.toml."""

import json
from typing import Any

import click

from host.base.config_file import whole_toml as to_toml
from host.base.format import counted
from host.cli import CliContext, in_folder, print_json

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
    if what == "schema":
        _print_schema(context, file)
        return
    if what == "reference":
        _print_reference(context)
        return
    if what == "check":
        _check(context)
        return
    from host.config.difference import settings_of
    from host.config.tournament_config import load

    tournament = load(context.folder)
    if context.json:
        warnings = [str(warning) for warning in tournament.warnings]
        facts = settings_of(tournament)
        print_json("config", path=str(tournament.path), right=True, warnings=warnings, settings=facts)
        return
    for line in describe_setting(settings_of(tournament)):
        click.echo(line)


def _check(context: CliContext) -> None:
    """Print whether the tournament can be run. Raise UserError for whatever `run` would refuse before it builds a bot."""
    from host.config.difference import settings_of
    from host.config.tournament_config import load
    from host.results.disqualification import rule
    from host.tournament.loading import check_playable

    season = load(context.folder)
    if season.season:
        if context.json:
            print_json("config", path=str(season.path), right=True, warnings=[], settings=settings_of(season))
        else:
            click.echo(f"{season.path} is valid: a season, {season.name}, {season.game}")
        return
    warnings: list[str] = []
    tournament, _, submissions = check_playable(context.folder, warnings.append)
    if context.json:
        facts = settings_of(tournament)
        print_json("config", path=str(tournament.path), right=True, warnings=warnings, settings=facts)
        return
    for warning in warnings:
        click.echo(warning, err=True)
    bots, stages = counted(len(submissions), "bot"), counted(len(tournament.stages), "stage")
    about = f"{tournament.name}, {tournament.game}, {bots}, {stages}"
    click.echo(f"{tournament.path} is valid: {about}")
    if tournament.max_faults:
        click.echo(rule(tournament.max_faults))
    click.echo(in_folder("the bots were not built: croupier build builds them", str(context.folder)))


def _print_schema(context: CliContext, file: str) -> None:
    from host.config.reference import SCHEMAS

    shape = SCHEMAS[file]()
    if context.json:
        print_json("config", schema_of=file, shape=shape)
    else:
        click.echo(json.dumps(shape, indent=1, ensure_ascii=False))


def _print_reference(context: CliContext) -> None:
    from host.config.reference import page

    if context.json:
        print_json("config", page=page())
    else:
        click.echo(page(), nl=False)


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
