"""Writes a table of hold'em as the play.log that the 2018 engine would have written.

A snapshot of the table is written before each decision, after the bets of each street, after each community card, and
when the game is over. Other lines report the death of a bot, in the words of the engine if it had any:

    a number outside the limits   P1 tried to bet 9 chips. (min: 1, max: 1)
    too late (wall clock, CPU)    P1 tried to bet, but it took too long!
    an exception                  P1 tried to bet, but something went wrong (ZeroDivisionError)!
    any other fault               P1 tried to bet, but something went wrong (Crash)!   the kind of fault, capitalized

Consecutive identical lines are written once, as in 2018. Neither the engine nor this module logs the winner of a pot.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from host.games import hands
from protocols.wire import Answer, Fault, FaultKind, Move

GAME = "holdem"
INFO, ERROR = "INFO:root:", "ERROR:root:"


class Card(NamedTuple):
    """Card in the encoding of the play.log."""

    suit: int  # 1 to 4: club, heart, diamond, spade
    rank: int  # 2 to 14


class LoggedPlayer(NamedTuple):
    """Player in a snapshot of the table."""

    name: str
    cards: tuple[Card, ...]
    bet_amt: int
    chips: int
    died: bool


class GameSnapshot(NamedTuple):
    """Snapshot of the table: the fields of a line of the play.log, in their order in the file."""

    round: int
    acc_chips: int
    community_cards: tuple[Card, ...]
    players: tuple[LoggedPlayer, ...]  # in seat order
    all_in: bool


class Death(NamedTuple):
    """Line that names a bot that is out of the round because of its answer, and the reason."""

    text: str


PlaylogLine = GameSnapshot | Death
PLAYLOG_CARDS = {name: Card(hands.SUITS.index(name[1]) + 1, hands.RANKS.index(name[0]) + 2) for name in hands.CARDS}


class Watcher:
    """Records each snapshot and each death at a table, in `lines`. Pass its method `tell` to a Table."""

    def __init__(self, names: Sequence[str]) -> None:
        self.lines: list[PlaylogLine] = []
        self._names = names
        self._players: dict[int, LoggedPlayer] = {}  # by seat, in the order of the round
        self._look = GameSnapshot(round=0, acc_chips=0, community_cards=(), players=(), all_in=False)

    def text(self) -> str:
        """Return the log as text. If the game is not over, the log ends before the open question."""
        return to_text(self.lines)

    def tell(self, event: str, **facts: Any) -> None:
        """Process one event of a game of hold'em: update the snapshot, and append a line if the event requires one."""
        match event, facts:
            case "round.start", {"round": number, "seats": seats, "chips": chips, "ante": ante}:
                self._sit(number, seats, [had - ante for had in chips])
            case "deal", {"seat": seat, "card": card}:
                self._change(seat, cards=(*self._players[seat].cards, PLAYLOG_CARDS[card]))
            case "board", {"card": card, "all_in": all_in}:
                for seat in self._players:
                    self._change(seat, bet_amt=0)
                board = (*self._look.community_cards, PLAYLOG_CARDS[card])
                self._look = self._look._replace(community_cards=board, all_in=all_in)
                self._write()
            case (("ask" | "street.end"), _):
                self._write()
            case "bet", {"seat": seat, "n": n, "bet": bet, "chips": left}:
                self._change(seat, bet_amt=bet, chips=left)
                self._look = self._look._replace(acc_chips=self._look.acc_chips + n)
            case "die", {"seat": seat, "answer": answer, "min": low, "max": high}:
                self._change(seat, died=True)
                self.lines.append(Death(death(self._names[seat], answer, low, high)))
            case "table.end", {"round": number, "seats": seats, "chips": chips}:
                self._sit(number, seats, chips)
                self._write()

    def _sit(self, number: int, seats: Sequence[int], chips: Sequence[int]) -> None:
        places = zip(seats, chips, strict=True)
        self._players = {
            seat: LoggedPlayer(name=self._names[seat], cards=(), bet_amt=0, chips=chips, died=False)
            for seat, chips in places
        }
        self._look = GameSnapshot(round=number, acc_chips=0, community_cards=(), players=(), all_in=False)

    def _change(self, seat: int, **facts: Any) -> None:
        self._players[seat] = self._players[seat]._replace(**facts)

    def _write(self) -> None:
        self.lines.append(self._look._replace(players=tuple(self._players.values())))


def death(name: str, answer: Answer, low: int, high: int) -> str:
    """Return the text of the play.log about an answer that puts a bot out of the round.

    `low` and `high` are the smallest and the largest legal bet, in chips.
    """
    match answer:
        case Move(n=n):
            return f"{name} tried to bet {n} chips. (min: {low}, max: {high})"
        case Fault(FaultKind.TIMEOUT | FaultKind.CPU):
            return f"{name} tried to bet, but it took too long!"
        case Fault(FaultKind.EXCEPTION, what) if what:
            return f"{name} tried to bet, but something went wrong ({what})!"
    return f"{name} tried to bet, but something went wrong ({answer.kind.capitalize()})!"


def to_text(lines: Iterable[PlaylogLine]) -> str:
    """Return lines as the text of a play.log. Write consecutive identical lines once."""
    return "".join(f"{line}\n" for line, _ in groupby(map(to_line, lines)))


def to_line(line: PlaylogLine) -> str:
    """Return one line as the text of a play.log, without its line end."""
    if isinstance(line, Death):
        return ERROR + line.text
    players = [player._asdict() | {"cards": _as_json(player.cards)} for player in line.players]
    look = line._asdict() | {"community_cards": _as_json(line.community_cards), "players": players}
    return INFO + json.dumps(look)


def _as_json(cards: Iterable[Card]) -> list[dict[str, int]]:
    return [card._asdict() for card in cards]
