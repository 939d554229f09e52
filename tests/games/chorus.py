"""A game for tests: it asks all seats at once, its moves are texts, and partners may share a side."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from host.games.engine import Game, Opening, Play, Request, Scores, Tell
from host.games.luck import Shuffler
from host.rules.catalogue import GameRef
from protocols.wire import Grammar, Move
from protocols.wire import View as AnyView


class Rules(NamedTuple):
    """The numbers of a game."""

    seats: int = 2
    rounds: int = 3
    partners: bool = False


class View(NamedTuple):
    """The seat, the round, what is asked, and all texts of the round before."""

    seat: int
    round: int
    task: str
    heard: tuple[str, ...]


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal: anything but the text `no`."""
    return move.text != "no"


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Ask all seats at once, then one seat, in each round. The scores are the characters that each bot has said."""
    chairs = 4 if rules.partners else 2
    scores, heard = [0, 0], tuple[str, ...]()
    for turn in range(rules.rounds):
        answers = yield [Request(seat, View(seat, turn, "SAY", heard)) for seat in reversed(range(chairs))]
        heard = tuple(answer.text if isinstance(answer, Move) else str(answer.kind) for answer in answers)
        seat = luck.below(chairs)
        answer = yield Request(seat, View(seat, turn, "REPEAT", heard))
        scores[seat % 2] += sum(map(ord, answer.text)) if isinstance(answer, Move) else -1000
    return scores[0], scores[1]


def winners(scores: Scores) -> tuple[int, ...]:
    """Return the bot with more points."""
    return () if scores[0] == scores[1] else (0,) if scores[0] > scores[1] else (1,)


def sides(rules: Rules) -> Sequence[Sequence[int]]:
    """Return the seats of each bot."""
    return ((0, 2), (1, 3)) if rules.partners else ((0,), (1,))


GAME = Game(
    name="chorus",
    title="Chorus",
    seats=(2, 2),
    protocol="lines",
    presets={"usual": Rules()},
    grammar=Grammar(re.compile(r"(?P<text>[ -~]+)"), "a text", verb="SAY"),
    play=play,
    allows=allows,
    winners=winners,
    view=View,
    edges={"the first question": View(0, 0, "SAY", ())},
    opening=Opening("round", 1, below="a", otherwise="b"),
    card="Say something.",
    sides=sides,
    ref=GameRef("chorus:GAME", str(Path(__file__).parent)),
)
