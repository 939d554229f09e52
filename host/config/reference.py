"""Describes every key of croupier.toml and bot.toml, from their types: as JSON schemas, and as a page of the documentation."""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from host import __version__
from host.base.config_file import tables_in, types_of
from host.base.toml_file import to_toml
from host.base.value_types import OWN_CODE, InvalidValue, OtherKeys, ValueType
from host.bots.bot_spec import MANIFEST, BotSpec, RequestedLimits, format_limit
from host.config.resolver import CONFIG
from host.config.tournament_config import AllowedLimits, ConfigFile, ModelTable, rules_of
from host.games import GAMES
from host.games.engine import Game
from host.rating.rankings import RANKINGS
from host.rules.catalogue import rule_type
from host.sandbox.limits import Bank, Limits
from host.stages import KINDS, RENAMED_KINDS
from host.stages.kind import Kind, StageConfig
from host.submissions.adapters import ADAPTERS
from host.submissions.languages import LANGUAGES, languages_with

SCHEMA_FILES = {CONFIG: "croupier.schema.json", MANIFEST: "bot.schema.json"}
"""The file name of the JSON schema, by the name of the file that it describes.

Commands write both files into the same folder. Editors find the schema by the line `#:schema`.
"""

DIRECTIVE = "#:schema ./{}\n"
"""The first line of a TOML file with a schema, as the editors' TOML extensions read it."""


# A key.


class KeyDescription(NamedTuple):
    """Description of a key: its JSON schema without description and default, and the parts of its docstring."""

    name: str
    schema: dict[str, Any]
    default: Any  # as the file spells it; None if the key has none
    without: str  # the behaviour without the key, in words, if `default` is None
    example: str  # TOML: `key = value`
    text: str

    def json_schema(self) -> dict[str, Any]:
        """Return the key's JSON schema."""
        default = {} if self.default is None else {"default": self.default}
        return self.schema | default | {"description": self.text}

    def row(self) -> str:
        """Return the key's row in a table of the documentation, in Markdown."""
        default = self.without if self.default is None else f"`{to_toml(self.default)}`"
        cells = (f"`{self.name}`", type_in_words(self.schema), default, f"`{self.example}`", self.text)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


HEADER = "| key | type | default | example | what it is for |\n|---|---|---|---|---|"


@cache
def attribute_docs(model: type) -> dict[str, str]:
    """Return the docstrings below the attributes of a class and of its bases, by attribute, each on one line."""
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__[:-1]):
        for one, after in pairwise(_class_body(each)):
            match one, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    docs[name] = " ".join(text.split())
    return docs


def _class_body(model: type) -> list[ast.stmt]:
    """Return the statements of a class that is at the top level of its module; empty if it has no source.

    `inspect.getsource` of a class would parse its whole module, which takes ten times as long.
    """
    try:
        source = inspect.getsource(sys.modules[model.__module__])
    except (OSError, TypeError, KeyError):
        return []
    text = re.search(rf"^class {model.__name__}\b.*?(?=^[^\s)]|\Z)", source, re.MULTILINE | re.DOTALL)
    (definition,) = ast.parse(text[0]).body if text else [ast.Pass()]
    return definition.body if isinstance(definition, ast.ClassDef) else []


def key_of(name: str, schema: dict[str, Any], default: Any, doc: str) -> KeyDescription:
    """Return the description of a key. Its docstring `doc` may end with `Default: ….` and with `Example: …`."""
    text, _, example = doc.partition(" Example: ")
    text, _, without = text.partition(" Default: ")
    return KeyDescription(
        name,
        schema,
        default,
        without.rstrip("."),
        example.strip("`") or f"{name} = {usual_value(schema, default)}",
        text,
    )


def known_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names that a JSON schema lists."""
    names = schema["anyOf"][0]["enum"] if "anyOf" in schema else schema.get("enum", [])
    return [str(name) for name in names]


def usual_value(schema: Mapping[str, Any], default: Any) -> str:
    """Return a value as TOML for an example: an example of the type, a known name, or the default."""
    if "items" in schema:
        return f"[{usual_value(schema['items'], '')}]"
    choices = [True] if schema.get("type") == "boolean" else [*schema.get("examples", ()), *known_names(schema)]
    return to_toml(next((choice for choice in choices if choice != default), default))


def value_schema(annotated: Any) -> dict[str, Any]:
    """Return the JSON schema of a key's type."""
    if get_origin(annotated) is Annotated:
        found = next((each for each in annotated.__metadata__ if isinstance(each, ValueType)), None)
        return found.json_schema() if found else {}
    if get_origin(annotated) is tuple:
        return {"type": "array", "items": value_schema(get_args(annotated)[0])}
    literal = get_args(annotated)
    return {"const": literal[0]} if literal else {}


def spelled(annotated: Any, value: Any) -> Any:
    """Return a default value in the form of a file; None if a file cannot state this value."""
    schema = value_schema(annotated)
    if "default" in schema:
        return schema["default"]
    if isinstance(value, Bank):
        return None
    if isinstance(value, tuple):
        return list(value) or None
    types = [each for each in getattr(annotated, "__metadata__", ()) if isinstance(each, ValueType)]
    with_unit = "with a unit" in schema.get("title", "") and value
    written = format_limit(value) if with_unit and value > 0 else value
    try:
        return written if types and types[0].check(written) == value and value != {} else None
    except InvalidValue:
        return None


def keys_of(model: type, usual: Mapping[str, Any] | None = None) -> list[KeyDescription]:
    """Return the keys of a table: the fields of its model. `usual` has default values, by key, that the model lacks."""
    hints, docs = types_of(model), attribute_docs(model)
    found = []
    for each in fields(model):
        annotated = hints[each.name]
        is_table = is_dataclass(annotated) or get_origin(annotated) is dict or OtherKeys in get_args(annotated)
        if is_table or each.name == "stage":
            continue
        value = (usual or {}).get(each.name, each.default)
        default = None if value is MISSING else spelled(annotated, value)
        found.append(key_of(each.name, value_schema(annotated), default, docs.get(each.name, "")))
    return found


def first_line(model: type) -> str:
    """Return the first paragraph of a class's docstring on one line."""
    return " ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split())


# JSON schemas.


def table_schema(keys: list[KeyDescription], text: str = "") -> dict[str, Any]:
    """Return the JSON schema of a table that has only these keys."""
    properties = {key.name: key.json_schema() for key in keys}
    described = {"description": text} if text else {}
    return {"type": "object", **described, "properties": properties, "additionalProperties": False}


def chosen(key: str, value: str, then: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema that applies the schema `then` to tables in which the key has this value."""
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def head(file: str) -> dict[str, Any]:
    """Return the first keys of the JSON schema for a file, with their values."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:croupier:{__version__}:{file}",
        "title": file,
    }


def schema_of_config() -> dict[str, Any]:
    """Return the JSON schema of a croupier.toml, with croupier's own games, kinds of stage and rankings."""
    top = table_schema(keys_of(ConfigFile))
    for name, model, usual in CONFIG_TABLES:
        *outer, own = name.split(".")
        around = top["properties"][outer[0]] if outer else top
        around["properties"][own] = table_schema(keys_of(model, usual), first_line(model))
    kinds = [chosen("kind", name, stage_schema(name)) for name in KINDS]
    stage = {"type": "object", "required": ["kind"], "properties": {"kind": _kind().json_schema()}, "allOf": kinds}
    top["properties"]["stage"] = {"type": "array", "items": stage, "description": "The stages, in their order."}
    top["properties"]["models"]["additionalProperties"] = table_schema(keys_of(ModelTable), first_line(ModelTable))
    top["properties"]["rules"] = {"type": "object", "description": "The rules of the game."}
    games = [
        chosen("game", game.name, {"properties": {"rules": table_schema(rule_keys(game))}}) for game in GAMES.values()
    ]
    return head(CONFIG) | top | {"required": ["game"], "allOf": games}


def schema_of_bot() -> dict[str, Any]:
    """Return the JSON schema of a bot.toml."""
    top = table_schema(bot_keys())
    text = "The limits that the bot requests. Without a limit, the tournament's holds."
    top["properties"]["limits"] = table_schema(keys_of(RequestedLimits), text)
    return head(MANIFEST) | top


SCHEMAS = {CONFIG: schema_of_config, MANIFEST: schema_of_bot}
"""The function that returns the JSON schema of each file."""


def write_with_schema(path: Path, text: str) -> None:
    """Write a croupier.toml or bot.toml, and next to it the JSON schema that its first line names."""
    schema = path.with_name(SCHEMA_FILES[path.name])
    schema.write_text(json.dumps(SCHEMAS[path.name](), ensure_ascii=False) + "\n")
    path.write_text(DIRECTIVE.format(schema.name) + text)


CONFIG_TABLES: tuple[tuple[str, type, Mapping[str, Any] | None], ...] = tuple(
    (
        name,
        model,
        {**Limits().by_name(), "submission": Limits().submission, "retries": 0} if model is AllowedLimits else None,
    )
    for name, model in tables_in(ConfigFile)
)
"""The tables of a croupier.toml, except [rules] and [[stage]]: name, model, and default values that the model lacks."""


def bot_keys() -> list[KeyDescription]:
    """Return the keys of a bot.toml. The names of languages, compilers and adapters come from their tables."""
    names: Mapping[str, list[str]] = {
        "language": list(LANGUAGES),
        "compiler": [name for row in LANGUAGES.values() for name in row.compilers],
        "adapter": list(ADAPTERS),
    }
    return [_with_names(key, names.get(key.name, [])) for key in keys_of(BotSpec)]


def _with_names(key: KeyDescription, names: list[str]) -> KeyDescription:
    """Return a key of bot.toml with its possible values (`names`) and the languages that support it."""
    if names:
        key = key._replace(schema=key.schema | {"enum": names}, example=f"{key.name} = {to_toml(names[0])}")
    languages = languages_with(key.name)
    return key._replace(text=f"{key.text} Only for {', '.join(languages)}.") if languages else key


def stage_keys(kind: str) -> list[KeyDescription]:
    """Return all keys of a kind of stage; `rank_by` lists the rankings that suit it."""
    return [_suitable(key, KINDS[kind]) if key.name == "rank_by" else key for key in keys_of(KINDS[kind].config)]


def _suitable(key: KeyDescription, kind: Kind[Any]) -> KeyDescription:
    names = [word for word, ranking in RANKINGS.items() if not kind.lacks(ranking)]
    schema = key.schema | {"items": {"type": "string", "anyOf": [{"enum": names}, {"pattern": OWN_CODE}]}}
    return key._replace(schema=schema, example=f"{key.name} = {usual_value(schema, key.default)}")


def stage_tables(kind: str) -> dict[str, type]:
    """Return the tables inside a kind of stage: the model of their values, by table name. Their keys are bot names."""
    hints = get_type_hints(KINDS[kind].config)
    return {name: get_args(each)[1] for name, each in hints.items() if get_origin(each) is dict}


def stage_schema(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of stage."""
    schema = table_schema(stage_keys(kind))
    for name, model in stage_tables(kind).items():
        values = table_schema(keys_of(model), first_line(model))
        schema["properties"][name] = {"type": "object", "additionalProperties": values}
    return schema


def _kind() -> KeyDescription:
    schema = {"type": "string", "anyOf": [{"enum": list(KINDS)}, {"pattern": OWN_CODE}, {"enum": list(RENAMED_KINDS)}]}
    return key_of("kind", schema, None, attribute_docs(StageConfig)["kind"])


def rule_keys(game: Game) -> list[KeyDescription]:
    """Return the keys of a game's [rules]; the defaults are those of its first preset."""
    rules = game.default_rules
    game_rules: type = type(rules)
    presets = {"type": "string", "enum": list(game.presets)}
    keys = [
        key_of("preset", presets, next(iter(game.presets)), "A set of rules with a name. The other keys change it.")
    ]
    docs = attribute_docs(game_rules)
    for name in rules_of(rules):
        schema = rule_type(game, rules, name).json_schema()
        keys.append(key_of(name, schema, getattr(rules, name), docs.get(name, "")))
    return keys


# The page.


def type_in_words(schema: Mapping[str, Any]) -> str:
    """Return the type of a key for people."""
    if "title" in schema:
        return str(schema["title"])
    if names := known_names(schema):
        return " or ".join(f'`"{name}"`' for name in names) + (", or your own" if "anyOf" in schema else "")
    match schema.get("type"):
        case "array":
            return f"list of: {type_in_words(schema['items'])}"
        case "integer":
            return f"integer, {schema['minimum']} to {schema['maximum']}"
        case "boolean":
            return "`true` or `false`"
        case "object":
            return "table of strings"
        case _:
            length = f", at most {schema['maxLength']} characters" if "maxLength" in schema else ""
            return f"string{length}"


def _section(heading: str, text: str, keys: list[KeyDescription]) -> Iterator[str]:
    yield from (f"### {heading}", "", *([text, ""] if text else []), HEADER, *(key.row() for key in keys), "")


def top() -> str:
    """Return the first paragraphs of the page."""
    return f"""\
# The keys of {CONFIG} and {MANIFEST}

`croupier config reference` prints this page from the types that read the files; a test compares the two. An unknown key or a
wrong value is refused with its line number, the rule and a suggested fix.

A time or a size is a string with a number and a unit: `"250 ms"`, `"64 MiB"`. A list is written `["a", "b"]`.

`croupier new` and `croupier init` write a JSON schema next to the file, and name it in the first line (`#:schema …`). Editors
with a TOML extension then complete keys, explain them and mark mistakes. `croupier config schema {CONFIG}` and `croupier
config schema {MANIFEST}` print the schemas of your version.
"""


def page() -> str:
    """Return the page of the documentation, in Markdown."""
    lines = [top(), f"## {CONFIG}", "", *_section("At the top of the file", "", keys_of(ConfigFile))]
    for game in GAMES.values():
        text = f"The rules of {game.title}. A preset sets all of them; the defaults are those of the first preset."
        lines += _section(f"`[rules]` of {game.name}", text, rule_keys(game))
    text = "One such table for each stage, in the order in which they are played. Without one, the game's own stages are played."
    common = [_kind(), *(key for key in keys_of(StageConfig) if key.name not in ("kind", "rank_by"))]
    lines += _section("`[[stage]]`: keys of every kind", text, common)
    for name, kind in KINDS.items():
        own = [key for key in stage_keys(name) if key not in common and key.name not in ("kind", "min_bots", "name")]
        lines += _section(
            f'`[[stage]]` with `kind = "{name}"`', f"{first_line(kind.config)} For {kind.plays.words}.", own
        )
        for table, model in stage_tables(name).items():
            text = f"{first_line(model)} `[stage.{table}]` follows its [[stage]]; it has such a table for each name."
            lines += _section(f'`[stage.{table}]` with `kind = "{name}"`', text, keys_of(model))
    for name, model, usual in CONFIG_TABLES:
        lines += _section(f"`[{name}]`", first_line(model), keys_of(model, usual))
    lines += _section("`[models.NAME]`", f"{first_line(ModelTable)} See [models](models.md).", keys_of(ModelTable))
    text = "A folder with sources in one language does not need any of these keys, and no bot.toml."
    lines += [f"## {MANIFEST}", "", *_section("At the top of a bot.toml", text, bot_keys())]
    text = "What the bot requests: not more than the tournament grants. Without a key, the tournament's limit holds."
    lines += _section("`[limits]` of a bot.toml", text, keys_of(RequestedLimits))
    return re.sub(r" +$", "", "\n".join(lines), flags=re.MULTILINE).rstrip() + "\n"
