"""Finds and builds the program of a referee: the folder with its game.toml, and what its keys say of the program."""

from pathlib import Path

from host.base.errors import Problem, UserError
from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.play.custom_games import attach_referee, origin
from host.play.referee_game import GAME_FILE, PROGRAM_KEYS, GameFile, RefereeGame, load_referee_game
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.build import build, program_hash
from host.submissions.discovery import described
from host.submissions.file_tree import FileTree, submitted

PROTOCOL = "lines"  # like a bot over lines, a referee is one process that lives for a fixture
TOURNAMENT_FILE = "croupier.toml"


def referee_limits(file: GameFile) -> Limits:
    """Return the limits of a referee's process. `move` is its patience."""
    asked = file.limits
    return Limits(
        move=file.patience,
        startup=asked.startup,
        memory=asked.memory,
        tasks=asked.tasks,
        files=asked.files,
        open_files=asked.open_files,
        clock="fair",
        state=0,
    )


def load_referee(folder: Path) -> tuple[RefereeGame, Submission]:
    """Return the game of a folder and its program, not built yet. Raise UserError with all problems of the folder."""
    known = load_referee_game(folder)
    limits = referee_limits(known.file)
    contents = FileTree(folder, submitted(limits.submission))
    if TOURNAMENT_FILE in contents.modes:
        message = f"has a {TOURNAMENT_FILE}: everything in the folder of a game is part of the program"
        raise UserError(
            [
                Problem(
                    "C013", contents.where(""), message, hint="put game.toml and the sources in a folder of their own"
                )
            ],
            3,
        )
    spec = BotSpec(name=known.file.name, protocol=PROTOCOL, **{key: getattr(known.file, key) for key in PROGRAM_KEYS})
    toml = known.toml._replace(data={key: value for key, value in known.toml.data.items() if key in PROGRAM_KEYS})
    try:
        submission = described(folder, contents, toml, spec, limits)
    except UserError as refused:
        problems = [problem._replace(hint=problem.hint.replace("bot.toml", GAME_FILE)) for problem in refused.problems]
        raise UserError(problems, refused.exit_code) from None
    return known, submission._replace(limits=limits, manifest=known.toml.name)


def referee_hash(game: str) -> str:
    """Return the hash of all from which the referee of a game is built; "" for a game without one. Nothing is built."""
    known = origin(game)
    if not known.has_referee:
        return ""
    if known.referee is not None:
        return known.referee.sha256
    return program_hash(load_referee(Path(known.folder))[1])


async def build_referee(folder: Path, level: Level, *, force: bool = False) -> BuiltBot:
    """Build the referee in a folder, or return it from the cache. Raise UserError as `build` does."""
    known, submission = load_referee(folder)
    return (await build(submission, level, force=force))._replace(limits=referee_limits(known.file))


async def prepare_referee(game: str, level: Level) -> None:
    """Build the referee of a game, if it has one, and let every holder of the game's name play with it."""
    known = origin(game)
    if known.has_referee:
        attach_referee(game, await build_referee(Path(known.folder), level))
