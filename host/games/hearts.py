"""Implements Hearts for four players with passing and the moon. Hearts and the queen of spades cost points; fewest wins.

Sources: hearts-online.org/rules.html; a rule from another source names it. docs/games/hearts.md lists all sources, and the
rules that other sources decide differently.

HT-DEAL   Four players get 13 cards each. The cards are shuffled again for each hand.
HT-PASS   Three cards are passed: to the left, in the next hand to the right, then across, then none; then to the left
          again. All choose before they see the cards that they receive (jokyland.com/games/41/Hearts), so croupier asks
          all at the same time.
HT-LEAD   The two of clubs is led to the first trick, by the player that has it after the passing.
HT-FIRST  No heart and no queen of spades may be played to the first trick, unless the hand has no other card
          (groupgames.xyz/card-games/hearts).
HT-BROKEN Hearts are led only after a heart has been played, or from a hand of hearts only. The queen of spades does not
          break hearts, as in Microsoft Hearts; at jokyland she does. She may be led at any time.
HT-MOON   A player that takes all 26 points gets none, and the other three get 26 each. At jokyland the player may choose
          to lose 26 points instead.
HT-END    The game ends after the hand in which a player reaches `target`. The fewest points win; several may share that.
HT-ENDS   A game also ends after `most_hands` hands (our ruling).
HT-FAULT  A fault or an illegal move plays the lowest legal card, and passes the three lowest cards. Cards rank from two
          to ace; equal ranks in the order clubs, diamonds, spades, hearts. LOW is the same move, made on purpose; HIGH
          plays the highest legal card, and passes the three highest (our ruling).
HT-SCORE  A score is the player's points below zero, so that more is better, as in every game of croupier.
"""

import re
from collections.abc import Generator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from host.games.engine import Chance, Display, Game, Opening, Play, Request, Shuffles, Tell, best
from host.games.luck import Shuffler
from protocols.wire import Answer, Grammar, Move, Word
from protocols.wire import View as AnyView

SEATS, CARDS, PASSED = 4, 13, 3
RANKS, SUITS = "23456789TJQKA", "cdsh"
DECK = tuple(rank + suit for rank in RANKS for suit in SUITS)  # in the order of HT-FAULT
ORDER = {card: nth for nth, card in enumerate(DECK)}
FIRST_LEAD, QUEEN = "2c", "Qs"
POINTS = {card: 13 if card == QUEEN else int(card[1] == "h") for card in DECK}
ALL_POINTS = sum(POINTS.values())
DIRECTIONS = (("LEFT", 1), ("RIGHT", 3), ("ACROSS", 2), ("NONE", 0))  # with the seats from giver to receiver


class Rules(NamedTuple):
    """The rules that an organiser can set."""

    seats: int = SEATS
    """The bots at a table."""
    target: int = 100
    """The points at which a game ends."""
    most_hands: int = 100
    """The number of hands after which a game ends in any case."""


class View(NamedTuple):
    """The question to a bot. Lists of four numbers begin with the bot's number, then go clockwise from its left."""

    task: Word  # PASS or PLAY
    direction: Word  # of this hand's passing: LEFT, RIGHT, ACROSS or NONE
    trick_number: int  # 0 while cards are passed, then 1 to 13
    hand: tuple[str, ...]
    legal: tuple[str, ...]  # the cards that may be played; all of the hand while cards are passed
    trick: tuple[str, ...]  # the cards of this trick, the card that was led first
    hearts_broken: bool
    played: tuple[str, ...]  # the cards of the earlier tricks of this hand, in the order of play
    passed: tuple[str, ...]  # the cards that this bot has passed in this hand
    received: tuple[str, ...]
    taken: tuple[int, ...]  # points taken in this hand
    points: tuple[int, ...]  # points of the game before this hand


class Player:
    """A bot at the table: its points of the game, and its cards and the points taken in the hand."""

    __slots__ = ("hand", "passed", "points", "received", "seat", "taken")

    def __init__(self, seat: int) -> None:
        self.seat, self.points = seat, 0
        self.start_hand(())

    def start_hand(self, cards: Sequence[str]) -> None:
        """Take the cards of a new hand."""
        self.hand = in_order(cards)
        self.passed: tuple[str, ...] = ()
        self.received: tuple[str, ...] = ()
        self.taken = 0


class Hand(NamedTuple):
    """A hand while it is played: the players, the direction of passing, the cards played, and whether hearts are broken."""

    players: Sequence[Player]
    direction: str
    played: tuple[str, ...] = ()
    broken: bool = False

    def view(self, task: str, player: Player, legal: tuple[str, ...], trick: tuple[str, ...] = ()) -> View:
        """Return the question to a player."""
        clockwise = [self.players[(player.seat + turn) % SEATS] for turn in range(SEATS)]
        return View(
            task=task,
            direction=self.direction,
            trick_number=len(self.played) // SEATS + 1 if task == "PLAY" else 0,
            hand=player.hand,
            legal=legal,
            trick=trick,
            hearts_broken=self.broken,
            played=self.played,
            passed=player.passed,
            received=player.received,
            taken=tuple(each.taken for each in clockwise),
            points=tuple(each.points for each in clockwise),
        )


def in_order(cards: Sequence[str]) -> tuple[str, ...]:
    """Return cards from the lowest to the highest."""
    return tuple(sorted(cards, key=ORDER.__getitem__))


def legal_cards(hand: tuple[str, ...], trick: tuple[str, ...], first: bool, broken: bool) -> tuple[str, ...]:
    """Return the cards of a hand that may be played to a trick. `first` says whether it is the first trick of the hand."""
    if not trick:
        if first:
            return (FIRST_LEAD,)
        return hand if broken else tuple(card for card in hand if card[1] != "h") or hand
    suit = tuple(card for card in hand if card[1] == trick[0][1])
    if suit:
        return suit
    return (tuple(card for card in hand if not POINTS[card]) or hand) if first else hand


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal: three different cards of the hand to pass, or a legal card to play."""
    task, _, _, _, legal, *_ = view
    cards = move.text.split()
    if move.verb in ("LOW", "HIGH"):
        return True
    wanted = PASSED if task == "PASS" else 1
    return move.verb == task and len(cards) == len(set(cards)) == wanted and set(cards) <= set(legal)


def chosen(rules: Rules, view: View, answer: Answer) -> tuple[str, ...]:
    """Return the cards that an answer passes or plays (HT-FAULT)."""
    count = PASSED if view.task == "PASS" else 1
    if isinstance(answer, Move) and allows(rules, view, answer):
        if answer.verb == "HIGH":
            return view.legal[-count:]
        if answer.verb != "LOW":
            return tuple(answer.text.split())
    return view.legal[:count]


def pass_cards(
    rules: Rules, hand: Hand, shift: int, tell: Tell
) -> Generator[Sequence[Request], Sequence[Answer], None]:
    """Let all players pass three cards at the same time, to the player `shift` seats further on (HT-PASS)."""
    views = [hand.view("PASS", player, player.hand) for player in hand.players]
    answers = yield [Request(seat, view) for seat, view in enumerate(views)]
    for player, view, answer in zip(hand.players, views, answers, strict=True):
        player.passed = chosen(rules, view, answer)
        if tell:
            tell("pass", seat=player.seat, to=(player.seat + shift) % SEATS, cards=player.passed)
    for player in hand.players:
        giver = hand.players[(player.seat - shift) % SEATS]
        player.received = giver.passed
        player.hand = in_order([*(card for card in player.hand if card not in player.passed), *giver.passed])


def play_trick(rules: Rules, hand: Hand, leader: int, tell: Tell) -> Generator[Request, Answer, tuple[Hand, int]]:
    """Play a trick. Return the hand after it, and the seat that takes it: the highest card of the suit that was led."""
    trick: tuple[str, ...] = ()
    for turn in range(SEATS):
        player = hand.players[(leader + turn) % SEATS]
        view = hand.view("PLAY", player, legal_cards(player.hand, trick, not hand.played, hand.broken), trick)
        answer = yield Request(player.seat, view)
        (card,) = chosen(rules, view, answer)
        trick += (card,)
        player.hand = tuple(each for each in player.hand if each != card)
        if tell:
            tell("play", seat=player.seat, cards=[card])
    best = max((card for card in trick if card[1] == trick[0][1]), key=ORDER.__getitem__)
    taker = (leader + trick.index(best)) % SEATS
    hand.players[taker].taken += sum(POINTS[card] for card in trick)
    if tell:
        tell("take", seat=taker, cards=trick)
    broken = hand.broken or any(card[1] == "h" for card in trick)
    return hand._replace(played=hand.played + trick, broken=broken), taker


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one game. The scores are the points below zero (HT-SCORE)."""
    players = [Player(seat) for seat in range(SEATS)]
    for number in range(rules.most_hands):
        deck = luck.shuffled(DECK)
        if tell and number:
            tell("discard")  # the tricks of the hand before
        for player in players:
            player.start_hand(list(islice(deck, CARDS)))
            if tell:
                tell("deal", seat=player.seat, cards=player.hand)
        direction, shift = DIRECTIONS[number % len(DIRECTIONS)]
        hand = Hand(players, direction)
        if shift:
            yield from pass_cards(rules, hand, shift, tell)
        leader = next(player.seat for player in players if FIRST_LEAD in player.hand)
        for _ in range(CARDS):
            hand, leader = yield from play_trick(rules, hand, leader, tell)
        moon = any(player.taken == ALL_POINTS for player in players)
        for player in players:
            player.points += ALL_POINTS - player.taken if moon else player.taken
        if tell:
            tell("hand.end", taken=[player.taken for player in players], points=[player.points for player in players])
            for player in players:
                tell("score", seat=player.seat, points=player.points)
        if max(player.points for player in players) >= rules.target:
            break
    return tuple(-player.points for player in players)


def example(task: str, hand: str, legal: str = "", **fields: Any) -> View:
    """Return the question of an edge case; `legal` is the whole hand if it is empty. Cards are separated by spaces."""
    usual = View(task, "LEFT", 0, (), (), (), False, (), (), (), (0, 0, 0, 0), (0, 0, 0, 0))
    return usual._replace(hand=tuple(hand.split()), legal=tuple((legal or hand).split()), **fields)


HAND = "2c 3c 4d 6d 6s 7h 8s 9c Td Js Qs Kh As"
LATER = "2c Ac Kc 3c 2d Ad Kd 3d 2s Ks 3s 4s"

GAME = Game(
    name="hearts",
    title="Hearts",
    seats=(SEATS, SEATS),
    protocol="lines",
    decisions=52,
    presets={"standard": Rules()},
    grammar=Grammar(
        pattern=re.compile(r"(?P<verb>LOW|HIGH|(?:PASS|PLAY) (?P<text>[2-9TJQKA][cdsh](?: [2-9TJQKA][cdsh]){0,2}))"),
        expected="PASS <three cards>, PLAY <card>, LOW or HIGH",
    ),
    play=play,
    allows=allows,
    winners=best,
    moves=lambda _rules: (Move("LOW"), Move("HIGH"), *(Move("PLAY", text=card) for card in DECK)),
    chance=Chance(lambda _rules: Shuffles((("deck", DECK),))),
    view=View,
    edges={
        "the first question of a game": example("PASS", HAND),
        "passing to the right": example("PASS", HAND, direction="RIGHT", points=(3, 0, 23, 0)),
        "the two of clubs must be led": example("PLAY", HAND, "2c", trick_number=1, passed=("Ah",), received=("2c",)),
        "following suit": example("PLAY", "3c 9c Jc Qs Kh", "3c 9c Jc", trick_number=9, trick=("Tc",)),
        "no club at the first trick": example(
            "PLAY", "4d 6d 8s Qs 7h Kh", "4d 6d 8s", trick_number=1, trick=("2c", "Ac")
        ),
        "only points at the first trick": example("PLAY", "2h 3h 4h Qs Kh", trick_number=1, trick=("2c", "Ac")),
        "hearts are not broken": example("PLAY", "5c 7h 8s", "5c 8s", trick_number=11, played=tuple(LATER.split())),
        "only hearts to lead": example("PLAY", "7h 8h Th", trick_number=11),
        "hearts are broken": example("PLAY", "5c 7h 8s", trick_number=11, hearts_broken=True, taken=(0, 1, 0, 2)),
        "the queen may go": example("PLAY", "8s Qs Kh", trick_number=11, trick=("Ad", "3d"), hearts_broken=True),
        "the moon is near": example("PLAY", "Ah", trick_number=13, hearts_broken=True, taken=(25, 0, 0, 0)),
        "the last card": example("PLAY", "2d", trick_number=13, trick=("Kc", "3h", "Qs"), points=(99, 99, 60, 2)),
    },
    opening=Opening("trick_number", 1, below="HIGH", otherwise="legal"),
    card=(
        "A long-lived process, one question at a time: <PASS or PLAY> <direction of passing> <number of the trick> <your "
        "hand> <cards you may play> <cards of this trick> <1 if hearts are broken> <cards played before> <cards you "
        "passed> <cards you received> <points taken in this hand> <points of the game>; cards are `Qs` or `Th`, four "
        "numbers begin with yours and go to the left. Answer PASS and three cards, or PLAY and a card; LOW or HIGH means "
        "your lowest or highest. Hearts cost 1, the queen of spades 13; all 26 cost everybody else 26. Fewest points win."
    ),
    display=Display(score="points below zero"),
)
