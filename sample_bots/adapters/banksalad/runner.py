"""Play an unchanged turn.py of 2018: read one question per line, call its `bet`, and print one answer per line.

    runner.py turn.py SECONDS      play; SECONDS is what the host allows for a move
    runner.py --check turn.py      print in which line and why the file cannot be played

The bot imports the package `holdem` next to this file and becomes its module `holdem.turn`. Everything that it prints
goes to standard error, and its standard input is empty. A `bet` that takes too long receives one TimeoutError shortly
before the host's limit; only a bot that swallows the exception is killed. This program runs in the bot's process and
uses only the standard library. The process contains no other bot, so inspecting the stack reveals no other cards.
"""

import ast
import os
import signal
import sys
from collections.abc import Callable
from io import FileIO
from types import CodeType, FrameType, ModuleType
from typing import NoReturn

import convert
import holdem
import holdem.core.madehands  # imported here, so that the bot's first question need not wait for it
from holdem.core.cards import Card, Rank, Suit
from holdem.player import Other

Bet = Callable[..., object]

RANKS, SUITS = dict(zip("23456789TJQKA", Rank, strict=True)), dict(zip("chds", Suit, strict=True))
SPARE, MOST_SPARE = 0.1, 0.02  # share of the limit, and seconds, reserved for communication with the host


class CannotPlay(Exception):
    """Raised if a bot cannot be loaded; the message states where and why."""


# The bot.


def source(path: str) -> bytes:
    """Return the text of a file."""
    with FileIO(path) as file:
        return file.readall()


def compiled(path: str) -> CodeType:
    """Return the code of a file. Raise CannotPlay if it is not valid Python."""
    try:
        return compile(source(path), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise CannotPlay(f"{path}:{error.lineno or 1}: error: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:  # the file contains null bytes
        raise CannotPlay(f"{path}:1: error: {error}") from None


def loaded(path: str) -> Bet:
    """Return the `bet` of a file, loaded as the module `holdem.turn`. Raise CannotPlay if that fails."""
    module = ModuleType("holdem.turn")
    module.__file__, module.__package__ = path, "holdem"
    sys.modules[module.__name__] = module
    code = compiled(path)
    try:
        exec(code, vars(module))
    except BaseException as error:
        sys.__excepthook__(type(error), error, error.__traceback__)
        raise CannotPlay(f"{path}:{line_of(error, path)}: error: {type(error).__name__}: {error}") from None
    bet = vars(module).get("bet")
    if not callable(bet):
        raise CannotPlay(f"{path}:{first_function(path)}: error: there is no function named bet in this file")
    return bet


def line_of(error: BaseException, path: str) -> int:
    """Return the last line of a file in the traceback of an error."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def first_function(path: str) -> int:
    """Return the line of a file's first function; it may be `bet` under another name."""
    body = ast.parse(source(path)).body
    return next((node.lineno for node in body if isinstance(node, ast.FunctionDef)), 1)


# The game.


def cards(joined: str) -> list[Card]:
    """Return the cards of a field as new objects."""
    return [Card(RANKS[joined[at]], SUITS[joined[at + 1]]) for at in range(0, len(joined), 2)] if joined != "-" else []


def others(field: str) -> list[Other]:
    """Return the opponents of a field."""
    players = [player.split(":") for player in field.split(",")] if field != "-" else []
    return [Other(int(chips), int(bet_amt), died == "1") for chips, bet_amt, died in players]


def arguments(line: str) -> tuple[object, ...]:
    """Return the fields of a question in the order of the parameters of `bet`."""
    mine, hand, bet, betting, board, low, high, total = line.split(" ")
    return int(mine), cards(hand), others(bet), others(betting), cards(board), int(low), int(high), int(total)


def too_late(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Interrupt the bot like the engine of 2018."""
    raise TimeoutError


def answer(bet: Bet, line: str, seconds: float) -> str:
    """Return the answer to one question, also if the bot raises an exception."""
    asked = arguments(line)
    try:
        signal.signal(signal.SIGALRM, too_late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return convert.line(bet(*asked))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:  # also SystemExit, which ended the engine of 2018
        sys.__excepthook__(type(error), error, error.__traceback__)
        return convert.report(error)


def kept_for_us() -> tuple[int, int]:
    """Return private descriptors for questions and answers. The bot's own input is empty; its output goes to stderr."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return questions, answers


def main(first: str, second: str) -> None:
    """Check the bot, or play with it."""
    questions, answers = kept_for_us()
    path = second if first == "--check" else first
    sys.argv[:] = [path]
    sys.path[0] = os.getcwd()  # noqa: PTH109 - the bot may change directory; pathlib would slow down the start
    home = f"{sys.path[0]}/{path.rpartition('/')[0]}"
    sys.path.append(home)  # the bot's own modules, for both kinds of import
    holdem.__path__.append(home)
    try:
        bet = loaded(path)
    except CannotPlay as why:
        sys.exit(str(why))
    if first == "--check":
        return
    limit = float(second)
    seconds = limit - min(SPARE * limit, MOST_SPARE)
    with os.fdopen(questions, encoding="ascii") as lines:
        for line in lines:
            os.write(answers, f"{answer(bet, line.rstrip(), seconds)}\n".encode())
    sys.stderr.flush()
    os._exit(0)  # do not wait for threads of the bot


main(*sys.argv[1:])
