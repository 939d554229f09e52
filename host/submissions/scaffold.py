"""A first bot for a game in a language: the language's own way to read questions, filled with the game's fields."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from host.base.config_file import Wrong, spelled
from host.games.engine import Game
from host.submissions.bot_spec import MANIFEST, SCRIPTS
from host.submissions.file_tree import odd
from host.submissions.languages import LANGUAGES, Language
from host.submissions.manifest import bot_name
from protocols.wire import spell

SPOKEN = ("argv", "lines")
"""The protocols that a first bot may speak; JSON wants a library in most languages."""

KINDS = {int: "number", bool: "truth", str: "text"}
ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
    autoescape=False,  # these are programs
)


class Shape(NamedTuple):
    """A field of a question as programs must know it, under the names that languages like."""

    name: str
    kind: str  # number, truth, text, numbers or structs
    example: str = ""
    struct: str = ""  # what the items of a list are called

    @property
    def camel(self) -> str:
        """The name as Java writes it."""
        first, *rest = self.name.split("_")
        return first + "".join(map(str.capitalize, rest))

    @property
    def kebab(self) -> str:
        """The name as Lisp writes it."""
        return self.name.replace("_", "-")

    @property
    def plural(self) -> str:
        """What reads a list of these structs."""
        return f"{self.struct.lower()}s" if self.struct else ""


class Struct(NamedTuple):
    """What the items of a list are made of."""

    name: str
    plural: str
    fields: tuple[Shape, ...]


def shapes(game: Game) -> Iterator[Shape]:
    """Yield the fields of a game's questions."""
    for name, hint in get_type_hints(game.view).items():
        values = [spell(getattr(view, name)) for view in game.examples]
        example = next((value for value in values if value != "-"), "-")
        if hint in KINDS:
            yield Shape(name, KINDS[hint], example)
            continue
        item = get_args(hint)[0]
        if item is str:  # or None, which is said like an empty text
            yield Shape(name, "text", example)
        elif item is int:
            yield Shape(name, "numbers", example)
        else:
            yield Shape(name, "structs", example, item.__name__)


def structs(game: Game) -> list[Struct]:
    """Return the kinds of items in a game's questions, each once."""
    items = [get_args(hint)[0] for hint in get_type_hints(game.view).values() if get_args(hint)]
    found = {}
    for item in items:
        if hasattr(item, "_fields"):
            inner = tuple(Shape(name, KINDS[hint]) for name, hint in get_type_hints(item).items())
            found[item.__name__] = Struct(item.__name__, f"{item.__name__.lower()}s", inner)
    return list(found.values())


def opening(game: Game) -> dict[str, Any]:
    """Return the game's opening as templates ask for it."""
    field, limit, below, otherwise = game.opening
    by_name = {shape.name: shape for shape in shapes(game)}
    told = by_name.get(below)
    return {
        "field": field,
        "camel": by_name[field].camel,
        "kebab": by_name[field].kebab,
        "sums": by_name[field].kind == "numbers",
        "limit": limit,
        "below": below,
        "otherwise": otherwise,
        "tells": told.camel if told else "",
        "tells_kebab": told.kebab if told else "",
    }


def main_file(row: Language) -> str:
    """Return what the one file to edit is called."""
    return "Bot.java" if row.name == "java" else "bot" + (row.suffixes[0] if row.suffixes else "")


def begun(name: str, game: Game, language: str, protocol: str) -> dict[str, str]:
    """Return the files of a first bot: its bot.toml and the one file to edit. Raise Wrong for a name no bot may have."""
    if odd(bot_name(name)):
        raise Wrong("C009", "is no name for a folder with sources: quotes and backslashes end comments and texts")
    row, fields = LANGUAGES[language], list(shapes(game))
    kinds = {shape.kind for shape in fields} | {shape.kind for struct in structs(game) for shape in struct.fields}
    source = ENVIRONMENT.get_template(f"{language}.jinja").render(
        name=name,
        game=game,
        protocol=protocol,
        fields=fields,
        structs=structs(game),
        kinds=kinds,
        opening=opening(game),
        expected=game.grammar.expected,
    )
    return {MANIFEST: manifest(name, game, row, protocol), main_file(row): source}


def manifest(name: str, game: Game, row: Language, protocol: str) -> str:
    """Return a first bot's bot.toml."""
    said = {"name": name, "game": game.name, "language": row.name, "protocol": protocol}
    if row.name in SCRIPTS:
        said["entry"] = main_file(row)
    if row.name == "java":
        said["heap"] = "64 MiB"
    lines = [f"{key:<8} = {spelled(value)}" for key, value in said.items()]
    lines.insert(1, '# author = "…"')
    if row.name == "any":
        lines.append(f'run      = ["./{main_file(row)}"]')
    if protocol != "argv":
        lines.append("# abreast = 64      when it remembers nothing from question to question: up to 64 tables at once")
    return "\n".join(lines) + "\n"
