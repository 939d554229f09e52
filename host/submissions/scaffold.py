"""Generates a starter bot for a game and a language: its bot.toml and one source file."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from host.base.safe_text import one_line
from host.base.toml_file import to_toml
from host.base.value_types import InvalidValue
from host.bots.bot_spec import MANIFEST, bot_name, unsafe_name
from host.games.engine import Game
from host.rules.game_toml import GAME_FILE
from host.submissions.languages import LANGUAGES, Language
from host.submissions.sample_bots import folder
from protocols.wire import spell

STARTER_PROTOCOLS = ("argv", "lines")
"""The protocols of starter bots. JSON needs a library in most languages."""

FIELD_KINDS = {int: "number", bool: "number", tuple[int, ...]: "numbers", tuple[str, ...]: "cards"}
"""How a starter bot reads a field, by its type in the view. It does not convert a field of another type: it is a text."""

MAX_EXAMPLE = 200  # characters of an example in a comment


def camel(name: str) -> str:
    """Return a field's name in the style of Java: yourHand."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def kebab(name: str) -> str:
    """Return a field's name in the style of Lisp: your-hand."""
    return name.replace("_", "-")


def pascal(name: str) -> str:
    """Return a field's name in the style of C#: YourHand."""
    return "".join(map(str.capitalize, name.split("_")))


CODE_IN_COMMENTS = re.compile(r"\*(?=/)|\?(?=[?>])|-(?=\})")
"""The first character of each text that ends a comment in some language, or joins the comment with the next line."""


def in_comment(text: str) -> str:
    """Return an untrusted text, changed for a comment or a docstring: no language reads a part of it as code."""
    return CODE_IN_COMMENTS.sub(r"\g<0> ", one_line(text).replace("\\", "/").replace('"', "'"))


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
    autoescape=False,  # the templates are programs, not HTML
)
ENVIRONMENT.filters |= {"camel": camel, "kebab": kebab, "pascal": pascal}


class TemplateField(NamedTuple):
    """A field of a question as the templates use it."""

    name: str
    kind: str  # number, numbers, cards or text
    example: str


def template_fields(game: Game) -> dict[str, TemplateField]:
    """Return the fields of a game's questions by name. The example of each field is its first value that is not empty."""
    fields = {}
    for name, hint in get_type_hints(game.view).items():
        examples = [spell(getattr(view, name)) for view in game.examples]
        example = next((example for example in examples if example != "-"), "-")
        kind = (
            FIELD_KINDS.get(hint, "text")
            if hint is not Any
            else _kind_of([getattr(view, name) for view in game.examples])
        )
        fields[name] = TemplateField(name, kind, in_comment(example[:MAX_EXAMPLE]))
    return fields


def _kind_of(values: Sequence[object]) -> str:
    """Return the way in which a starter bot reads a field of unknown type, as in FIELD_KINDS.

    A referee does not state the types of fields, so the values of the field in the edge cases decide.
    """
    if all(type(value) is int for value in values):
        return FIELD_KINDS[int]
    if all(isinstance(value, tuple) for value in values):
        items = {type(item) for value in values if isinstance(value, tuple) for item in value}
        return {frozenset({int}): "numbers", frozenset({str}): "cards"}.get(frozenset(items), "text")
    return "text"


def starter_files(name: str, game: Game, language: str, protocol: str) -> dict[str, str]:
    """Return a starter bot's bot.toml and its source by file name. Raise InvalidValue for a name that a bot cannot have."""
    if unsafe_name(bot_name(name)):
        raise InvalidValue(
            "C009", "is not allowed for a folder with sources: quotes and backslashes end comments and strings"
        )
    row, fields = LANGUAGES[language], template_fields(game)
    source = ENVIRONMENT.get_template(f"{language}.jinja").render(
        name=name,
        game=game,
        title=in_comment(game.title),
        protocol=protocol,
        fields=list(fields.values()),
        opening=game.opening,
        sums=fields[game.opening.field].kind == "numbers",
        below_is_field=game.opening.below in fields,
        plays_card=game.opening.otherwise in fields,
        has_cards=any(field.kind == "cards" for field in fields.values()),
        expected=in_comment(game.grammar.expected),
    )
    return {MANIFEST: manifest(name, game, row, protocol), row.starter.file: source}


REFEREES: Mapping[str, str] = {
    name: row.starter.referee for name, row in sorted(LANGUAGES.items()) if row.starter.referee
}
"""The folder of the game with a referee that `init --referee` copies, by language: Goofspiel."""


def referee_files(name: str, language: str) -> dict[str, str]:
    """Return the files of a sample game whose referee is written in a language, by file name.

    `name` becomes the name of the game.
    """
    sample = REFEREES[language]
    files = {
        path.name: path.read_text() for path in sorted((folder() / "referees" / sample).iterdir()) if path.is_file()
    }
    files[GAME_FILE] = re.sub(
        r"^name( *)= .*\ntitle( *)= .*$",
        lambda match: f'name{match[1]}= "{name}"\ntitle{match[2]}= "{name.replace("_", " ").capitalize()}"',
        files[GAME_FILE],
        count=1,
        flags=re.MULTILINE,
    )
    return files


def asker_files(game: Game) -> dict[str, str]:
    """Return the files of the sample bot that asks a language model, changed to play this game, by file name."""
    files = {path.name: path.read_text() for path in (folder() / "models" / "asker").iterdir() if path.is_file()}
    fields, opening = game.view._fields, game.opening
    otherwise = next((word for word in (opening.otherwise, opening.below) if word not in fields), "-")
    keys = {"game": to_toml(game.name), "env": f"{{ OTHERWISE = {to_toml(otherwise)} }}"}
    lines = list[str]()
    for line in files[MANIFEST].splitlines():
        key = line.partition("=")[0].strip()
        if key not in ("name", "author"):  # a copy of the folder is a bot too
            lines.append(f"{key:<8} = {keys[key]}" if key in keys else line)
    files[MANIFEST] = "\n".join(lines) + "\n"
    what_to_answer = files["prompt.txt"].splitlines()[-1]
    card = re.sub(r"^[^:.<]*: ", "A question has ", game.card)  # what comes before is about processes
    files["prompt.txt"] = textwrap.fill(f"You play {game.title}. {card}", 120) + f"\n{what_to_answer}\n"
    return files


def manifest(name: str, game: Game, row: Language, protocol: str) -> str:
    """Return a starter bot's bot.toml."""
    keys = {"name": name, "game": game.name, "language": row.name, "protocol": protocol} | dict(row.starter.keys)
    lines = [f"{key:<8} = {to_toml(value)}" for key, value in keys.items()]
    lines.insert(1, '# author = "…"')
    if protocol != "argv":
        lines.append(
            "# parallel_tables = 64      when it remembers nothing from question to question: up to 64 tables at once"
        )
    return "\n".join(lines) + "\n"
