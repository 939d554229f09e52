"""Builds handouts for participants from the manual, the pages of the games, and the starter bots."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import protocols
from host.base.paths import shipped
from host.games import GAMES
from host.games.engine import Game
from host.submissions.languages import EXAMPLE
from host.submissions.scaffold import starter_files


def protocol(game: Game) -> str:
    """Return the manual for bot authors, for one game.

    Leave out the answers of other games, and each paragraph that links to a file of the repository.
    """
    manual = Path(protocols.__file__).with_name("README.md").read_text()
    others = "|".join(re.escape(name) for name in GAMES if name != game.name)
    manual = re.sub(rf"^\| (?:{others}) answer \|.*\n", "", manual, flags=re.MULTILINE)
    parts = [part for part in manual.split("\n\n") if "](../" not in part]
    return "\n\n".join(parts).rstrip()


def rules(game: Game) -> str:
    """Return the page of a game's rules; for a custom game, its own description."""
    if (page := shipped("docs") / "games" / f"{game.name}.md").exists():
        return re.sub(r"^<!--.*?-->\n", "", page.read_text(), flags=re.MULTILINE).rstrip()
    return game.card


def example(game: Game) -> str:
    """Return a complete bot in Python, as `croupier init` writes it."""
    return starter_files("example", game, EXAMPLE.name, game.protocol)[EXAMPLE.starter.file].rstrip()


HANDOUTS: Mapping[str, Callable[[Game], str]] = {"protocol": protocol, "rules": rules, "example": example}
