"""Implements Simple Pazaak, the King of the Hill of 2015. The hand closer to 20 wins; a hand above 20 does not.

Sources: the thread "Simple Pazaak KotH" (codegolf.stackexchange.com/questions/51731) and its author's Java controller.
The preset `thread` plays the published rules. The preset `controller2015` plays as the controller did; it differs only
in PZ-DECK, PZ-AT20 and PZ-DIDPLAY. Where the thread is incomplete or contradicts itself, these rules apply:

PZ-DECK       40 house cards; 4 side cards out of 10. (controller2015: 50 house cards; 5 side cards out of 15.)
PZ-AT20       A bot on exactly 20 is asked like any other. (controller2015: it stands and is not asked.)
PZ-DIDPLAY    A bot that plays a card it does not have has not played. (controller2015: didPlay is true. The controller
              also accepted a PLAY without a card; it is written `PLAY 0`.)
PZ-VALUE      Side cards are compared by value.
PZ-BOTHBUST   A hand with both players above 20 is a tie.
PZ-TIEHAND    A tie counts for nobody. The first player with three wins wins the game, after any number of hands.
PZ-START      Player one moves first in each hand of the game.
PZ-SIDEKEEP   A side deck lasts for one game.
PZ-STANDLEAD  A player that passes a standing player wins at the end of the pair of turns, even with END.
PZ-WINS3      The question has two numbers of wins, not a third.
PZ-NULL       A missing answer is STAND. Small letters are accepted.
PZ-FAULT      An unreadable answer is STAND.
PZ-EXPLOIT    A bot receives copies of the values.
PZ-ENDLESS    A game ends after 1000 hands. The player with more wins wins it; nobody does if they are equal.
PZ-NAME       The thread's log prints a hand before its draw, croupier after it.

Rules between games are elsewhere: PZ-FILE in the bot's manifest, PZ-CUPSETS, PZ-CUPTIE and PZ-CUPSEED in
host/stages/pairing.py.
"""

import re
from collections.abc import Generator, Iterator
from itertools import islice
from typing import NamedTuple

from host.games.engine import (
    Chance,
    Display,
    Game,
    Opening,
    Play,
    Request,
    Shuffles,
    Tell,
    best_unless_equal,
    new_tuple,
)
from host.games.luck import Shuffler
from protocols.wire import Answer, Fault, Grammar, Move
from protocols.wire import View as AnyView

GOAL = 20
HOUSE, SIDE = tuple(range(1, 11)), tuple(range(1, 6))
END = Move("END")


class Rules(NamedTuple):
    """The numbers of a game, and the two rules in which the thread and the controller disagree."""

    seats: int = 2
    """The bots at a table."""
    hands_to_win: int = 3
    """The number of hands that a bot must win to win the game."""
    house_copies: int = 4
    """Copies of each card 1–10 in the deck of a hand."""
    side_copies: int = 2
    """Copies of each card 1–5 in the deck from which side decks are drawn."""
    side_cards: int = 4
    """Cards in a side deck."""
    stands_at_goal: bool = False
    """Whether a bot on exactly 20 stands without being asked."""
    tells_false_plays: bool = False
    """Whether the opponent sees an impossible PLAY as a play."""
    most_hands: int = 1000
    """The number of hands after which a game ends without a winner."""


class View(NamedTuple):
    """The question to a bot. A bot gets it as a line: `0 0 1 8 - 1,2,4,5 4 - 0`."""

    wins_one: int  # hand wins of player one, whichever player is asked
    wins_two: int
    player_one: bool  # whether this bot is player one
    your_hand: tuple[int, ...]
    opponent_hand: tuple[int, ...]
    your_side_deck: tuple[int, ...]
    opponent_side_cards_left: int
    opponent_action: str | None  # END or STAND; None at player one's first turn of a hand
    opponent_did_play: bool


class Player:
    """A bot at the table: its side deck and hand wins for the game, its cards and last action for the hand."""

    __slots__ = ("action", "did_play", "hand", "seat", "side_deck", "total", "wins")

    def __init__(self, seat: int, side_deck: tuple[int, ...]) -> None:
        self.seat, self.side_deck, self.wins = seat, side_deck, 0
        self.start_hand()

    def start_hand(self) -> None:
        """Reset the cards and the last action."""
        self.hand: tuple[int, ...] = ()
        self.total = 0
        self.action: str | None = None
        self.did_play = False

    def take(self, card: int) -> None:
        """Add a card to the hand."""
        self.hand += (card,)
        self.total += card

    def play_card(self, card: int) -> None:
        """Move a side card to the hand. The other side cards keep their order."""
        self.did_play = True
        place = self.side_deck.index(card)
        self.side_deck = self.side_deck[:place] + self.side_deck[place + 1 :]
        self.take(card)


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal. A PLAY needs the card; without it, the PLAY is a STAND."""
    if move.verb == "PLAY":
        return move.n in view[5]
    return move.verb in ("END", "STAND")


def ending_of(one: Player, two: Player) -> str | None:
    """Return why a hand is over, or None if it continues. Call it before each pair of turns."""
    if one.total > GOAL or two.total > GOAL:
        return "both bust" if one.total > GOAL and two.total > GOAL else "bust"
    if one.action == "STAND" and two.action == "STAND":
        return "both stand"
    if one.action == "STAND" and one.total < two.total:
        return "passed a standing player"
    if two.action == "STAND" and two.total < one.total:
        return "passed a standing player"
    return None


def winner_of(one: Player, two: Player) -> Player | None:
    """Return the winner of a finished hand: the higher total up to 20. Return None for a tie."""
    points_one = one.total if one.total <= GOAL else 0
    points_two = two.total if two.total <= GOAL else 0
    if points_one == points_two:
        return None
    return one if points_one > points_two else two


def play_hand(
    rules: Rules, one: Player, two: Player, deck: Iterator[int], tell: Tell
) -> Generator[Request, Answer, str]:
    """Play one hand. Return how it ended."""
    one.start_hand()
    two.start_hand()
    turns = ((one, two), (two, one))
    while not (ending := ending_of(one, two)):
        for me, other in turns:
            if me.action == "STAND":
                continue
            me.take(next(deck))
            if tell:
                tell("deal", seat=me.seat, card=me.hand[-1])
            if rules.stands_at_goal and me.total == GOAL:
                me.action = "STAND"
                continue
            fields = (
                one.wins,
                two.wins,
                me is one,
                me.hand,
                other.hand,
                me.side_deck,
                len(other.side_deck),
                other.action,
                other.did_play,
            )
            view = new_tuple(View, fields)
            answer = yield new_tuple(Request, (me.seat, view))
            if answer == END:
                me.action = "END"
                continue
            me.action = "STAND"
            if isinstance(answer, Fault) or answer.verb != "PLAY":
                continue
            if not allows(rules, view, answer):
                me.did_play = rules.tells_false_plays
                continue
            me.play_card(answer.n)
            if tell:
                tell("play", seat=me.seat, card=answer.n)
    return ending


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one game. Deal the side decks first, and use a new house deck for each hand. The scores are the hands won."""
    side, house = SIDE * rules.side_copies, HOUSE * rules.house_copies
    one, two = (Player(seat, tuple(islice(luck.shuffled(side), rules.side_cards))) for seat in (0, 1))
    if tell:
        tell("game.start", side_decks=[one.side_deck, two.side_deck])
    for hand in range(1, rules.most_hands + 1):
        if tell:
            tell("hand.start", hand=hand, wins=[one.wins, two.wins])
        why = yield from play_hand(rules, one, two, luck.shuffled(house), tell)
        winner = winner_of(one, two)
        if winner:
            winner.wins += 1
        if tell:
            tell(
                "hand.end",
                hand=hand,
                hands=[one.hand, two.hand],
                why=why,
                winner=winner.seat if winner else None,
                wins=[one.wins, two.wins],
            )
        if winner and winner.wins == rules.hands_to_win:
            break
    return one.wins, two.wins


def shuffles(rules: Rules) -> Shuffles:
    """Return the decks: a side deck for each player, then a house deck for each hand."""
    side, house = SIDE * rules.side_copies, HOUSE * rules.house_copies
    return Shuffles(first=(("side deck of seat 0", side), ("side deck of seat 1", side)), each=(("house deck", house),))


GAME = Game(
    name="pazaak",
    title="Simple Pazaak",
    seats=(2, 2),
    protocol="lines",
    presets={
        "thread": Rules(),
        "controller2015": Rules(
            house_copies=5, side_copies=3, side_cards=5, stands_at_goal=True, tells_false_plays=True
        ),
    },
    grammar=Grammar(
        pattern=re.compile(r"(?P<verb>END|STAND|PLAY (?P<n>[0-9]{1,2}))", re.IGNORECASE),
        expected="END, STAND or PLAY <card>",
    ),
    play=play,
    allows=allows,
    winners=best_unless_equal,
    chance=Chance(shuffles),
    moves=lambda _rules: (Move("END"), Move("STAND"), *(Move("PLAY", card) for card in SIDE)),
    view=View,
    edges={
        "the first question of a game": View(0, 0, True, (8,), (), (1, 2, 4, 5), 4, None, False),
        "player two, first turn": View(0, 0, False, (9,), (8,), (1, 2, 3, 5), 4, "END", False),
        "ahead of a standing player": View(0, 0, False, (6,), (5,), (1, 2, 3, 5), 4, "STAND", False),
        "the opponent made 20 with a side card": View(0, 0, False, (4, 6), (9, 8, 3), (1, 2, 3, 5), 3, "STAND", True),
        "level with a standing player": View(1, 1, False, (8, 7), (9, 6), (2, 2, 3, 5), 4, "STAND", False),
        "one behind a standing 20": View(0, 2, True, (10, 9), (10, 10), (1, 3, 4, 4), 4, "STAND", False),
        "exactly 20": View(1, 0, True, (10, 10), (9, 9), (1, 2, 4, 5), 4, "END", False),
        "above 20, asked all the same": View(0, 1, True, (10, 8, 7), (9, 8), (1, 3, 4, 5), 4, "END", False),
        "the opponent is above 20": View(0, 0, False, (10, 5), (10, 9, 8), (1, 1, 2, 3), 4, "END", False),
        "a side card took it above 20": View(2, 1, False, (10, 2, 3), (9, 3, 6, 5), (4, 4), 2, "STAND", True),
        "no side cards left on either side": View(2, 2, True, (10, 7), (10, 5), (), 0, "END", False),
        "one side card left": View(2, 0, True, (8, 9), (7, 7), (3,), 4, "END", False),
        "equal side cards": View(0, 0, True, (9, 8), (4,), (3, 3, 5, 5), 4, "END", False),
        "long hands": View(1, 2, False, (1, 1, 2, 2, 3, 3, 4), (1, 1, 2, 2, 3, 3, 4), (1, 2, 3, 5), 4, "STAND", False),
        "five side cards": View(0, 0, True, (6, 10), (9, 4), (1, 1, 1, 2, 5), 5, "END", False),
        "low card against a ten": View(2, 2, False, (1,), (10,), (5,), 1, "END", False),
    },
    opening=Opening("your_hand", 17, "END", "STAND"),
    card=(
        "A long-lived process, one question a turn: <hands won by player one> <by player two> <1 if you are player "
        "one> <your hand> <opponent's hand> <your side deck> <opponent's side cards left> <opponent's last action> "
        "<1 if it played a side card>, for example `0 0 1 8 - 1,2,4,5 4 - 0`; the card just drawn is in your hand. "
        "Answer END (draw again next turn), STAND (no more turns in this hand) or PLAY <card> (add that side card, "
        "then stand). The higher hand up to 20 wins; three hands win the game."
    ),
    display=Display(score="hands won", standing=("hand.end", "wins")),
    illegal_codes={"PLAY": "B028"},
)
