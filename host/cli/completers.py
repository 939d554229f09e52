"""Completes bots, stages, games, error codes and kinds of fault in a shell, without importing anything heavy.

Each function is the `shell_complete` of a parameter.
"""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import UserError
from host.base.toml_file import read, read_untrusted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def bots(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Complete bots of the tournament and sample bots; if none matches, let the shell complete files."""
    from click.shell_completion import CompletionItem

    from host.games import GAMES
    from host.submissions.sample_bots import samples

    paths = [path for path in sorted((_folder(ctx) / "bots").glob("*")) if not path.name.startswith((".", "_"))]
    names = [_bot_name(path) for path in paths]
    game = _config(ctx).get("game")
    for each in [game] if isinstance(game, str) else GAMES:
        names += [f"sample:{name}" for name in sorted(samples(each))]
    found = [CompletionItem(name) for name in _matching(incomplete, names)]
    return found or [CompletionItem(incomplete, type="file")]


def _bot_name(path: Path) -> str:
    """Return the name of the bot in a file or a folder.

    Return the name of the folder if its bot.toml has no name, or one that a shell would need in quotes.
    """
    if path.is_file():
        return path.stem
    try:
        name = str(read_untrusted(path / "bot.toml").data.get("name", ""))
    except UserError:
        name = ""
    return name if name and quote(name) == name else path.name


def stages(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete stages of the tournament."""
    tables = _config(ctx).get("stage", [])
    names = [str(stage.get("name", stage.get("kind", ""))) for stage in tables if isinstance(stage, dict)]
    return _matching(incomplete, names)


def games(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete games."""
    from host.games import GAMES

    return _matching(incomplete, GAMES)


def stage_kinds(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete kinds of stage."""
    from host.stages import KINDS

    return _matching(incomplete, KINDS)


def languages(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete languages of starter bots."""
    templates = Path(__file__).parents[1] / "submissions" / "templates"
    return _matching(incomplete, sorted(path.stem for path in templates.glob("*.jinja")))


def codes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete error codes."""
    from host.base.errors import explanations

    return _matching(incomplete, explanations())


def kinds(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete kinds of fault."""
    from protocols.wire import FaultKind

    return _matching(incomplete, map(str, FaultKind))


def _matching(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _folder(ctx: click.Context) -> Path:
    """Return the folder that the option -C names; without -C, the current folder."""
    return Path(str(ctx.find_root().params.get("folder") or "."))


def _config(ctx: click.Context) -> dict[str, Any]:
    """Return the content of croupier.toml; {} if it cannot be read."""
    try:
        return read(_folder(ctx) / "croupier.toml").data
    except UserError:
        return {}
