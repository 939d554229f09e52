"""The command `init`: creates a starter bot."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.cli import CliContext, completers, print_result, unknown_name

if TYPE_CHECKING:
    from host.games.engine import Game


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    *("-g", "--game"),
    shell_complete=completers.games,
    metavar="GAME",
    help="default: the tournament's; `croupier games` lists them",
)
@click.option(
    *("-l", "--lang"),
    required=True,
    shell_complete=completers.languages,
    metavar="LANGUAGE",
    help="for example c or python; an unknown one lists all",
)
@click.option("--protocol", metavar="PROTOCOL", help="argv or lines; default: the usual protocol of the game")
@click.pass_obj
def init(context: CliContext, folder: Path, game: str | None, lang: str, protocol: str | None) -> None:
    """Create a starter bot: it builds, makes legal moves, and has one function to edit."""
    from host.submissions.languages import LANGUAGES, missing

    _check_language(lang)
    chosen = _choose_game(context, game)
    _write_starter(folder, chosen, lang, protocol)
    from host.submissions.discovery import load_submission

    starter = StarterBot(
        folder, chosen, lang, folder / LANGUAGES[lang].starter.file, missing(load_submission(folder, game=chosen.name))
    )
    print_result(context, "init", starter)
    if starter.missing and not context.json:
        package = LANGUAGES[lang].package
        click.echo(f"WARNING  not installed here: {', '.join(starter.missing)}  (apt install {package})", err=True)
    if not LANGUAGES[lang].is_tested and not context.json:
        click.echo(f"WARNING  croupier's own tests do not play bots in {lang}", err=True)


class StarterBot(NamedTuple):
    """A starter bot."""

    folder: Path
    game: "Game"
    language: str
    source: Path
    missing: list[str]  # programs that the bot needs and this machine lacks

    def json(self) -> dict[str, Any]:
        """Return the bot as JSON keys."""
        return {
            "folder": str(self.folder),
            "game": self.game.name,
            "language": self.language,
            "edit": str(self.source),
            "missing": self.missing,
        }

    def text(self) -> Iterator[str]:
        """Yield what to do next."""
        folder = shlex.quote(str(self.folder))
        opponents = " ".join(["sample:NAME"] * max(1, self.game.seats[0] - 1))
        yield f"{self.folder}: plays {self.game.name} in {self.language}. Edit `decide` in {self.source}, then:"
        yield f"  croupier check {folder}"
        yield f"  croupier play {folder} {opponents} -n 1000"


def _choose_game(context: CliContext, name: str | None) -> "Game":
    from host.cli.common import find_game
    from host.config.tournament_config import load

    if name is None and (context.folder / "croupier.toml").exists():
        name = load(context.folder).game
    if name is None:
        raise click.UsageError("which game? Name it with -g GAME")
    return find_game(context.registry.game(name))


def _check_language(language: str) -> None:
    from host.submissions.languages import LANGUAGES

    if language not in LANGUAGES:
        message = unknown_name("language", language, LANGUAGES)
        raise click.UsageError(f"{message}  (languages: {', '.join(LANGUAGES)})")


def _write_starter(folder: Path, game: "Game", language: str, protocol: str | None) -> None:
    from host.base.config_file import InvalidValue
    from host.bots.bot_spec import MANIFEST
    from host.config.reference import write_with_schema
    from host.submissions.scaffold import STARTER_PROTOCOLS, starter_files

    if protocol not in (None, *STARTER_PROTOCOLS):
        raise click.UsageError(
            f"a starter bot speaks {' or '.join(STARTER_PROTOCOLS)}; protocols/README.md shows the others"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "choose another folder, or an empty one"
        raise UserError([Problem("C016", str(folder), "already exists, and is not empty", hint=hint)], 2)
    name = folder.resolve().name
    try:
        files = starter_files(name, game, language, protocol or game.protocol)
    except InvalidValue as invalid:
        raise click.UsageError(f"a bot cannot be called {name!r}: the name {invalid.message}") from invalid
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_with_schema(folder / MANIFEST, files.pop(MANIFEST))
        for file, text in files.items():
            (folder / file).write_text(text)
            (folder / file).chmod(0o755 if text.startswith("#!") else 0o644)
    except OSError as error:
        raise UserError([file_problem("created", folder, error)], 2) from error
