"""A hold'em game as the play.log that the 2018 engine would have written, and such a file read back.

A line is a look at the table: before each decision, after each street of bets, after each card of the board, and once
when the game is over. A bot's death stands between them, in the engine's words where it had some:

    a number outside the limits   P1 tried to bet 9 chips. (min: 1, max: 1)
    too late (wall clock, CPU)    P1 tried to bet, but it took too long!
    an exception                  P1 tried to bet, but something went wrong (ZeroDivisionError)!
    any other fault               P1 tried to bet, but something went wrong (Crash)!   the kind of fault, capitalized

Identical lines in a row are written once, as in 2018. The winning of a pot was never logged and is not.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated, Any

from msgspec import Meta, MsgspecError, Struct, to_builtins
from msgspec.json import decode
from msgspec.structs import replace

from host.games import hands, holdem
from host.games.engine import Table
from host.games.luck import Shuffler
from protocols.wire import Answer, Fault, FaultKind, Move

INFO, ERROR = "INFO:root:", "ERROR:root:"
Amount = Annotated[int, Meta(ge=0)]


class Card(Struct, frozen=True, forbid_unknown_fields=True):
    """A card, in the file's numbers."""

    suit: Annotated[int, Meta(ge=1, le=4)]  # club, heart, diamond, spade
    rank: Annotated[int, Meta(ge=2, le=14)]


class Player(Struct, frozen=True, forbid_unknown_fields=True):
    """A player in a look at the table."""

    name: str
    cards: tuple[Card, ...]
    bet_amt: Amount
    chips: Amount
    died: bool


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """The table at one moment: the fields of a line, in its order."""

    round: Amount
    acc_chips: Amount
    community_cards: tuple[Card, ...]
    players: tuple[Player, ...]  # in seat order
    all_in: bool


class Death(Struct, frozen=True):
    """Why a bot died for the round, in words that name it."""

    text: str


Line = Look | Death
CARDS = {name: Card(hands.SUITS.index(name[1]) + 1, hands.RANKS.index(name[0]) + 2) for name in holdem.DECK}


class Watcher:
    """Somebody at the table who writes down each look and each death: give its `tell` to a Table."""

    def __init__(self, names: Sequence[str]) -> None:
        self.lines: list[Line] = []
        self._names = names
        self._players: dict[int, Player] = {}  # by seat, in the order of the round
        self._look = Look(0, 0, (), (), False)

    def tell(self, event: str, **facts: Any) -> None:
        """Follow one event of a game of hold'em."""
        match event, facts:
            case "round.start", {"round": number, "seats": seats, "chips": chips, "ante": ante}:
                self._sit(number, seats, [had - ante for had in chips])
            case "deal", {"seat": seat, "card": card}:
                self._change(seat, cards=(*self._players[seat].cards, CARDS[card]))
            case "board", {"card": card, "all_in": all_in}:
                for seat in self._players:
                    self._change(seat, bet_amt=0)
                board = (*self._look.community_cards, CARDS[card])
                self._look = replace(self._look, community_cards=board, all_in=all_in)
                self._write()
            case (("ask" | "street.end"), _):
                self._write()
            case "bet", {"seat": seat, "n": n, "bet": bet, "chips": left}:
                self._change(seat, bet_amt=bet, chips=left)
                self._look = replace(self._look, acc_chips=self._look.acc_chips + n)
            case "die", {"seat": seat, "answer": answer, "min": low, "max": high}:
                self._change(seat, died=True)
                self.lines.append(Death(death(self._names[seat], answer, low, high)))
            case "table.end", {"round": number, "seats": seats, "chips": chips}:
                self._sit(number, seats, chips)
                self._write()

    def _sit(self, number: int, seats: Sequence[int], chips: Sequence[int]) -> None:
        places = zip(seats, chips, strict=True)
        self._players = {seat: Player(self._names[seat], (), 0, had, False) for seat, had in places}
        self._look = Look(number, 0, (), (), False)

    def _change(self, seat: int, **facts: Any) -> None:
        self._players[seat] = replace(self._players[seat], **facts)

    def _write(self) -> None:
        self.lines.append(replace(self._look, players=tuple(self._players.values())))


def death(name: str, answer: Answer, low: int, high: int) -> str:
    """Return what the file says of an answer that cost a bot the round."""
    match answer:
        case Move(n=n):
            return f"{name} tried to bet {n} chips. (min: {low}, max: {high})"
        case Fault(FaultKind.TIMEOUT | FaultKind.CPU):
            return f"{name} tried to bet, but it took too long!"
        case Fault(FaultKind.EXCEPTION, what) if what:
            return f"{name} tried to bet, but something went wrong ({what})!"
    return f"{name} tried to bet, but something went wrong ({answer.kind.capitalize()})!"


def playlog(rules: holdem.Rules, luck: Shuffler, answers: Iterable[Answer], names: Sequence[str]) -> str:
    """Play a game again and return its play.log; `names` are those of its seats.

    Of a game under way it is what the engine had written when it asked the open question.
    """
    watcher = Watcher(names)
    Table(holdem.GAME, rules, luck, answers, watcher.tell)
    return written(watcher.lines)


def written(lines: Iterable[Line]) -> str:
    """Return looks and deaths as a file."""
    return "".join(f"{line}\n" for line, _ in groupby(map(spelled, lines)))


def spelled(line: Line) -> str:
    """Return one line of the file, its end not included."""
    return ERROR + line.text if isinstance(line, Death) else INFO + json.dumps(to_builtins(line))


def read_playlog(text: str) -> list[Line]:
    """Return the looks and deaths of a play.log; raise ValueError that names the line where it is torn or foreign."""
    lines = text.split("\n")
    torn = lines.pop()
    read = [_read(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1)]
    if torn:
        raise ValueError(f"line {len(lines) + 1} of the play.log is torn: it has no end")
    if not read or not _over(read[-1]):
        raise ValueError(f"line {len(lines) + 1} of the play.log is missing: a game ends with a look without cards")
    return read


def _read(number: int, line: str) -> Line:
    if line.startswith(ERROR):
        return Death(line.removeprefix(ERROR))
    if not line.startswith(INFO):
        raise ValueError(f"line {number} of the play.log begins with {line[:20]!r}, not with {INFO} or {ERROR}")
    try:
        look = decode(line.removeprefix(INFO), type=Look)
    except MsgspecError as wrong:
        raise ValueError(f"line {number} of the play.log is torn or foreign: {wrong}") from wrong
    if spelled(look) != line:
        raise ValueError(f"line {number} of the play.log is not as the 2018 engine wrote it")
    return look


def _over(line: Line) -> bool:
    """Return whether this is the look at a game that is over."""
    return isinstance(line, Look) and not any(player.cards for player in line.players)
