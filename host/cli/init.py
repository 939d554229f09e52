"""The command `init`: creates a starter bot."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError, unknown_name
from host.base.system_errors import file_problem
from host.base.value_types import InvalidValue
from host.cli import CliContext, Facts, completers, print_result
from host.ops.bots import find_game

if TYPE_CHECKING:
    from host.games.engine import Game
    from host.submissions.languages import Language


@click.command()
@click.argument("place", type=click.Path(path_type=Path), metavar="DIR|FILE")
@click.option(
    *("-g", "--game"),
    shell_complete=completers.games,
    metavar="GAME",
    help="default: the tournament's; `croupier games` lists them",
)
@click.option(
    *("-l", "--lang"),
    shell_complete=completers.languages,
    metavar="LANGUAGE",
    help="for example c, python or js; default: that of the file's suffix",
)
@click.option("--protocol", metavar="PROTOCOL", help="argv or lines; default: the usual protocol of the game")
@click.option(
    "--referee",
    metavar="LANGUAGE",
    shell_complete=completers.languages,
    help="create a game of your own instead of a bot: its rules in c, java, javascript, lisp or python",
)
@click.pass_obj
def init(
    context: CliContext, place: Path, game: str | None, lang: str | None, protocol: str | None, referee: str | None
) -> None:
    """Create a starter bot: it builds, makes legal moves, and has one function to edit.

    A name with the suffix of a language, such as mine.py, is a single file; any other name is a folder with a bot.toml.

    With --referee, create a folder with game.toml and a program that knows the rules: a small game to edit.
    """
    from host.submissions.discovery import load_submission
    from host.submissions.languages import missing

    if referee is not None:
        if game or lang or protocol:
            raise click.UsageError("--referee creates a game: -g, -l and --protocol are for bots")
        print_result(context, "init", write_referee(place, referee))
        return

    row = _choose_language(lang, place)
    chosen = _choose_game(context, game)
    source = _write_starter(place, chosen, row, protocol)
    lacks = missing(load_submission(place, game=chosen))
    facts = {"folder": str(place), "game": chosen.name, "language": row.name, "edit": str(source), "missing": lacks}
    print_result(context, "init", Facts(facts, _next_steps(place, source, chosen, row.name)))
    if lacks and not context.json:
        click.echo(f"WARNING  not installed here: {', '.join(lacks)}  (apt install {row.package})", err=True)


def _next_steps(place: Path, source: Path, game: "Game", language: str) -> Iterator[str]:
    """Yield lines that tell how to edit, check and play a starter bot.

    If the game has no sample bots, the bot plays against copies of itself.
    """
    from host.rules.catalogue import ref_of
    from host.submissions.sample_bots import samples

    quoted, known = shlex.quote(str(place)), ref_of(game)
    named = known.said if known.has_referee else game.name
    option = f" -g {shlex.quote(named)}" if source == place else ""  # a bot.toml would name it
    opponent = "sample:NAME" if samples(game.name) else quoted
    opponents = " ".join([opponent] * max(1, game.seats[0] - 1))
    yield f"{place}: plays {game.name} in {language}. Edit `decide` in {source}, then:"
    yield f"  croupier check {quoted}{option}"
    yield f"  croupier play {quoted} {opponents} -n 1000{option}"


def write_referee(place: Path, language: str) -> Facts:
    """Write a game with a referee into a folder, and return the facts to print.

    Raise UsageError if there is no referee in `language`, or if the name of the folder cannot be the name of a game.
    Raise UserError if the folder is not empty or cannot be written.
    """
    from host.submissions.languages import LANGUAGES, language_called
    from host.submissions.scaffold import REFEREES, referee_files

    row = language_called(language)
    if row is None or row.name not in REFEREES:
        raise click.UsageError(f"{unknown_name('language', language, LANGUAGES)}  (referees: {', '.join(REFEREES)})")
    if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
        problem = Problem("C016", str(place), "already exists, and is not empty", hint="choose another folder")
        raise UserError([problem], 2)
    name = re.sub("[^a-z0-9]+", "_", place.absolute().name.lower()).strip("_")
    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", name):
        raise click.UsageError(f"a game cannot be called {place.name!r}: a name has small letters, digits and _")
    files = referee_files(name, row.name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (place / file).write_text(text)
    except OSError as error:
        raise UserError([file_problem("created", place, error)], 2) from error
    source, quoted = place / next(file for file in files if file != "game.toml"), shlex.quote(str(place))
    facts = {"folder": str(place), "game": name, "language": row.name, "edit": str(source)}
    lines = [
        f"{place}: the game {name}, with its rules in {row.name}. Edit {source} and game.toml, then:",
        f"  croupier check {quoted}",
        f"  croupier init bots/first.py -g {quoted}/",
    ]
    return Facts(facts, lines)


def _choose_game(context: CliContext, name: str | None) -> "Game":
    from host.config.tournament_config import load

    if name is None and (context.folder / "croupier.toml").exists():
        return load(context.folder).game
    if name is None:
        raise click.UsageError("which game? Name it with -g GAME")
    return find_game(name, context.registry)


def _choose_language(name: str | None, place: Path) -> "Language":
    """Return the language `name`; without a name, the language of the suffix of `place`.

    Raise UsageError if the language is unknown, or if the name and the suffix contradict each other.
    """
    from host.submissions.languages import ANY, LANGUAGES, language_called, language_of

    by_suffix = language_of(place.suffix)
    if name is None:
        if by_suffix is ANY:
            raise click.UsageError("which language? Name it with -l LANGUAGE, or name a file such as mine.py")
        return by_suffix
    row = language_called(name)
    if row is None:
        raise click.UsageError(f"{unknown_name('language', name, LANGUAGES)}  (languages: {', '.join(LANGUAGES)})")
    if by_suffix not in (ANY, row):
        raise click.UsageError(f"{place} would be a file in {by_suffix.name}, not in {row.name}")
    return row


def _write_starter(place: Path, game: "Game", row: "Language", protocol: str | None) -> Path:
    """Write a starter bot, as a single file or as a folder. Return the path of its source."""
    from host.bots.bot_spec import MANIFEST
    from host.config.reference import write_with_schema
    from host.submissions.scaffold import STARTER_PROTOCOLS, starter_files

    if protocol not in (None, *STARTER_PROTOCOLS):
        raise click.UsageError(
            f"a starter bot speaks {' or '.join(STARTER_PROTOCOLS)}; protocols/README.md shows the others"
        )
    is_file = place.suffix in row.suffixes
    if is_file and protocol not in (None, game.protocol):
        raise click.UsageError(f"a single file speaks {game.protocol} in {game.name}; a folder can choose a protocol")
    if os.path.lexists(place) and (is_file or not place.is_dir() or any(place.iterdir())):
        message = "already exists" if is_file else "already exists, and is not empty"
        hint = "choose another name" if is_file else "choose another folder, or an empty one"
        raise UserError([Problem("C016", str(place), message, hint=hint)], 2)
    name = place.stem if is_file else place.resolve().name
    try:
        files = starter_files(name, game, row.name, protocol or game.protocol)
    except InvalidValue as invalid:
        raise click.UsageError(f"a bot cannot be called {name!r}: the name {invalid.message}") from invalid
    folder = place.parent if is_file else place
    text, source = files[row.starter.file], place if is_file else place / row.starter.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not is_file:
            write_with_schema(folder / MANIFEST, files[MANIFEST])
        source.write_text(text)
        source.chmod(0o755 if text.startswith("#!") else 0o644)
    except OSError as error:
        raise UserError([file_problem("created", place, error)], 2) from error
    return source
