"""Explains a fault to the bot's author: error code, evidence, suggested fix."""

import re
import shlex
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from host.base.errors import Problem
from host.base.format import duration
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BotSpec, BuiltBot, format_limit
from host.bots.values import Evidence, InputState, Outcome
from host.games.engine import Game
from host.submissions.headline import MAX_SHOWN_CHARS, Output
from host.submissions.headline import shown as shown_line
from host.submissions.languages import LANGUAGES, Symptom
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind

CODES: Mapping[str, str] = {
    FaultKind.TIMEOUT: "B031",
    FaultKind.CPU: "B032",
    FaultKind.MEMORY: "B033",
    FaultKind.CRASH: "B034",
    FaultKind.EXIT: "B035",
    FaultKind.FLOOD: "B038",
    FaultKind.EXTRA: "B022",
    FaultKind.UNREADABLE: "B023",
    FaultKind.EARLY: "B024",
    FaultKind.START: "B018",
    FaultKind.BUDGET: "B042",
}
ACCESS_DENIED = re.compile(
    r"PermissionError|(?<!timer_create failed: )Operation not permitted|Permission denied"
    r"|Read-only file system|Network is unreachable"
    r"|name resolution|Name or service not known|SocketException|UnknownHostException"
    r"|No such file or directory: '/(?!bot/|tmp/)[^']*'"
)
"""Messages of programs when the sandbox denies an operation, except a runtime's warning that it has no timer."""

WRITE_DENIED = re.compile(r"Read-only file system|Permission denied: '(?!/)")
"""The messages of programs when they cannot write into their own folder. The second one is the message with Landlock."""


SYMPTOMS = tuple(symptom for row in LANGUAGES.values() for symptom in row.symptoms)

OWN_FRAME = re.compile(r"\(/proc/self/exe\+(0x[0-9a-f]+)\)")
"""A frame of a sanitizer that cannot read the names of functions, because there is no /proc in most sandboxes."""

ENDS_CODE = "B035"
NEVER_STARTS_CODES = {symptom.code for symptom in SYMPTOMS if symptom.at_start} | {"B018"}
"""The codes of bots that can never start. A bot that ends with another code may answer another question."""

EXPLAINED_FAULTS = frozenset(
    {FaultKind.CRASH, FaultKind.EXIT, FaultKind.EXTRA, FaultKind.UNREADABLE, FaultKind.TIMEOUT}
)
"""The faults whose cause may be in the output of a runtime."""

STARTS_OFTEN = 'if only its start is slow:  protocol = "lines"  starts it once, and `startup` allows more time for that'
COMPUTING_SHARE = 0.9  # of the time of a late answer

ANY_FLUSH = "flush the output after each answer"
HINTS_BY_BOT: Mapping[str, Callable[[BotSpec], str]] = {
    "B020": lambda bot: LANGUAGES[bot.language].output.flush or ANY_FLUSH,
    "B022": lambda bot: (
        f"print {PROTOCOLS[bot.protocol].one_answer} per answer; write debug text to stderr, which croupier records{_debug(bot)}"
    ),
    "B025": lambda bot: PROTOCOLS[bot.protocol].unended,
    "B038": lambda bot: f"an answer is one short line; write debug text to stderr{_debug(bot)}",
    "B040": lambda bot: _reads_too_much(bot),
}
"""Hints that depend on the bot's language or its protocol."""

HINT_OF_CODE = {
    "B018": "does it need a file or a library that is not in its folder?",
    "B021": 'read the arguments, or protocol = "lines" in bot.toml',
    "B024": "print nothing before a question",
    "B032": "compute less per move, or check the clock while computing",
    "B033": "it needs more memory than its limit",
    "B034": "build it with -g, and repeat the question by hand",
    "B035": "answer before exiting; a persistent bot reads until its input ends",
    "B037": "bots have no network and see only their folder: put what the bot needs there",
    "B042": "after status 429, ask the model no more at this table; Croupier-Requests-Left and the other headers say it before",
}
STDERR_LINES_SHOWN = 5


def diagnose(bot: BuiltBot, game: Game, piece: Evidence, code: str = "", *, silent: bool = False) -> Problem:
    """Return the explanation of a fault. The caller sets `code` if it already knows the cause.

    `silent`: the bot has never made a move.
    """
    code = code or code_of(piece)
    shown = [f"asked: {escape_control_chars(piece.question.decode(errors='replace'))}"]
    if code == "B018":
        shown = [f"command: {escape_control_chars(' '.join(bot.argv))[:MAX_SHOWN_CHARS]}"]
    if piece.raw:
        shown.append(f"wrote: {_output_text(piece)!r}")
    shown += [f"stderr: {line}" for line in Output(piece.stderr).lines(STDERR_LINES_SHOWN)]
    symptom = symptom_of(piece)
    if symptom is not None and symptom.code == code:
        return Problem(code, bot.name, _runtime_message(symptom, piece), "\n".join(shown), symptom.cure(bot, piece))
    hint = _hint_of_time_out(bot, piece, silent=silent) if code == "B031" else hint_of(code, bot, game, piece)
    return Problem(code, bot.name, MESSAGES.get(code, _any)(bot, game, piece), "\n".join(shown), hint)


def diagnose_start(bot: BuiltBot, game: Game, piece: Evidence) -> Problem:
    """Return the explanation of a bot that ends at every question; `piece` is the first of these faults."""
    problem = diagnose(bot, game, piece)
    if problem.code in NEVER_STARTS_CODES:
        return problem
    return problem._replace(code=ENDS_CODE, message=f"{piece.ended} without an answer to any question")


def wrong_protocol(bot: BuiltBot, game: Game, piece: Evidence, protocol: str) -> Problem:
    """Return the explanation of a silent bot that answers when it is asked by another protocol."""
    problem = diagnose(bot, game, piece, "B021" if protocol == "lines" else "")
    return problem._replace(hint=f'protocol = "{protocol}" in bot.toml: asked in that way, it answers with a move')


def differs_when_warm(bot: BuiltBot, asked: Sequence[bytes], cold: Answer, warm: Answer) -> Problem:
    """Return the explanation of a bot that answers a question differently after a warm start."""
    evidence = f"asked: {b' '.join(asked).decode().strip()}\ncold: {_answer_text(cold)}\nwarm: {_answer_text(warm)}"
    message = "answers differently when it is forked from a warm interpreter"
    return Problem("B039", bot.name, message, evidence, "remove `warm = true` from its bot.toml, or from croupier.toml")


def _answer_text(answer: Answer) -> str:
    words = (answer.kind, answer.detail) if isinstance(answer, Fault) else (answer.verb, answer.n, answer.text)
    return escape_control_chars(" ".join(map(str, words)).rstrip())


def sandbox_failure(bot: str, reasons: Sequence[str]) -> Problem:
    """Return the explanation of a sandbox that failed. `reasons` has the reason of each attempt, in order."""
    *others, last = map(escape_control_chars, reasons)
    evidence = "\n".join(dict.fromkeys(others))
    return Problem("B017", bot, f"its sandbox has failed: {last}", evidence, "croupier doctor")


def code_of(piece: Evidence) -> str:
    """Return the code of a fault. The output of the runtime has more weight than the way in which the process ended."""
    if piece.kind == FaultKind.TIMEOUT and piece.raw:
        return "B025"  # its answer does not end
    if piece.kind == FaultKind.CRASH and "signal" not in piece.ended:
        piece = piece._replace(kind=FaultKind.EXIT)  # it exited by itself, with an error
    if piece.kind in EXPLAINED_FAULTS:
        if symptom := symptom_of(piece):
            return symptom.code
        if ACCESS_DENIED.search(_printed(piece)):
            return "B037"
    return CODES.get(piece.kind, "B030")


def symptom_of(piece: Evidence) -> Symptom | None:
    """Return the symptom that the output of a runtime shows before it exits; None if there is none."""
    words = _printed(piece)
    return next((symptom for symptom in SYMPTOMS if symptom.pattern.search(words)), None)


def _printed(piece: Evidence) -> str:
    return (piece.stderr + piece.raw).decode(errors="replace")


def hint_of(code: str, bot: BuiltBot, game: Game, piece: Evidence) -> str:
    """Return the suggested fix for a fault with this code."""
    expected = f"expected  {game.grammar.expected}"
    if code == "B037":
        return hint_of_denied_access(bot, piece.stderr + piece.raw)
    if code == "B023":
        words = re.findall(r"[A-Z]+", game.grammar.expected)
        word = re.sub(r"\W.*", "", _output_text(piece).strip()).upper()
        near = get_close_matches(word, words, 1, 0.5) or [each for each in words if word and word.startswith(each)]
        debug = f"{expected}; write debug text to stderr{_debug(bot.spec)}"
        return f"{near[0]}  ({expected})" if near else debug
    if code in ("B034", "B035") and (frame := OWN_FRAME.search(piece.stderr.decode(errors="replace"))):
        program = shlex.quote(str(Path(bot.folder, bot.argv[0])))
        return f"addr2line -Cfpe {program} {frame[1]}  names the line, if it is built with -g"
    if code in HINTS_BY_BOT:
        return HINTS_BY_BOT[code](bot.spec)
    return HINT_OF_CODE.get(code, expected)


def _debug(bot: BotSpec) -> str:
    output = LANGUAGES[bot.language].output
    return f":  {output.debug}" if output.debug else ""


def _reads_too_much(bot: BotSpec) -> str:
    """Return the suggested fix for a bot that waits for more than its question."""
    protocol = PROTOCOLS[bot.protocol]
    if "question" in protocol.lifetimes:
        return 'lifetime = "question" in bot.toml closes its input after each question'
    output = LANGUAGES[bot.language].output
    one = f"read {protocol.one_question}, answer it, and only then read the next; do not wait for the end of the input"
    if output.is_line_buffered:
        return one
    return f"{one}; and {ANY_FLUSH}" + (f": {output.flush}" if output.flush else "")


def hint_of_denied_access(bot: BuiltBot, words: bytes) -> str:
    """Return the suggested fix for a denied operation; `words` is the output of the bot."""
    if not WRITE_DENIED.search(words.decode(errors="replace")):
        return HINT_OF_CODE["B037"]
    if bot.spec.state_is_folder:
        return f"a bot's folder is read-only; it may write in one folder: {bot.spec.state}"
    kept = (
        f"{bot.spec.state}, its state file"
        if bot.spec.state
        else 'the file that  state = "memory.bin"  in its bot.toml names'
    )
    return f"a bot's folder is read-only; it may write one file: {kept}"


def _output_text(piece: Evidence) -> str:
    """Return the start of the bot's output."""
    return escape_control_chars(piece.raw.decode(errors="replace"))[:MAX_SHOWN_CHARS]


def _any(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    return f"{piece.kind} after {duration(piece.wall)}: {piece.ended or 'the process kept running'}"


def cause_of_time_out(late: Evidence | Outcome) -> str:
    """Return what a late bot did in the time of its answer, as text for people."""
    wall = late.wall
    if computes(late):
        does = "it computed all the time it could get"
    elif late.cpu > wall / 2:
        does = "it was computing, not waiting"
    elif late.stalls.total > wall / 2:
        does = f"it was held up for {duration(late.stalls.total)} by a disk, memory, or from outside"
    elif late.waited > wall / 2:
        does = f"it waited for a processor for {duration(late.waited)}: the machine was busy"
    elif late.input == InputState.WAITING:
        does = "it has read its question and waits for more input"
    else:
        does = "it was waiting, not computing"
    return f"{does}, and has not read its question" if late.input == InputState.UNREAD else does


def computes(late: Evidence | Outcome) -> bool:
    """Return whether a late bot computed whenever it had a processor, as a bot in an endless loop does."""
    return late.cpu > 0 and late.cpu + late.waited >= COMPUTING_SHARE * late.wall


def _hint_of_time_out(bot: BuiltBot, piece: Evidence, *, silent: bool) -> str:
    """Return the suggested fix for a bot that was late."""
    limits, row = bot.limits, LANGUAGES[bot.spec.language]
    if silent and piece.input == InputState.UNREAD:
        allowed = f"startup = {limits.startup:g} s and move = {limits.per_move:g} s"
        return f"load less before the first question, or ask for a longer `startup`: the first answer has {allowed}"
    persistent = PROTOCOLS[bot.spec.protocol].persistent
    if computes(piece) or piece.cpu > piece.wall / 2:
        hint = "compute less per move, or look for a loop that does not end"
        return f"{hint}; {STARTS_OFTEN}" if silent and not persistent else hint
    if piece.input == InputState.WAITING:
        return HINTS_BY_BOT["B040"](bot.spec)
    if silent and persistent:
        return f"does it flush?  {row.output.flush or ANY_FLUSH}"
    return "croupier ask shows where the time goes"


def _timed_out(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    was = cause_of_time_out(piece)
    bank = "" if piece.bank is None else f"; it had {piece.bank / 1000:.3f} s in its time bank"
    return f"no answer after {duration(piece.wall)} (CPU used {duration(piece.cpu)}: {was}{bank})"


def _unended(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    lacks = "and no more" if piece.raw.endswith(b"\n") else "without a newline"
    return f"wrote {_output_text(piece)!r} {lacks} within {duration(piece.wall)}"


def _crashed(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    number = int(re.sub(r"\D", "", piece.ended))
    error = Output(piece.stderr).headline
    crashed = f"crashed: {piece.ended} ({(signal.strsignal(number) or 'unknown signal').lower()})"
    return crashed + (f":  {error}" if error else "")


def _exited(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    error = Output(piece.stderr).headline_or_last_line
    return f"{piece.ended} without an answer" + (f":  {error}" if error else "")


def _access_denied(_bot: BuiltBot, _game: Game, piece: Evidence) -> str:
    error = Output(piece.stderr).headline_or_last_line
    return f"the sandbox denied an operation, and the bot {piece.ended or 'gave no answer'}:  {error}"


def _runtime_message(symptom: Symptom, piece: Evidence) -> str:
    """Return the message about a fault, from the output of the runtime."""
    line = next((line for line in _printed(piece).splitlines() if symptom.pattern.search(line)), "")
    return symptom.text(piece, shown_line(line.strip()))


MESSAGES: Mapping[str, Callable[[BuiltBot, Game, Evidence], str]] = {
    "B018": lambda _bot, _game, piece: f"cannot be started: {piece.detail}",
    "B020": lambda _bot, _game, piece: (
        f"answered only after its input was closed: it does not flush (nothing came for {duration(piece.wall)})"
    ),
    "B040": lambda _bot, _game, piece: (
        f"answered only after {piece.detail}: it reads more than its question (nothing came for {duration(piece.wall)})"
    ),
    "B021": lambda _bot, game, _piece: (
        f"waits for input, but {game.name} sends its question as arguments: it answers when the question is typed"
    ),
    "B022": lambda _bot, _game, piece: f"wrote more than its answer:  {_output_text(piece)!r}",
    "B023": lambda _bot, game, piece: (
        f"{_output_text(piece).rstrip()!r} is not a move; a move is {game.grammar.expected}"
    ),
    "B024": lambda _bot, _game, piece: f"wrote {_output_text(piece)!r} before it was asked",
    "B025": _unended,
    "B031": _timed_out,
    "B032": lambda bot, _game, piece: (
        f"{duration(piece.cpu or bot.limits.cpu)} of CPU for one move, the limit is {duration(bot.limits.cpu)}: "
        "too slow, or a loop that does not end"
    ),
    "B033": lambda bot, _game, _piece: (
        f"used more than {format_limit(bot.limits.memory)} of memory and was killed; it did not crash by itself"
    ),
    "B034": _crashed,
    "B035": _exited,
    "B037": _access_denied,
    "B038": lambda bot, _game, _piece: (
        f"wrote more than {format_limit(bot.longest_answer)} for one move: output cut, bot killed"
    ),
    "B042": lambda _bot, _game, _piece: "asked a model whose budget was used up at an earlier question",
}


def first_of_each(evidence: Sequence[Evidence], kinds: Iterable[str]) -> list[Evidence]:
    """Return the first piece of evidence of each kind of fault, in the order of `kinds`; skip kinds without any."""
    pieces = {piece.kind: piece for piece in reversed(evidence)}
    return [pieces[kind] for kind in kinds if kind in pieces]
