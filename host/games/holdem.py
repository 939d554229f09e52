"""Implements Texas hold'em with an ante and no blinds: the Banksalad Hold'em of PyCon Korea 2018. A move is an amount.

Sources: the README of Rainist/pycon-2018-banksalad-holdem, the organisers' post with three bots, and the engine (last
commit of 2018-08-19). The preset `banksalad` plays as the engine did. The preset `standard` ranks hands as in poker
(hands.py). Where the sources are incomplete or contradict each other, these rules apply:

HE-START   The seats are drawn before each round, also before the first, and again after the end, as play.log shows.
HE-ANTE    The ante is destroyed. It is not part of the pot or of total_bet_amt.
HE-OUT1    A player that would have no chip left after an ante is out. It loses its last chip.
HE-ROYAL   Royal flushes tie.
HE-EVAL    Hands rank as in the engine unless `ranking="standard"`.
HE-BOARD   community_cards is empty before the flop.
HE-LAST    A player is asked even if all others are dead. If it folds, the pot is lost.
HE-REST    The remainder of a divided pot is lost.
HE-FEWER2  Players that are out rank by their last round, then by their chips (see `scores`).
HE-EXIT    Any failure of a bot costs the bot the round, and affects no other bot.

HE-TOP2 and HE-GROUPS are in host/stages/groups.py. HE-1S is the time limit of a move (host/sandbox/limits.py).

A bet cannot exceed the chips of the poorest living player. So every player can pay a call, and one pot is enough.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from host.games import hands
from host.games.engine import Chance, Display, Game, Opening, Play, Request, Scores, Shuffles, Tell, best, new_tuple
from host.games.luck import Shuffler
from protocols.wire import Answer, Grammar, Move, Word
from protocols.wire import View as AnyView

DECK = tuple(hands.CARDS)
CARDS_PER_STREET = (0, 3, 1, 1)  # community cards dealt at the start of each street
MIN_BET = 1  # chips; a player cannot check for free
PLAYERS_AT_END = 2  # the game ends when this many players are left, or fewer
HAND_RANKINGS: Mapping[str, Callable[[Sequence[int]], hands.Worth]] = {
    "banksalad": hands.banksalad,
    "standard": hands.standard,
}


class Rules(NamedTuple):
    """The rules that an organiser can set."""

    seats: int = 5
    """The bots at a table."""
    chips: int = 200
    """The chips of each bot at the start."""
    rounds: int = 100
    """The most rounds of a game."""
    ante: int = 1
    """The chips that each bot pays at the start of a round."""
    ranking: Literal["banksalad", "standard"] = "banksalad"
    """The order of hands: that of the competition of 2018, or the standard order."""


class Other(NamedTuple):
    """The public data of a player: chips left, chips bet on this street, and whether it is out of the round."""

    chips: int
    bet_amt: int
    died: bool


class View(NamedTuple):
    """The question to a bot, with the field names of 2018."""

    my_chips: int
    my_cards: Word
    bet_players: tuple[Other, ...]  # players that have acted since the last raise, the raiser first
    betting_players: tuple[Other, ...]  # players that act after this one; dead players keep their place in the queue
    community_cards: Word
    min_bet_amt: int
    max_bet_amt: int
    total_bet_amt: int


class Player:
    """A bot at the table: its chips for the game, its cards for the round, its bet for the street."""

    __slots__ = ("bet", "cards", "chips", "died", "last", "seat")

    def __init__(self, seat: int, chips: int) -> None:
        self.seat, self.chips = seat, chips
        self.cards, self.bet, self.died = "", 0, False
        self.last = 0  # the last round of a player that is out; else 0

    def shown(self) -> Other:
        """Return the public data of the player."""
        return new_tuple(Other, (self.chips, self.bet, self.died))


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a bet is within its limits, or is 0, which folds. A bot that bets anything else also folds."""
    return move.verb == "BET" and (move.n == 0 or view[5] <= move.n <= view[6])


def bet(players: list[Player], pot: int, board: str, tell: Tell) -> Generator[Request, Answer, int]:
    """Ask the players in turn until each has called the highest bet or died. Return the pot, which gets all bets."""
    for player in players:
        player.bet = 0
    level, todo, done = 0, list(players), list[Player]()
    # The public data of the players in these lists. A player's data changes only when it is in neither. As tuples, they
    # are the fields of the next view as they are.
    acting: tuple[Other, ...] = tuple([player.shown() for player in players])
    acted: tuple[Other, ...] = ()
    least = min([player.chips for player in players if not player.died])
    while todo:
        player, acting = todo.pop(0), acting[1:]
        if player.died:
            done.append(player)
            acted += (player.shown(),)
            continue
        low = (level or MIN_BET) - player.bet
        high = low if low > least else least
        if tell:
            tell("ask", seat=player.seat, min=low, max=high)
        view = new_tuple(View, (player.chips, player.cards, acted, acting, board, low, high, pot))
        answer = yield new_tuple(Request, (player.seat, view))
        if type(answer) is Move and answer.verb == "BET" and low <= (n := answer.n) <= high:
            player.chips -= n
            player.bet += n
            pot += n
            if player.chips < least:
                least = player.chips
            if n > low:
                level = player.bet
                todo += done
                acting += acted
                done, acted = [], ()
            if tell:
                tell("bet", seat=player.seat, n=n, bet=player.bet, chips=player.chips, raises=n > low)
        else:
            player.died = True
            if player.chips == least:
                least = min([other.chips for other in players if not other.died], default=0)
            if tell:
                tell("die", seat=player.seat, answer=answer, min=low, max=high)
        done.append(player)
        acted += (player.shown(),)
    return pot


class RoundResult(NamedTuple):
    """How a round ended. `worth` has (seat, category, rank) for each player that showed its cards."""

    end: str  # all_died, last_player or showdown
    board: str
    pot: int
    all_in: bool
    winners: tuple[int, ...] = ()
    share: int = 0
    worth: tuple[tuple[int, int, int], ...] = ()


def showdown(ranking: str, players: list[Player], board: str, pot: int, all_in: bool) -> RoundResult:
    """Divide the pot among the living players with the best hand."""
    value, rank = hands.CARDS, HAND_RANKINGS[ranking]
    shared = [value[board[at : at + 2]] for at in range(0, len(board), 2)]
    shown = [(rank([value[p.cards[:2]], value[p.cards[2:]], *shared]), p) for p in players if not p.died]
    best = max([worth for worth, _ in shown])
    winners = [player for worth, player in shown if worth == best]
    share = pot // len(winners)
    for winner in winners:
        winner.chips += share
    worth = tuple([(player.seat, *worth) for worth, player in shown])
    return RoundResult("showdown", board, pot, all_in, tuple([winner.seat for winner in winners]), share, worth)


def play_round(
    rules: Rules, players: list[Player], deck: Iterator[str], tell: Tell
) -> Generator[Request, Answer, RoundResult]:
    """Play one round from the ante to the division of the pot. `players` are in seat order."""
    for player in players:
        player.chips -= rules.ante
        player.cards, player.died = "", False
    for _ in range(2):
        for player in players:
            card = next(deck)
            player.cards += card
            if tell:
                tell("deal", seat=player.seat, card=card)
    pot, board, all_in = 0, "", False
    for cards in CARDS_PER_STREET:
        for _ in range(cards):
            card = next(deck)
            board += card
            if tell:
                tell("board", card=card, pot=pot, all_in=all_in)
        if all_in:
            continue
        pot = yield from bet(players, pot, board, tell)
        if tell:
            tell("street.end", pot=pot)
        all_in = 0 in [player.chips for player in players]
        living = [player for player in players if not player.died]
        if not living:
            return RoundResult("all_died", board, pot, all_in)
        if len(living) == 1:
            living[0].chips += pot
            return RoundResult("last_player", board, pot, all_in, (living[0].seat,), pot)
    return showdown(rules.ranking, players, board, pot, all_in)


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play a game: rounds until two players or fewer are left, or until `rules.rounds` rounds are played."""
    everybody = [Player(seat, rules.chips) for seat in range(rules.seats)]
    left, number = everybody, 1
    while True:
        players = [everybody[seat] for seat in luck.shuffled([player.seat for player in left])]
        seats, before = [player.seat for player in players], [player.chips for player in players]
        if len(players) <= PLAYERS_AT_END or number > rules.rounds:
            break
        if tell:
            tell("round.start", round=number, seats=seats, chips=before, ante=rules.ante)
        result = yield from play_round(rules, players, luck.shuffled(DECK), tell)
        for player in players:
            if player.chips <= rules.ante:
                player.last = number
        left = [player for player in left if not player.last]
        if tell:
            after, out = [player.chips for player in players], [player.seat for player in players if player.last]
            tell("round.end", round=number, chips=after, out=out, **result._asdict())
        number += 1
    if tell:
        tell("table.end", round=number, seats=seats, chips=before)
    return scores(everybody)


def scores(players: list[Player]) -> Scores:
    """Return a score for each seat, for example 795, 199, 0, -1, -1.

    The score of a player that is left is its chips, which are never 0. The score of a player that is out is minus the
    number of players that went out later: in a later round, or in the same round with more chips (HE-FEWER2).
    """
    out = [(player.last, player.chips) for player in players if player.last]
    return tuple(
        -sum(later > (player.last, player.chips) for later in out) if player.last else player.chips
        for player in players
    )


def chips(scores: Scores) -> tuple[int, ...]:
    """Return the final chips of each seat, by seat: its score, or 0 if it is out."""
    return tuple(max(score, 0) for score in scores)


def view_of(line: str) -> View:
    """Parse the line of a question. Return its view."""

    def others(field: str) -> tuple[Other, ...]:
        players = [player.split(":") for player in field.split(",") if player != "-"]
        return tuple(Other(int(chips), int(bet_amt), died == "1") for chips, bet_amt, died in players)

    mine, cards, bet, betting, board, low, high, total = line.split(" ")
    board = board.strip("-")
    return View(int(mine), cards, others(bet), others(betting), board, int(low), int(high), int(total))


GAME = Game(
    name="holdem",
    title="Banksalad Hold'em",
    seats=(3, 5),
    protocol="lines",
    decisions=600,
    presets={"banksalad": Rules(), "standard": Rules(ranking="standard")},
    grammar=Grammar(pattern=re.compile(r"(?P<n>-?[0-9]{1,12})"), expected="a number of chips", verb="BET"),
    play=play,
    allows=allows,
    winners=best,
    chance=Chance(lambda _rules: Shuffles((("seats of the players that are left", None), ("deck", DECK)))),
    view=View,
    edges={
        "the first question of a game": view_of("199 TcJd - 199:0:0,199:0:0,199:0:0,199:0:0 - 1 199 0"),
        "everybody else is dead": view_of("199 2h4d 199:0:1,199:0:1,199:0:1,199:0:1 - - 1 199 0"),
        "all or nothing": view_of("199 Kd5c 0:199:0 199:0:0,199:0:0,199:0:1 - 199 199 199"),
        "raised after a bet of one": view_of("193 4dAs 188:8:0,188:8:0,188:8:0,200:8:0 - - 7 188 33"),
        "a limit of one chip": view_of("930 Qc7s 0:1:0,23:1:0 - - 1 1 2"),
        "rich, among three": view_of("795 Td4d 15:0:1 180:0:0 - 1 180 0"),
        "first on the flop": view_of("186 7h9c - 430:0:0,187:0:1,185:0:0 Ks9h3d 1 185 3"),
        "a raise, dead players on both sides": view_of("199 3c3h 178:10:0,188:0:1 193:0:1,187:1:0 2d2c5c 9 178 45"),
        "first, with the last chip": view_of("1 9c6d - 18:0:0,166:0:0,58:0:0,17:0:0 8hAd2d 1 1 675"),
        "somebody is all in": view_of("415 Jd5d 0:167:0 380:0:0 9cTcAs 167 167 170"),
        "a straight flush on the turn": view_of("160 6s2d 159:1:0,190:1:0,159:1:0 289:0:0 5s7s4s3s 1 159 33"),
        "last on the turn, all in or out": view_of("1 9h8h 188:0:1,187:0:1,188:0:1,0:1:0 - 4s8dQh7s 1 1 431"),
        "two pairs on the river": view_of("665 Ac6h 100:1:0 138:0:0 JcJd7d2h6s 1 100 37"),
        "first on the river, three dead": view_of("196 Ac6d - 197:0:1,197:0:1,197:0:1,196:0:0 8hTd7s6h3h 1 196 12"),
        "a wheel, a call for everything": view_of("151 Ah5d 31:151:0,31:151:0,1:151:0 265:0:1 4hQcAc3s2c 151 151 511"),
        "everybody else is dead on the river": view_of("177 7c8s 190:0:1,193:0:1,177:0:1 188:0:1 2d2c5cTdQd 1 177 65"),
    },
    opening=Opening("min_bet_amt", 20, "min_bet_amt", "0"),
    card=(
        "One line asks: <my_chips> <my_cards> <bet_players> <betting_players> <community_cards> <min_bet_amt> "
        "<max_bet_amt> <total_bet_amt>, for example `193 4dAs 188:8:0,200:8:0 199:0:1 2c7hTh 7 188 33`. "
        "Cards are joined: rank 23456789TJQKA, suit chds. Players are chips:bet:died, joined by commas. `-` is empty. "
        "Answer with the chips to put in now: the minimum calls, more raises, up to the maximum; 0 folds."
    ),
    chips="table",
    display=Display(
        chips_by_round=True,
        standing=("round.start", "chips"),
        all_in=("bet", "chips"),
        omitted_events=frozenset({"die", "bet"}),
        omitted_facts={"board": ("pot", "all_in"), "round.start": ("ante",), "round.end": ("board", "all_in", "out")},
    ),
)
