"""Plays an unchanged turn.py of 2018: a question a line comes in, what its `bet` makes of it goes out, a line each.

    runner.py turn.py SECONDS      play; SECONDS is what the host allows for a move
    runner.py --check turn.py      say in which line and why it cannot play

The bot finds the package `holdem` beside this file, and is the module `holdem.turn` in it. What it prints goes to
standard error, by whatever way; what it reads is empty. A `bet` that takes too long gets a TimeoutError, once, shortly
before the host's own limit: only who swallows it is killed. Standard library only: this runs in the bot's process,
and nothing else is in it, so there is nobody whose cards a look at the stack could show.
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
import holdem.core.madehands  # the bot's first question would pay for it
from holdem.core.cards import Card, Rank, Suit
from holdem.player import Other

Bet = Callable[..., object]

RANKS, SUITS = dict(zip("23456789TJQKA", Rank, strict=True)), dict(zip("chds", Suit, strict=True))
SPARE, MOST_SPARE = 0.1, 0.02  # of the limit, and seconds: kept for the way from the host and back


class CannotPlay(Exception):
    """Raised for a bot that does not even load; says where and why."""


# The bot.


def source(path: str) -> bytes:
    """Return what a file says."""
    with FileIO(path) as file:
        return file.readall()


def compiled(path: str) -> CodeType:
    """Return the code of a file; raise CannotPlay when it is no Python."""
    try:
        return compile(source(path), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise CannotPlay(f"{path}:{error.lineno or 1}: error: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:  # it has null bytes
        raise CannotPlay(f"{path}:1: error: {error}") from None


def loaded(path: str) -> Bet:
    """Return the `bet` of a file, loaded as the module `holdem.turn`. Raise CannotPlay when that fails."""
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
    """Return the last line of a file that an error has passed through."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def first_function(path: str) -> int:
    """Return where a file's first function is: it may only have another name."""
    body = ast.parse(source(path)).body
    return next((node.lineno for node in body if isinstance(node, ast.FunctionDef)), 1)


# The game.


def cards(joined: str) -> list[Card]:
    """Return the cards of a field, new ones every time."""
    return [Card(RANKS[joined[at]], SUITS[joined[at + 1]]) for at in range(0, len(joined), 2)] if joined != "-" else []


def others(field: str) -> list[Other]:
    """Return the opponents of a field."""
    players = [player.split(":") for player in field.split(",")] if field != "-" else []
    return [Other(int(chips), int(bet_amt), died == "1") for chips, bet_amt, died in players]


def arguments(line: str) -> tuple[object, ...]:
    """Return what a question's line says, in the order of the parameters of `bet`."""
    mine, hand, bet, betting, board, low, high, total = line.split(" ")
    return int(mine), cards(hand), others(bet), others(betting), cards(board), int(low), int(high), int(total)


def too_late(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Interrupt the bot, as the engine did."""
    raise TimeoutError


def answer(bet: Bet, line: str, seconds: float) -> str:
    """Return the answer to one question, whatever the bot does."""
    asked = arguments(line)
    try:
        signal.signal(signal.SIGALRM, too_late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return convert.line(bet(*asked))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:  # SystemExit too: it ended the engine once
        sys.__excepthook__(type(error), error, error.__traceback__)
        return convert.report(error)


def kept_for_us() -> tuple[int, int]:
    """Return descriptors for questions and answers that nothing else uses; the bot's own lead nowhere and to stderr."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return questions, answers


def main(first: str, second: str) -> None:
    """Check or play."""
    questions, answers = kept_for_us()
    path = second if first == "--check" else first
    sys.argv[:] = [path]
    sys.path[0] = os.getcwd()  # noqa: PTH109 - wherever the bot goes; pathlib would be one more module of its start
    home = f"{sys.path[0]}/{path.rpartition('/')[0]}"
    sys.path.append(home)  # where its own modules are, if it has any, for either kind of import
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
    os._exit(0)  # threads of the bot, if any, have nothing left to do


main(*sys.argv[1:])
