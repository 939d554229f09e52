"""Finds and builds the program of a referee, from the folder with its game.toml."""

import json
from pathlib import Path

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.monitor import running_monitor
from host.games.engine import Game
from host.play.sources.referee import RefereeProgram, referee_source
from host.play.sources.source import NewTable, SourceFailed, SourcePlace
from host.play.table_plans import TableSetup
from host.rules.catalogue import ref_of, with_referee
from host.rules.foreign import ForeignAdapter, has_edges
from host.rules.game_toml import GAME_FILE, PROGRAM_KEYS, GameFile, RefereeGame, load_referee_game
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions import sample_bots
from host.submissions.build import build, program_hash
from host.submissions.discovery import described
from host.submissions.file_tree import File, FileTree, submitted
from host.submissions.languages import PYTHON, environment, need
from protocols.wire import View

PROTOCOL = "lines"  # like a bot over lines, a referee is one process that lives for a fixture
CHECK_HINT = "croupier check DIR, with the folder of the game, says more"
ADAPTER_FOLDER = "croupier_referee"  # in the folder of a program with an adapter
LIMIT_KEYS = ("limits", "patience")  # of game.toml
TOURNAMENT_FILE = "croupier.toml"


def referee_limits(file: GameFile) -> Limits:
    """Return the limits of a referee's process. Its `move` is the key `patience` of game.toml."""
    asked = file.limits
    return Limits(
        move=file.patience,
        startup=asked.startup,
        memory=asked.memory,
        tasks=asked.tasks,
        files=asked.files,
        open_files=asked.open_files,
        state=0,
    )


def is_complete(game: Game) -> bool:
    """Return whether the folder of a game contains the program of its referee, or the sources to build it."""
    folder = Path(ref_of(game).folder)
    return not _missing(folder, load_referee_game(folder).file)


def _missing(folder: Path, file: GameFile) -> str:
    """Return the first program or jar in `run` that is not in the folder; "" if there is none.

    Do not look for files of `run` if there is a `build`, which may make them. Return the name of the game if the folder
    contains nothing but game.toml.
    """
    words = [] if file.build else [word for each in file.run for word in each.split(":")]
    lost = [word for word in words if word.startswith("./") or word.endswith(".jar") if not (folder / word).is_file()]
    return lost[0] if lost else "" if any(path.name != GAME_FILE for path in folder.iterdir()) else file.name


def load_referee(folder: Path) -> tuple[RefereeGame, Submission]:
    """Return the game in a folder, and its referee as a submission, not built. Raise UserError with all problems."""
    known = load_referee_game(folder)
    missing = _missing(folder, known.file)
    if missing and missing not in known.file.run[:1]:  # `described` reports the first word, with a better hint
        hint = f"restore the file that `game` in {TOURNAMENT_FILE}, or `run` in {GAME_FILE}, names"
        raise UserError(
            [Problem("C018", missing, f"the program of the game {known.file.name} is not here", hint=hint)], 3
        )
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
    if known.file.adapter and any(name.startswith(f"{ADAPTER_FOLDER}/") for name in contents.modes):
        message = f"has a folder {ADAPTER_FOLDER}, which the adapter supplies"
        raise UserError([Problem("B019", contents.where(""), message, hint="remove it, or rename it")], 4)
    spec = BotSpec(name=known.file.name, protocol=PROTOCOL, **{key: getattr(known.file, key) for key in PROGRAM_KEYS})
    toml = known.toml._replace(data={key: value for key, value in known.toml.data.items() if key in PROGRAM_KEYS})
    try:
        submission = described(folder, contents, toml, spec, limits)
    except UserError as refused:
        problems = [problem._replace(hint=problem.hint.replace("bot.toml", GAME_FILE)) for problem in refused.problems]
        raise UserError(problems, refused.exit_code) from None
    return known, submission._replace(limits=limits, manifest=known.toml.name)


def referee_hash(game: Game) -> str:
    """Return the hash of everything from which a game's referee is built, without building it; "" if it has no referee.

    The limits of the referee are not part of the hash: if they are sufficient, they do not change what it does.
    """
    known = ref_of(game)
    if not known.has_referee:
        return ""
    loaded, submission = load_referee(Path(known.folder))
    keys = {key: value for key, value in loaded.toml.data.items() if key not in LIMIT_KEYS}
    text = json.dumps(keys, sort_keys=True, default=str).encode()
    return program_hash(submission, adapter_files(loaded.file), {GAME_FILE: text})


async def build_referee(folder: Path, level: Level, *, force: bool = False) -> BuiltBot:
    """Build the referee in a folder, or return it from the cache. Raise UserError as `build` does."""
    known, submission = load_referee(folder)
    built = await build(submission, level, force=force, beside=adapter_files(known.file))
    built = built._replace(limits=referee_limits(known.file))
    adapter: ForeignAdapter | None = known.file.adapter
    if adapter is None:
        return built
    argv = (need(PYTHON.programs[0]), ADAPTER_FOLDER, *adapter.words, "--", *built.argv)
    return built._replace(argv=argv, env=tuple((environment(argv) | dict(built.env)).items()))


def adapter_files(file: GameFile) -> list[File]:
    """Return the files of the adapter that a game.toml names, with their paths in the program's folder; [] for none."""
    kit = sample_bots.folder() / "adapters" / "referee"
    names = sorted(kit.glob("*.py")) if file.adapter else []
    return [File(f"{ADAPTER_FOLDER}/{path.name}", executable=False, content=path.read_bytes()) for path in names]


async def prepare_referee(game: Game, level: Level) -> Game:
    """Build the referee of a game that has one. Return the game with the built referee.

    If game.toml has no edge cases, also ask the referee for a first question, which takes their place.
    """
    folder = Path(ref_of(game).folder)
    built = await build_referee(folder, level)
    loaded = load_referee_game(folder)
    question = () if has_edges(loaded.toml) else await first_question(loaded, built, level)
    return with_referee(game, built, question)


async def first_question(known: RefereeGame, built: BuiltBot, level: Level) -> View:
    """Start a referee and return the view of its first question at a table; () if it asks nothing.

    Raise UserError (exit code 4) if the referee fails.
    """
    rules = known.game.default_rules
    setup = TableSetup(tuple(f"bot {number}" for number in range(rules.seats)), rules, "check/1")
    async with running_monitor() as monitor:
        try:
            program, place = RefereeProgram(built, known.game, known.file.words), SourcePlace(level, (), monitor)
            async with referee_source(program, place) as source:
                progress = await source.advance([NewTable(1, setup, bytes(16))], {}, ())
        except SourceFailed as failed:
            output = one_line(failed.said[-1000:].decode(errors="replace"))
            problem = Problem("G002", known.toml.name, f"does not begin a table: {failed.reason}", output, CHECK_HINT)
            raise UserError([problem], 4) from failed
    requests = progress[1].requests
    return requests[0].view if requests else ()
