"""The commands `completion` and `config`."""

import json
from typing import Any

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, group, print_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(context: CliContext, shell: str) -> None:
    """Print the completion script for a shell. In ~/.bashrc: eval "$(croupier completion bash)"."""
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    assert completer is not None
    try:
        script = completer(group, {}, "croupier", "_CROUPIER_COMPLETE").source()
    except (OSError, RuntimeError) as error:  # click runs bash to find its version
        problem = Problem("S005", shell, f"completion needs {shell}: {error}", hint=f"apt install {shell}")
        raise UserError([problem], 6) from error
    if context.json:
        print_json("completion", shell=shell, script=script)
    else:
        click.echo(script)


@click.command()
@click.argument("what", type=click.Choice(["show", "schema", "check"]), default="show")
@click.pass_obj
def config(context: CliContext, what: str) -> None:
    """Print croupier.toml with all default values (show), its JSON schema (schema), or whether it is valid (check)."""
    if what == "schema":
        from pydantic import TypeAdapter

        from host.tournament.config import config_model

        shape = TypeAdapter(config_model()).json_schema()
        if context.json:
            print_json("config", schema_of="croupier.toml", shape=shape)
        else:
            click.echo(json.dumps(shape, indent=1))
        return
    from host.tournament.config import load
    from host.tournament.config_diff import canonical

    tournament = load(context.folder)
    bots = [submission.name for submission in tournament.submissions(context.folder)]
    settings = canonical(tournament) | {"name": tournament.name, "bots": bots}
    settings["rules"] = {key: value for key, value in settings["rules"].items() if not isinstance(value, list)}
    settings["sandbox"] = settings["sandbox"] | {"level": tournament.level}
    settings["run"] = settings["run"] | {"workers": tournament.workers or "auto"}
    if context.json:
        warnings = [str(warning) for warning in tournament.warnings]
        print_json("config", path=str(tournament.path), right=True, warnings=warnings, settings=settings)
        return
    if what == "check":
        for warning in tournament.warnings:
            click.echo("WARNING  " + str(warning).removeprefix("error"), err=True)
        count = f"{len(tournament.stages)} stage{'' if len(tournament.stages) == 1 else 's'}"
        click.echo(f"{tournament.path} is valid: {tournament.name}, {tournament.game}, {len(bots)} bots, {count}")
        return
    for line in describe_setting(settings):
        click.echo(line)


def describe_setting(settings: dict[str, Any]) -> list[str]:
    """Return settings as lines of a croupier.toml. The keys outside of tables come first."""
    from host.base.config_file import to_toml

    lines = [f"{key} = {to_toml(value)}" for key, value in settings.items() if not is_table(value)]
    for key, value in settings.items():
        for table in value if isinstance(value, list) and is_table(value) else [value] if is_table(value) else []:
            lines += ["", f"[[{key}]]" if isinstance(value, list) else f"[{key}]"]
            lines += [f"{inner} = {to_toml(each)}" for inner, each in table.items()]
    return lines


def is_table(value: Any) -> bool:
    """Return whether a setting is a table or an array of tables."""
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))
