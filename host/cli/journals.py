"""Chooses the journal that a command reads."""

from pathlib import Path

from host.base.errors import Problem, UserError
from host.cli import CliContext


def journals_of(context: CliContext) -> list[Path]:
    """Return the journals of a folder, the most recent first. Raise UserError if it has none."""
    found = [path for path in (_of_tournament(context), *_of_adhoc_games(context)) if path.exists()]
    if not found:
        raise _nothing_played(context)
    return sorted(found, key=_written_at, reverse=True)


def journal_of(context: CliContext, chosen: Path | None) -> Path:
    """Return the chosen journal, otherwise the tournament's, otherwise that of the last `croupier play`.

    The tournament's journal may not exist yet. Raise UserError if there is neither a tournament nor a journal.
    """
    if chosen is not None:
        return context.folder / chosen
    tournament = _of_tournament(context)
    adhoc = [path for path in _of_adhoc_games(context) if path.exists()]
    if tournament.exists() or not adhoc:
        if not tournament.exists() and not (context.folder / "croupier.toml").exists():
            raise _nothing_played(context)
        return tournament
    return max(adhoc, key=_written_at)


def _of_tournament(context: CliContext) -> Path:
    return context.folder / "run" / "run.sqlite"


def _of_adhoc_games(context: CliContext) -> list[Path]:
    return [context.folder / "run" / "play.sqlite", *(context.folder / ".croupier").glob("play-*.sqlite")]


def _written_at(path: Path) -> float:
    return path.stat().st_mtime


def _nothing_played(context: CliContext) -> UserError:
    hint = "croupier run, or croupier play BOT BOT"
    return UserError([Problem("R006", str(context.folder), "nothing has been played here yet", hint=hint)], 3)
