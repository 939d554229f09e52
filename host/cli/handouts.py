"""What is handed to participants: a game's protocol, its rules, a bot to begin with. All of it is told elsewhere, once."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import protocols
from host.games import GAMES
from host.games.engine import Game
from host.submissions.languages import EXAMPLE
from host.submissions.scaffold import starter_files


def protocol(game: Game) -> str:
    """Return the bot author's manual as it concerns one game: the grammar of others and links to the clone left out."""
    manual = Path(protocols.__file__).with_name("README.md").read_text()
    others = "|".join(re.escape(name) for name in GAMES if name != game.name)
    manual = re.sub(rf"^\| (?:{others}) answer \|.*\n", "", manual, flags=re.MULTILINE)
    kept = [part for part in manual.split("\n\n") if "](../" not in part]
    return "\n\n".join(kept).rstrip()


def rules(game: Game) -> str:
    """Return the page of a game's rules; of a game that an organiser brings, what it says of itself."""
    host = Path(__file__).parents[1]
    for folder in (host / "data" / "games", host.parent / "docs" / "games"):  # installed, or in a clone
        if (page := folder / f"{game.name}.md").exists():
            return re.sub(r"^<!--.*?-->\n", "", page.read_text(), flags=re.MULTILINE).rstrip()
    return game.card


def example(game: Game) -> str:
    """Return a whole bot in Python, as `croupier init` writes it."""
    return starter_files("example", game, EXAMPLE.name, game.protocol)[EXAMPLE.starter.file].rstrip()


HANDOUTS: Mapping[str, Callable[[Game], str]] = {"protocol": protocol, "rules": rules, "example": example}
