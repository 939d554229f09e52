"""What the shell may offer behind a command: bots, stages, games, codes. Nothing heavy is imported for it."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


def bots(ctx: click.Context) -> Iterable[str]:
    """Return the bots of the tournament here, by the names of their files and folders, and all samples."""
    from host.submissions.sample_bots import samples

    for path in sorted((here(ctx) / "bots").glob("*")):
        if not path.name.startswith((".", "_")):
            yield path.stem if path.is_file() else path.name
    said = config(ctx).get("game")
    for game in [said] if isinstance(said, str) else games(ctx):
        yield from (f"sample:{name}" for name in sorted(samples(game)))


def stages(ctx: click.Context) -> Iterable[str]:
    """Return the stages of the tournament here."""
    said = config(ctx).get("stage", [])
    return [str(stage.get("name", stage.get("kind", ""))) for stage in said if isinstance(stage, dict)]


def games(_ctx: click.Context) -> Iterable[str]:
    """Return the games."""
    from host.games import GAMES

    return GAMES


def codes(_ctx: click.Context) -> Iterable[str]:
    """Return the codes that can be explained."""
    from host.base.errors import explanations

    return explanations()


def kinds(_ctx: click.Context) -> Iterable[str]:
    """Return the kinds of fault."""
    from protocols.wire import FaultKind

    return [str(kind) for kind in FaultKind]


KNOWN: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "bot": bots,
    "names": bots,
    "new": bots,
    "old": bots,
    "stage": stages,
    "game": games,
    "code": codes,
    "kind": kinds,
}
"""What completes a parameter, by its name; the games of `games` are its `name`."""


class Known(click.types.StringParamType):
    """A text of which the likely ones are known."""

    def __init__(self, known: Callable[[click.Context], Iterable[str]]) -> None:
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return those that begin so; files too where a bot may be one."""
        found = [CompletionItem(name) for name in self._known(ctx) if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._known is bots else [])


def completed(command: click.Command) -> click.Command:
    """Return a command whose parameters offer what is known for them."""
    for parameter in command.params:
        known = games if (command.name, parameter.name) == ("games", "name") else KNOWN.get(parameter.name or "")
        if known and parameter.type is click.STRING:
            parameter.type = Known(known)
    return command


def here(ctx: click.Context) -> Path:
    """Return the folder that the command line names."""
    return Path(str(ctx.find_root().params.get("folder") or "."))


def config(ctx: click.Context) -> dict[str, Any]:
    """Return the croupier.toml here as it stands; nothing where it cannot be read."""
    try:
        return tomllib.loads((here(ctx) / "croupier.toml").read_text())
    except (OSError, ValueError):
        return {}
