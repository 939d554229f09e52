"""Implements Briscola for two players, and for four in partnership. A side that takes 61 of the 120 points wins.

Sources: A, en.biska.com/briscola-rules.html; B, viniciocoletti.it/cards/briscola/regole.php; C, "Piccola enciclopedia di
giuochi e passatempi", pages 69 to 71 (adamoli.org/progetto-ocr); D, everything2.com, "Briscola" by rax. docs/games/briscola.md
lists the rules that other sources decide differently.

BR-CARDS  40 cards: ace, 3, king, queen, jack, 7, 6, 5, 4, 2 from the highest to the lowest, in four suits. An ace counts
          11 points, a 3 ten, a king 4, a queen 3, a jack 2: together 120 (A to D). The cards are French, as in C and D;
          the queen has the place of the Italian horse.
BR-SEATS  Two players, or two pairs; partners sit opposite each other and add up their points (A, B).
BR-DEAL   Each player gets three cards. The next card is turned up and laid under the stock: its suit is trump (A, D).
BR-PLAY   Any card may be played to a trick. The highest trump takes it; without trumps, the highest card of the suit that
          was led (A).
BR-DRAW   After a trick each player draws a card, the one that took the trick first, the others in the order of play. The
          trump card is drawn last (A to D). The player that took the trick leads the next one (B, D).
BR-SHOW   When the stock is empty, partners see each other's cards (C, page 71). They have no signals, and no other way
          to talk (our ruling: C forbids words and signs at the first trick only).
BR-END    The game ends when all cards are played. More than 60 points win; with 60 each nobody wins (A).
BR-TABLE  A table is one deal (our ruling). Seat 0 leads the first trick, as the player on the dealer's right does (A, B).
BR-FAULT  A fault or an illegal move plays the lowest card (our ruling). Trumps are above all other cards; then ranks
          count as in BR-CARDS, and equal ranks are ordered clubs, diamonds, spades, hearts. LOW is the same move, made on
          purpose; HIGH plays the highest card.
"""

import re
from collections.abc import Generator, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from host.games.engine import Chance, Display, Game, Opening, Play, Request, Shuffles, Tell, best_unless_equal
from host.games.luck import Shuffler
from protocols.wire import Answer, Grammar, Move, Word
from protocols.wire import View as AnyView

HAND_CARDS = 3  # in a hand
RANKS, SUITS = "24567JQK3A", "cdsh"
DECK = tuple(rank + suit for rank in RANKS for suit in SUITS)
ORDER = {card: nth for nth, card in enumerate(DECK)}
POINTS_OF_RANK = {"A": 11, "3": 10, "K": 4, "Q": 3, "J": 2}
POINTS = {card: POINTS_OF_RANK.get(card[0], 0) for card in DECK}
ALL_POINTS = sum(POINTS.values())


class Rules(NamedTuple):
    """The rules that an organiser can set."""

    seats: int = 2
    """The bots at a table."""
    partners: bool = False
    """Whether each bot has two of four seats, opposite each other."""


class View(NamedTuple):
    """The question to a bot."""

    players: int  # 2 or 4
    trump: Word  # the card that was turned up; its suit is trump
    stock: int  # cards to draw, the trump card included
    hand: tuple[str, ...]  # in the order of BR-FAULT
    trick: tuple[str, ...]  # the cards of this trick, the card that was led first
    played: tuple[str, ...]  # the cards of the earlier tricks, in the order of play
    your_points: int  # with the points of the partner
    their_points: int
    partner: tuple[str, ...]  # the partner's cards, when the stock is empty


def sides(rules: Rules) -> Sequence[Sequence[int]]:
    """Return the seats of each bot (BR-SEATS)."""
    return ((0, 2), (1, 3)) if rules.partners else ((0,), (1,))


def in_order(cards: Iterable[str], trump: str) -> tuple[str, ...]:
    """Return cards from the lowest to the highest (BR-FAULT)."""
    return tuple(sorted(cards, key=lambda card: (card[1] == trump[1], ORDER[card])))


def best_card(trick: Sequence[str], trump: str) -> str:
    """Return the card that takes a trick (BR-PLAY)."""
    suit = trump[1] if any(card[1] == trump[1] for card in trick) else trick[0][1]
    return max((card for card in trick if card[1] == suit), key=ORDER.__getitem__)


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal: any card of the hand."""
    hand: tuple[str, ...] = view[3]
    return move.verb != "PLAY" or move.text in hand


def chosen(view: View, answer: Answer) -> str:
    """Return the card that an answer plays (BR-FAULT)."""
    match answer:
        case Move("PLAY", text=card) if card in view.hand:
            return card
        case Move("HIGH"):
            return view.hand[-1]
        case _:
            return view.hand[0]


class BriscolaTable:
    """A deal while it is played: the hands, the stock, the cards played, and the points of each side."""

    __slots__ = ("hands", "played", "points", "stock", "tell", "trump")

    def __init__(self, players: int, luck: Shuffler, tell: Tell) -> None:
        deck = luck.shuffled(DECK)
        self.tell = tell
        hands = [list(islice(deck, HAND_CARDS)) for _ in range(players)]
        self.trump = next(deck)
        self.hands = [in_order(hand, self.trump) for hand in hands]
        self.stock = [*deck, self.trump]
        self.played: tuple[str, ...] = ()
        self.points = [0, 0]
        if tell:
            for seat, hand in enumerate(self.hands):
                tell("deal", seat=seat, cards=hand)
            tell("board", cards=[self.trump])

    def view(self, seat: int, trick: tuple[str, ...]) -> View:
        """Return the question to a player."""
        shown = len(self.hands) > 2 and not self.stock
        return View(
            players=len(self.hands),
            trump=self.trump,
            stock=len(self.stock),
            hand=self.hands[seat],
            trick=trick,
            played=self.played,
            your_points=self.points[seat % 2],
            their_points=self.points[1 - seat % 2],
            partner=self.hands[(seat + 2) % 4] if shown else (),
        )

    def play_trick(self, order: Sequence[int]) -> Generator[Request, Answer, int]:
        """Play a trick; `order` is the order of the seats. Return the seat that takes it."""
        trick: tuple[str, ...] = ()
        for seat in order:
            view = self.view(seat, trick)
            card = chosen(view, (yield Request(seat, view)))
            trick += (card,)
            self.hands[seat] = tuple(each for each in self.hands[seat] if each != card)
            if self.tell:
                self.tell("play", seat=seat, cards=[card])
        taker = order[trick.index(best_card(trick, self.trump))]
        self.points[taker % 2] += sum(POINTS[card] for card in trick)
        self.played += trick
        if self.tell:
            self.tell("take", seat=taker, cards=trick)
            for seat in range(taker % 2, len(self.hands), 2):
                self.tell("score", seat=seat, points=self.points[seat % 2])
        return taker

    def draw(self, order: Sequence[int]) -> None:
        """Let the players draw a card each in this order (BR-DRAW)."""
        for seat in order:
            card = self.stock.pop(0)
            self.hands[seat] = in_order([*self.hands[seat], card], self.trump)
            if self.tell:
                self.tell("deal", seat=seat, cards=[card])
        if self.tell and not self.stock:
            self.tell("board", cards=[])


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one deal. The scores are the points of the two bots."""
    players = 4 if rules.partners else 2
    deal, leader = BriscolaTable(players, luck, tell), 0
    while deal.hands[leader]:
        leader = yield from deal.play_trick([(leader + turn) % players for turn in range(players)])
        if deal.stock:
            deal.draw([(leader + turn) % players for turn in range(players)])
    return tuple(deal.points)


LATE = (  # cards in an order of play; the last two are not played in any example
    "2s 5s Js 7s 4s 6s Qs 3s 5d 6d 7d Jd Qd 5h 6h 7h Qh 2h 4h Jh 2d 4d 4c 6c Jc Kc 2c Qc 3d Ad As Ks Kd Kh 5c 7c Ac 3h"
)


def example(hand: str, trick: str = "", tricks: int = 0, players: int = 2, yours: int = 0, partner: str = "") -> View:
    """Return the question of an edge case, after this number of tricks. Cards are separated by spaces."""
    played = tuple(LATE.split()[: tricks * players])
    return View(
        players=players,
        trump="5c",
        stock=max(len(DECK) - HAND_CARDS * players - len(played), 0),
        hand=tuple(hand.split()),
        trick=tuple(trick.split()),
        played=played,
        your_points=yours,
        their_points=sum(POINTS[card] for card in played) - yours,
        partner=tuple(partner.split()),
    )


GAME = Game(
    name="briscola",
    title="Briscola",
    seats=(2, 2),
    protocol="lines",
    decisions=40,
    presets={"two": Rules(), "partners": Rules(partners=True)},
    grammar=Grammar(
        pattern=re.compile(r"(?P<verb>LOW|HIGH|PLAY (?P<text>[2-7JQKA][cdsh]))"),
        expected="PLAY <card>, LOW or HIGH",
    ),
    play=play,
    allows=allows,
    winners=best_unless_equal,
    chance=Chance(lambda _rules: Shuffles((("deck", DECK),))),
    moves=lambda _rules: tuple(Move("PLAY", text=card) for card in DECK),
    view=View,
    edges={
        "the first question of a game": example("2d Kh 3c"),
        "a card was led": example("2d Kh 3c", "Ad"),
        "only trumps": example("2c Qc Ac", "3h", 2),
        "no trump and no card of the suit": example("4d 7h 3h", "Ks", 1),
        "the trump card is the last one to draw": example("Kh 7c Ac", "Kd", 16, yours=40),
        "the trump card is in the hand": example("5c 7c Ac", "", 17, yours=40),
        "the last card": example("Ah", "3c", 19, yours=52),
        "the first question of a game for four": example("2d Kh 3c", players=4),
        "three cards lie": example("2d Kh 3c", "Ad 4c 3d", players=4),
        "the partner's trick": example("4d 3h As", "4h Ah Jh", 1, players=4),
        "the partner's cards are seen": example("Kh 3h 3c", "", 7, players=4, yours=9, partner="3d Ad 7c"),
        "the partner has led": example("Kh 3h 3c", "3d Ah", 7, players=4, yours=9, partner="Ad 7c"),
        "the partner has no card left": example("3c", "Ah Ac 3h", 9, players=4, yours=50),
    },
    opening=Opening("stock", 7, below="HIGH", otherwise="hand"),
    card=(
        "A long-lived process, one question at a time: <players, 2 or 4> <trump card> <cards to draw> <your hand> <cards of "
        "this trick> <cards played before> <your points> <their points> <your partner's hand, when the stock is empty>; "
        "cards are `3c` or `Kh`. Answer PLAY and any card of your hand, or LOW or HIGH for your lowest or highest. The "
        "highest trump takes the trick, else the highest card of the suit led: A 3 K Q J 7 6 5 4 2. A counts 11, 3 ten, "
        "K 4, Q 3, J 2. More than 60 points win. With partners you have two seats, and a process at each."
    ),
    display=Display(score="points"),
    sides=sides,
)
