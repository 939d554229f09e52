"""Writes tournaments of a game in Python that fails."""

from collections.abc import Sequence
from pathlib import Path

RULES = '''
import ctypes
import os
import re
import sys
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from host.games.engine import Game, Opening, Request, best_unless_equal
from host.play.sources import own_rules
from protocols.wire import Grammar, Move

HERE = Path(__file__).parent
MODE = (HERE / "mode").read_text().split()  # when it fails: never, once or always; and how
if "endless" in MODE:
    own_rules.LIMITS = own_rules.LIMITS._replace(move=0.5)


class Rules(NamedTuple):
    seats: int = 2
    chips: int = 10


class View(NamedTuple):
    turn: int
    card: int
    heard: tuple[int, ...]


def fails(key):
    """Return whether the game fails at this answer: always, or only the first time."""
    if MODE[0] != "once":
        return MODE[0] == "always"
    mark = HERE / "marks" / key
    mark.parent.mkdir(exist_ok=True)
    try:
        mark.open("x").close()
    except FileExistsError:
        return False
    return True


def play(rules, luck, tell=None):
    """Two turns of one seat after the other, then one of all together. The sums of the numbers are the scores."""
    card = luck.below(1000)
    totals, heard = [0] * rules.seats, []
    for turn in (0, 1, 2):
        if tell:
            tell("round", turn=turn, card=card)
        seats = range(rules.seats)
        asked = [Request(seat, View(turn, card, tuple(heard))) for seat in seats]
        if turn == 2:
            answers = yield asked
        else:
            answers = []
            for request in asked:
                answers.append((yield request))
        numbers = [answer.n if isinstance(answer, Move) and answer.n < 100 else 0 for answer in answers]
        if "heard" in MODE:
            with (HERE / "heard").open("a") as file:
                print(card, turn, *numbers, file=file)
        if 77 in numbers and fails(f"{card}-{turn}"):
            if "segfault" in MODE:
                ctypes.string_at(0)
            while "endless" in MODE:
                pass
            if "exit" in MODE:
                sys.exit("that is enough")
            if "unreadable" in MODE:
                os.write(2, b'{"reason": "\\xff"}\\n')  # a report of a failure that is not UTF-8
                os._exit(1)
            if "quit" in MODE:
                os._exit(0)
            if "thread" not in MODE:
                raise LookupError("77 is too much")
            Timer(0.05, ctypes.string_at, (0,)).start()  # while the next bot is asked
        heard += numbers
        totals = [total + number for total, number in zip(totals, numbers)]
    return tuple(totals)


def allows(rules, view, move):
    return move.n < 100


GAME = Game(
    name="sums", title="Sums", seats=(2, 5), protocol="lines", presets={"sums": Rules()}, chips="table",
    grammar=Grammar(re.compile("(?P<verb>PLAY) (?P<n>[0-9]{1,4})"), "PLAY <number>"), play=play, allows=allows,
    winners=best_unless_equal, view=View, edges={"first": View(0, 5, ())}, decisions=6,
    opening=Opening("turn", 1, "PLAY 1", "PLAY 2"), card="Answer PLAY and a number.",
)
'''

BOT = """
import sys

NAME = {name!r}
for line in sys.stdin:
    turn, card, heard = (line.rstrip("\\n").split(" ") + [""])[:3]
    number = {number}
    print("PLAY", number, flush=True)
"""

ORDINARY = "(int(card) * (3 + ord(NAME[0])) + 7 * int(turn)) % 70 + (40 if int(card) % 9 == 0 else 0)"
"""The number that a bot plays: one in nine is not allowed for some."""

FAILS = f"77 if int(card) % {{often}} == 0 and turn == '1' else {ORDINARY}"


def bot(folder: Path, name: str, number: str = ORDINARY, parallel: int = 8) -> None:
    """Write a bot that plays several tables at once."""
    place = folder / "bots" / name
    place.mkdir(parents=True)
    (place / "bot.py").write_text(BOT.format(name=name, number=number))
    (place / "bot.toml").write_text(f"parallel_tables = {parallel}\n")


def tournament(
    folder: Path,
    game: str,
    stages: str,
    *,
    mode: str = "never",
    bots: Sequence[str] = ("ada", "bob", "cyd", "dan"),
    crashing: str = "cyd",
    often: int = 17,
) -> Path:
    """Write a tournament. The game fails at some answers of one bot, as the mode says."""
    folder.mkdir(parents=True)
    for name in bots:
        bot(folder, name, FAILS.format(often=often) if name == crashing else ORDINARY)
    (folder / "sums.py").write_text(RULES)
    set_mode(folder, mode)
    head = f'game = "sums:{game}"\nname = "Sums"\nseed = "a seed for tests"\nbots = ["bots/*"]\n'
    (folder / "croupier.toml").write_text(f'{head}{stages}\n[limits]\nmove = "10 s"\ncpu = "10 s"\n')
    return folder


def set_mode(folder: Path, mode: str) -> None:
    """Say when the game fails from now on."""
    (folder / "mode").write_text(mode)


LEAGUE = """
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 12
practice = true
"""
