"""The output of `croupier` without a command: the content of the folder, and the commands that are likely next."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from host import __version__
from host.base.errors import UserError
from host.base.safe_text import escape_control_chars
from host.base.toml_file import read
from host.cli.in_a_season import is_season

Steps = Mapping[str, str]
"""The commands that are likely next, each with a text that says what it does."""

ESTIMATE, PLAY = "who plays whom, and how long it will take", "play the tournament; ^C loses nothing"
STANDINGS, PROGRESS = "the standings with error bars", "the progress of the run"


class Overview(NamedTuple):
    """The content of a folder in words, and the commands that are likely next."""

    content: str
    steps: Steps
    names_folder: bool = False  # whether the commands already name the folder

    def completed(self, complete: Callable[[str], str]) -> "Overview":
        """Return the overview with `complete` applied to each command, unless the commands name the folder already."""
        if self.names_folder:
            return self
        return self._replace(steps={complete(command): does for command, does in self.steps.items()})

    def json(self) -> dict[str, Any]:
        """Return the overview as JSON keys."""
        rows = [{"command": command, "does": does} for command, does in self.steps.items()]
        return {"croupier": __version__, "here": self.content, "rows": rows}

    def text(self) -> Iterator[str]:
        """Yield the overview as lines."""
        yield f"croupier {__version__}: this folder contains {self.content}. Likely next:"
        for command, does in self.steps.items():
            yield f"  {command:<48} {does}"


def overview(folder: Path) -> Overview:
    """Return the content of a folder in words, and the commands that are likely next."""
    if is_season(folder):
        return _season(folder)
    if (folder / "croupier.toml").exists():
        return _tournament(folder)
    if (folder / "bot.toml").exists():
        return _bot(folder)
    if any((folder / ".croupier").glob("play-*.sqlite")):
        steps = {"croupier faults": "the faults of the bots", "croupier replay last": "the last table"}
        return Overview("results of croupier play", steps | {"croupier report --open": "everything, in the browser"})
    steps = {
        "croupier doctor": "what this machine provides, and what is missing",
        "croupier new cup --game cardshark --with-samples": "create a tournament of sample bots",
        "croupier games": "the games, their questions and answers",
    }
    return Overview("neither a tournament nor a bot", steps)


def _season(folder: Path) -> Overview:
    """Return the overview of a season's folder."""
    values = _texts_in(folder / "croupier.toml")
    title, game = values.get("name", ""), values.get("game", "")
    name = f"a season of {game}" + (f', "{title}"' if title else "")
    if not (folder / "season.sqlite").exists():
        steps = {"croupier season invite NAME": "draw a link for an author", "croupier season open": "open the season"}
        return Overview(f"{name}, not opened", steps | {"croupier config": "its terms"})
    steps = {"croupier season status": "how it stands", "croupier season open": "open it, or go on"}
    return Overview(name, steps | {"croupier season final DIR": "close entry and make the final"})


def _tournament(folder: Path) -> Overview:
    """Return the overview of a tournament's folder, with commands for its state."""
    values = _texts_in(folder / "croupier.toml")
    title, game = values.get("name", ""), values.get("game", "")
    name = f"a tournament of {game}" + (f', "{title}"' if title else "")
    journal = folder / "run" / "run.sqlite"
    state = _state_of(journal, folder) if journal.exists() else ""
    match state:
        case "finished":
            steps = {"croupier standings": STANDINGS, "croupier report --open": "everything, in the browser"}
            return Overview(f"{name}, finished", steps | {"croupier verify": "recompute all scores"})
        case "running":
            steps = {"croupier status": PROGRESS, "croupier standings": STANDINGS}
            return Overview(f"{name}, running", steps | {"croupier serve": "live pages in the browser"})
        case "interrupted":
            steps = {"croupier run": "continue", "croupier standings": STANDINGS}
            left = {"croupier run --dry-run": "what is left, and how long it will take"}
            return Overview(f"{name}, interrupted", steps | left)
        case "":
            steps = {"croupier run --dry-run": ESTIMATE, "croupier run": PLAY}
            return Overview(
                f"{name}, not started", steps | {"croupier ls": "its bots", "croupier add FILE": "add a bot"}
            )
    return Overview(f"{name}, whose journal cannot be read", {"croupier status": "the reason"})


def _state_of(journal: Path, folder: Path) -> str:
    """Return the state of a run; "" if it has not begun, "unreadable" if its journal cannot be read."""
    from host.config.resolver import registry_of
    from host.journal.check import journal_exists
    from host.journal.reader import reading

    if not journal_exists(journal):
        return ""
    try:
        with reading(journal, registry_of(folder)) as opened:
            return opened.state().status
    except UserError:
        return "unreadable"


def _bot(folder: Path) -> Overview:
    """Return the overview of a bot's folder, with commands that try the bot."""
    values = _texts_in(folder / "bot.toml")
    name, game = values.get("name", ""), values.get("game", "")
    option, place = "" if game else " -g GAME", shlex.quote(str(folder))
    content = "a bot" + (f" for {game}" if game else "") + (f', "{name}"' if name else "")
    steps = {
        f"croupier check {place}{option}": "is it accepted?",
        f"croupier play {place} sample:NAME{option}": "how strong is it?",
        f"croupier games {game or 'GAME'}": "its questions and answers",
    }
    return Overview(content, steps, names_folder=True)


def _texts_in(path: Path) -> dict[str, str]:
    """Return the top-level strings of a TOML file, escaped for a terminal; {} if it cannot be read."""
    try:
        content = read(path).data
    except UserError:
        return {}
    return {key: escape_control_chars(value) for key, value in content.items() if isinstance(value, str)}
