"""What a folder is, and what is likely to be wanted there next: the answer to a bare `croupier`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from host.base.errors import UserError

Steps = Mapping[str, str]
"""The three commands that are likely next, and what they do."""

SEES, PLAYS = "who plays whom, and how long it will take", "plays it; ^C loses nothing"
AHEAD, FAR = "who is ahead, and how sure that is", "how far it is"


def around(place: Path) -> tuple[str, Steps]:
    """Return what a folder is, and the commands that are likely next there."""
    if (place / "croupier.toml").exists():
        return tournament(place)
    if (place / "bot.toml").exists():
        return bot(place)
    if any((place / ".croupier").glob("play-*.sqlite")):
        steps = {"croupier errors": "what went wrong", "croupier replay last": "the last table again"}
        return "where bots have played each other", steps | {"croupier report --open": "all of it, in the browser"}
    return "no tournament and no bot", {
        "croupier doctor": "what works on this machine, and what is missing",
        "croupier new cup --game cardshark --with-samples": "a tournament to look at",
        "croupier games": "the games, and what their bots are asked",
    }


def tournament(place: Path) -> tuple[str, Steps]:
    """Return how far the tournament of a folder is, and what it waits for."""
    title, game = (said(place / "croupier.toml").get(key, "") for key in ("name", "game"))
    what = f"a tournament of {game}" + (f', "{title}"' if title else "")
    journal = place / "run" / "run.sqlite"
    state = state_of(journal) if journal.exists() else ""
    match state:
        case "finished":
            steps = {"croupier standings": AHEAD, "croupier report --open": "all of it, in the browser"}
            return f"{what}, finished", steps | {"croupier verify": "plays every recorded answer again"}
        case "running":
            steps = {"croupier status": FAR, "croupier standings": AHEAD}
            return f"{what}, being played", steps | {"croupier serve": "the pages live in a browser"}
        case "interrupted":
            steps = {"croupier run": "goes on where it stopped", "croupier standings": AHEAD}
            return f"{what}, interrupted", steps | {"croupier run --dry-run": "what is left, and how long it will take"}
        case "":
            steps = {"croupier run --dry-run": SEES, "croupier run": PLAYS}
            return f"{what}, not begun", steps | {"croupier ls": "its bots; croupier add FILE takes in more"}
    return f"{what}, whose journal cannot be read", {"croupier status": "says why"}


def state_of(journal: Path) -> str:
    """Return the state of a run; "unreadable" where its journal is none."""
    from host.tournament.journal import reading

    try:
        with reading(journal) as book:
            return book.metadata().get("state", "")
    except UserError:
        return "unreadable"


def bot(place: Path) -> tuple[str, Steps]:
    """Return what a bot folder is, and how it may be tried."""
    manifest = said(place / "bot.toml")
    name, game = (manifest.get(key, "") for key in ("name", "game"))
    option = "" if game else " -g GAME"
    what = "a bot" + (f" for {game}" if game else "") + (f', "{name}"' if name else "")
    return what, {
        f"croupier check .{option}": "is it accepted?",
        f"croupier play . sample:NAME{option}": "is it any good?",
        f"croupier games {game or 'GAME'}": "what it is asked, and may answer",
    }


def said(path: Path) -> dict[str, str]:
    """Return the texts at the top of a TOML file, harmless; none where it cannot be read."""
    from host.base.safe_text import escape_control_chars

    try:
        content = tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return {key: escape_control_chars(value) for key, value in content.items() if isinstance(value, str)}
