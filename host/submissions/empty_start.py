"""Measures the time in which an empty bot of a language starts on this machine. A bot's own claim cannot be trusted."""

import tempfile
import time
from pathlib import Path

from host.base.errors import HostFailure, UserError
from host.bots.bot_spec import BuiltBot
from host.bots.values import Question
from host.games import GAMES
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.build import build
from host.submissions.conformance import open_bench
from host.submissions.discovery import load_submission
from host.submissions.languages import LANGUAGES
from protocols import PROTOCOLS
from protocols.wire import Move

STARTS = 3
PATIENT = Limits(move=10.0, cpu=10.0)

_measured: dict[tuple[str, str, Level], float] = {}


async def empty_start(bot: BuiltBot, level: Level) -> float:
    """Return the seconds in which an empty bot of the same language starts and answers: the median of three starts.

    Return 0.0 if it is not needed: the protocol starts a process for each question, or the bot is a program without a
    runtime, which starts in a millisecond. Return 0.0 also if the empty bot cannot be built or started. Each process of
    croupier measures a language once.
    """
    spec = bot.spec
    if not PROTOCOLS[spec.protocol].persistent or bot.argv[0] == "./bot":
        return 0.0
    known = (spec.language, spec.compiler, level)
    if known not in _measured:
        try:
            _measured[known] = await _measure(spec.language, spec.compiler, level)
        except (UserError, HostFailure):
            _measured[known] = 0.0
    return _measured[known]


async def _measure(language: str, compiler: str, level: Level) -> float:
    row, game = LANGUAGES[language], next(iter(GAMES.values()))  # the bot answers S to any question
    with tempfile.TemporaryDirectory(prefix="croupier-") as folder:
        source = Path(folder) / f"Hello{row.suffixes[0] if row.suffixes else ''}"
        source.write_text(row.empty.source)
        source.chmod(0o755)
        keys = {"game": game.name, "protocol": "argv", "compiler": compiler}
        bot = await build(load_submission(source).with_keys(**keys), level)
        bot = bot._replace(limits=PATIENT, warm=())
        took = []
        async with open_bench(bot, game, level) as bench, bench.seated() as exam:
            for number in range(1, STARTS + 1):
                began = time.perf_counter()
                answer = await exam.ask_once(Question(number, 1, game.examples[0]))
                took.append(time.perf_counter() - began if isinstance(answer, Move) else 0.0)
    return sorted(took)[STARTS // 2]
