"""Implements blackjack for programs that are started for each move: CardShark, the King of the Hill of 2011.

Sources: the thread "Blackjack KotH" (codegolf.stackexchange.com/questions/2698) and its author's engine. The preset
`thread` plays the game as the thread documents it. The preset `engine2011` plays it as the engine did
(cardshark2011.py). Where the thread is incomplete or contradicts itself, `thread` follows these rules:

BJ-TEN             A ten is written `T`.
BJ-CASE            Cards are capital letters.
BJ-ACES            All aces count 1. One ace counts 11 if the total stays within 21.
BJ-DEALER17        The dealer stands on 17, also on a soft 17.
BJ-TIE             A tie loses.
BJ-NATURAL         A two-card 21 has no bonus.
BJ-ORDER           Each player makes one move per pass around the table.
BJ-DEALORDER       The order of the deal is players, dealer, players, dealer. The visible list starts with the dealer.
BJ-HIDDEN          The dealer's second card is hidden.
BJ-VISIBLE         The visible list is cleared for each hand.
BJ-OWN             The visible list contains the bot's own cards.
BJ-BUYIN           Each player that has the 10 chips of the buy-in pays them. The others are not dealt in.
BJ-OVERBET         A bet of more than the player's chips is a forced stand.
BJ-ZEROBET         A bet of 0 is a forced stand.
BJ-DCHIPS          A double without enough chips is a forced stand.
BJ-FLOAT           A bet is truncated to an integer.
BJ-NEG             The absolute value of a bet counts.
BJ-DFIRST          A double after a bet is not allowed.
BJ-GARBAGE         An unreadable answer is a forced stand.
BJ-FAULT           A missing answer is a forced stand.
BJ-DEALER-ALLBUST  The dealer draws even if all players are bust.
BJ-SHOE            A shoe lasts one round. A new shoe is opened when a card is needed and none is left.

Other modules implement the rules between rounds: play/table_plans.py BJ-BROKE and BJ-SHORT, tests/recordings BJ-HISTORY.
BJ-PY2: the bot's own manifest sets its interpreter and compiler.
"""

import re
from collections.abc import Generator
from typing import NamedTuple

from host.games import cardshark2011
from host.games.engine import Chance, Display, Game, Opening, Play, Request, Scores, Shuffles, Tell
from host.games.luck import Shuffler
from protocols.wire import Answer, Fault, Grammar, Move, Word
from protocols.wire import View as AnyView

GOAL, DEALER_STANDS = 21, 17
RANKS, HIDDEN = "A23456789TJQK", "#"
DECK = RANKS * 4
POINTS = {rank: min(number, 10) for number, rank in enumerate(RANKS, 1)}


class Rules(NamedTuple):
    """The numbers of a round. `stacks` are the chips of each seat at the start; if empty, each seat has `chips`."""

    seats: int = 4
    """The bots at a table."""
    buy_in: int = 10
    """The chips that each bot pays into the pot of a hand."""
    chips: int = 200
    """The chips of each bot at the start of a tourney."""
    hands: int = 5
    """The number of hands in a round."""
    engine: str = "thread"
    """The source of the rules where the two disagree: the thread of the competition, or its engine of 2011."""
    stacks: tuple[int, ...] = ()


class View(NamedTuple):
    """The five arguments of a CardShark bot."""

    score: int
    hand: Word
    visible: Word
    stake: int
    chips: int


def score(hand: str) -> int:
    """Return the points of a hand, which may exceed 21. Aces count 1; one ace counts 11 if the total stays within 21."""
    total = sum(map(POINTS.__getitem__, hand))
    return total + 10 if "A" in hand and total + 10 <= GOAL else total


class Player:
    """A bot at the table: its chips for the round, its cards and stake for the hand."""

    __slots__ = ("chips", "hand", "seat", "stake", "stands")

    def __init__(self, seat: int, chips: int) -> None:
        self.seat, self.chips = seat, chips
        self.hand, self.stake, self.stands = "", 0, False

    @property
    def moves(self) -> bool:
        """Whether the player still has a turn in this hand."""
        return not self.stands and score(self.hand) <= GOAL

    def bet(self, chips: int) -> None:
        """Move chips to the stake."""
        self.chips -= chips
        self.stake += chips


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal. An illegal move is a forced stand."""
    if rules.engine == "engine2011":
        return cardshark2011.allows(rules.buy_in, view, move)
    _score, hand, _visible, stake, chips = view
    match move:
        case Move("B", n):
            return bool(1 <= abs(n) <= chips)
        case Move("D"):
            first = len(hand) == 2 and stake == rules.buy_in
            return first and chips >= stake
        case _:
            return move.verb in ("H", "S")


def play_hand(
    rules: Rules, players: list[Player], shoe: cardshark2011.Shoe, tell: Tell
) -> Generator[Request, Answer, None]:
    """Play one hand. `players` are the players that can pay the buy-in, in the order of their seats."""
    dealer, shown = "", ""
    for player in players:
        player.hand, player.stake, player.stands = "", 0, False
        player.bet(rules.buy_in)
    for _ in range(2):
        for player in players:
            card = shoe.draw()
            player.hand += card
            shown += card
            if tell:
                tell("deal", seat=player.seat, card=card)
        dealer += shoe.draw()
    shown = dealer[0] + HIDDEN + shown
    if tell:
        tell("dealer", card=dealer[0])

    while any(player.moves for player in players):
        for player in players:
            if not player.moves:
                continue
            view = View(score(player.hand), player.hand, shown, player.stake, player.chips)
            answer = yield Request(player.seat, view)
            if isinstance(answer, Fault) or not allows(rules, view, answer):
                player.stands = True
                continue
            match answer:
                case Move("B", n):
                    player.bet(abs(n))
                    continue
                case Move("S"):
                    player.stands = True
                    continue
                case Move("D"):
                    player.bet(player.stake)
                    player.stands = True
            card = shoe.draw()
            player.hand += card
            shown += card
            if tell:
                tell("deal", seat=player.seat, card=card)

    while score(dealer) < DEALER_STANDS:
        dealer += shoe.draw()
    to_beat = score(dealer) if score(dealer) <= GOAL else 0
    for player in players:
        if to_beat < score(player.hand) <= GOAL:
            player.chips += 2 * player.stake
    if tell:
        tell("dealer.plays", hand=dealer, score=to_beat)


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one round: `rules.hands` hands at one table from one shoe. The scores are the chips left."""
    stacks = rules.stacks or (rules.chips,) * rules.seats
    if rules.engine == "engine2011":
        return (yield from cardshark2011.play(rules.buy_in, rules.hands, stacks, luck, tell))
    players = [Player(seat, chips) for seat, chips in enumerate(stacks)]
    shoe = cardshark2011.Shoe(luck, DECK)
    for hand in range(1, rules.hands + 1):
        solvent = [player for player in players if player.chips >= rules.buy_in]
        if not solvent:
            break
        if tell:
            tell("hand.start", hand=hand, chips=[player.chips for player in players])
        shoe.start_hand()
        yield from play_hand(rules, solvent, shoe, tell)
        if tell:
            tell(
                "hand.end",
                hand=hand,
                hands=[player.hand if player in solvent else "" for player in players],
                stakes=[player.stake if player in solvent else 0 for player in players],
                chips=[player.chips for player in players],
            )
    return scores(players)


def scores(players: list[Player]) -> Scores:
    """Return the chips of each seat."""
    return tuple(player.chips for player in players)


GAME = Game(
    name="cardshark",
    title="Blackjack KotH",
    seats=(1, 4),
    protocol="argv",
    decisions=16,
    presets={"thread": Rules(), "engine2011": Rules(engine="engine2011")},
    grammar=Grammar(
        pattern=re.compile(r"(?P<verb>[HhSsDd]|[Bb] +(?P<n>[+-]?[0-9]{1,12})(?:\.[0-9]*)?)(?: .*)?"),
        expected="H, S, D or B <chips>",
    ),
    play=play,
    allows=allows,
    winners=None,
    chance=Chance(lambda rules: Shuffles((("deck", cardshark2011.DECK if rules.engine == "engine2011" else DECK),))),
    view=View,
    edges={
        "the entry check of 2011": View(21, "KJA", "KQKJA3592A", 25, 145),
        "the first question of a hand": View(19, "T9", "9#T9", 10, 190),
        "eleven, to double": View(11, "56", "9#56", 10, 190),
        "two aces": View(12, "AA", "A#AA", 10, 190),
        "twenty-one at once": View(21, "AK", "T#AK", 10, 190),
        "a ten is T": View(16, "T6", "T#T6", 10, 190),
        "no chips left": View(4, "22", "2#22", 10, 0),
        "five chips, less than a buy-in": View(13, "A2", "6#A2K9", 10, 5),
        "nearly all the chips there are": View(20, "TT", "7#TTKQJ9", 10, 9999),
        "many cards on the table": View(12, "2A27", "9#KQJT98762A27", 45, 155),
        "a soft seventeen": View(17, "A6", "5#A6TT", 20, 180),
        "as many chips as the stake": View(8, "44", "K#44", 10, 10),
        "three cards: no double": View(9, "234", "T#T263K4", 10, 190),
        "ten cards in one hand": View(15, "A2A2A2AA22", "4#A2A2A2AA22", 200, 0),
        "late in a shoe": View(18, "99", "9#99J8T7Q6", 10, 790),
        "ten, two chips": View(10, "46", "3#KQJT46", 10, 2),
        "a fifth five: a new shoe was opened": View(15, "555", "5#555A5", 10, 190),
    },
    opening=Opening("score", 17, "H", "S"),
    card=(
        "One fresh process a move, five arguments: <score> <hand> <visible> <stake> <chips>, for example "
        "`21 KJA KQKJA3592A 25 145`. Cards are A23456789TJQK; the visible list starts with the dealer's up card and `#`. "
        "Print H (hit), S (stand), D (double, first move only) or B <chips> (bet more and move again)."
    ),
    chips="tourney",
    display=Display(standing=("hand.end", "chips")),
)
