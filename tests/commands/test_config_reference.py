"""docs/configuration.md and the JSON schemas: complete, right, and equal to what the types say."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, croupier, environment
from helpers import offenders
from jsonschema import Draft202012Validator

from host.base.config_file import load_model
from host.base.toml_file import parse
from host.bots.bot_spec import BotSpec
from host.config.reference import (
    CONFIG_TABLES,
    SCHEMAS,
    KeyDescription,
    bot_keys,
    keys_of,
    rule_keys,
    schema_of_bot,
    schema_of_config,
    stage_keys,
)
from host.config.template import template
from host.config.tournament_config import ConfigFile
from host.games import GAMES
from host.stages import KINDS
from host.submissions.languages import LANGUAGES

RANKINGS_PAGE = Path(__file__).parents[2] / "docs" / "rankings.md"
PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"

TABLE_OF_RANKINGS = """
from host.rating.rankings import RANKINGS
from host.stages import KINDS
print("| word | value | 95 % interval | needs | kinds of stage |")
print("|---|---|---|---|---|")
for word, ranking in RANKINGS.items():
    kinds = [f"`{name}`" for name, kind in KINDS.items() if not kind.lacks(ranking)]
    needs = "; ".join(fact.value for fact in ranking.needs) or "nothing"
    suitable = "all" if len(kinds) == len(KINDS) else ", ".join(kinds)
    print(f"| `{word}` | {ranking.value} | {ranking.interval or 'none'} | {needs} | {suitable} |")
"""


def test_the_page_is_what_the_types_say() -> None:
    words = [*CROUPIER, "config", "reference"]  # another process, in which no test has registered a kind of stage
    printed = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stdout
    assert PAGE.read_text() == printed, "croupier config reference > docs/configuration.md"


def test_the_table_of_rankings_is_what_the_kinds_and_rankings_say() -> None:
    words = [sys.executable, "-P", "-c", TABLE_OF_RANKINGS]  # another process, as above
    table = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stdout
    assert table in RANKINGS_PAGE.read_text(), table


def every_key() -> Iterator[tuple[str, KeyDescription]]:
    """Yield each key with the lines of a file above it; a `%s` stands for the line of the key."""
    top = 'game = "pazaak"\n'
    for key in keys_of(ConfigFile):
        yield ("%s\n" if key.name == "game" else top + "%s\n"), key
    for name in KINDS:
        for key in [each for each in stage_keys(name) if each.name != "kind"]:
            yield f'{top}[[stage]]\nkind = "{name}"\n%s\n', key
    for name, model, usual in CONFIG_TABLES:
        for key in keys_of(model, usual):
            yield f"{top}[{name}]\n%s\n", key
    for game in GAMES.values():
        for key in rule_keys(game):
            yield f'game = "{game.name}"\n[rules]\n%s\n', key
    for key in bot_keys():
        yield "bot:%s\n", key


def test_every_key_is_described_and_its_example_is_valid() -> None:
    assert not offenders(check_key, every_key())


def check_key(lines: str, key: KeyDescription) -> None:
    """Check the text and the example of a key."""
    assert key.text.endswith((".", ")")) and len(key.text) > 10
    assert key.example.startswith(f"{key.name} = ")
    text = lines.removeprefix("bot:") % key.example
    model: Any = BotSpec if lines.startswith("bot:") else ConfigFile
    load_model(parse(text.encode(), "file.toml"), model)
    shape = SCHEMAS["bot.toml" if model is BotSpec else "croupier.toml"]()
    assert not [error.message for error in Draft202012Validator(shape).iter_errors(tomllib.loads(text))]


def errors_in(shape: dict[str, Any], text: str) -> list[str]:
    """Return the messages of a JSON schema about a TOML text."""
    return [error.message for error in Draft202012Validator(shape).iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("game", GAMES)
def test_the_schema_accepts_a_new_tournament(game: str) -> None:
    assert errors_in(schema_of_config(), template(GAMES[game], True, ["davey"])) == []


WRONG = [
    ('[limits]\nmemroy = "1 MiB"', "'memroy' was unexpected"),
    ('[[stage]]\nkind = "knockout"\ntourneys = 3', "'tourneys' was unexpected"),
    ("[rules]\nhands = 3", "'hands' was unexpected"),
    ("[run]\nworkers = true", "True is not of type 'integer', 'string'"),
    ('bots = "bots/*"', "'bots/*' is not of type 'array'"),
]


@pytest.mark.parametrize(("lines", "told"), WRONG)
def test_the_schema_marks_a_mistake(lines: str, told: str) -> None:
    (message,) = errors_in(schema_of_config(), f'game = "pazaak"\n{lines}\n')
    assert told in message


def test_the_schema_allows_code_of_the_organisers_own() -> None:
    text = 'game = "goofspiel:GAME"\n[[stage]]\nkind = "swiss:SWISS"\nrank_by = ["swiss:BUCHHOLZ"]\nrounds = 5\n'
    assert errors_in(schema_of_config(), text) == []


def test_the_defaults_of_the_schema_are_those_in_force() -> None:
    limits = schema_of_config()["properties"]["limits"]["properties"]
    shown = {name: key.get("default") for name, key in limits.items()}
    assert [name for name, default in shown.items() if default is None] == ["bank", "increment", "floor"]
    assert shown["move"] == "1 s" and shown["memory"] == "512 MiB" and shown["tasks"] == 64
    assert "default" not in schema_of_bot()["properties"]["limits"]["properties"]["move"]
    assert schema_of_config()["properties"]["run"]["properties"]["workers"]["default"] == "auto"
    assert schema_of_bot()["properties"]["language"]["enum"] == list(LANGUAGES)


def test_new_and_init_name_a_schema_that_is_there(tmp_path: Path) -> None:
    croupier("new", tmp_path / "cup", "-g", "pazaak")
    croupier("init", tmp_path / "cup" / "bots" / "mine", "--lang", "python", "-C", tmp_path / "cup")
    for path, name in (
        (tmp_path / "cup" / "croupier.toml",) * 2,
        (tmp_path / "cup" / "bots" / "mine" / "bot.toml",) * 2,
    ):
        first, _, _ = path.read_text().partition("\n")
        schema = json.loads((path.parent / first.removeprefix("#:schema ")).read_text())
        assert schema == SCHEMAS[name.name]() == croupier("config", "schema", name.name, "--json").json["shape"]
        assert schema["$id"].startswith("urn:croupier:") and errors_in(schema, path.read_text()) == []
