"""Implements the blackjack of 2011 with the bugs of its engine, to replay the engine's recordings (preset `engine2011`).

It differs from the documented game in these points:

- The dealer's two cards are dealt before the players' cards.
- Cards are small letters.
- The visible list continues through all five hands. It shows the hidden cards of earlier hands.
- A hand with aces scores its other cards + 1.
- A solvency flag decides which players pay the buy-in and are dealt in. A bet or a double sets the flag again.
- A double does not check the chips.
- A bet of 0 is allowed.
- A player that has paid but is not dealt in has an empty hand, so it loses its stake.
"""

from collections.abc import Generator, Iterator

from host.games.engine import Play, Request, Tell
from host.games.luck import Shuffler
from protocols.wire import Answer, Fault, FaultKind, Move, View

GOAL, DEALER_STANDS, SOLVENT_ABOVE_CHIPS = 21, 17, 10
DECK = "a23456789tjqk" * 4
POINTS = {"a": 1, "t": 10, "j": 10, "q": 10, "k": 10} | {str(n): n for n in range(2, 10)}


def score(hand: str) -> int:
    """Return the points of a hand. Any number of aces together counts 1."""
    return sum(POINTS[card] for card in hand if card != "a") + ("a" in hand)


def read(output: str) -> Answer:
    """Return the move that the engine found in a bot's output. It searched for the words b, h, d and s, in this order.

    The engine split the output at spaces only, so a line end joins two valid words into one unknown word.
    """
    words = output.strip().lower().split(" ")
    if "b" in words:
        after = words[words.index("b") + 1 :]
        try:
            return Move("B", int(after[0]))
        except (IndexError, ValueError):
            return Fault(FaultKind.UNREADABLE)
    for verb in "hds":
        if verb in words:
            return Move(verb.upper())
    return Fault(FaultKind.UNREADABLE)


class Player2011:
    """A bot at the table. `solvent` is the engine's flag that the bot can pay."""

    def __init__(self, seat: int, chips: int, solvent: bool) -> None:
        self.seat, self.chips, self.solvent = seat, chips, solvent
        self.hand, self.stake, self.stands, self.moved = "", 0, False, False

    def moves(self) -> bool:
        """Return whether the player still has a turn in this hand."""
        return not self.stands and score(self.hand) <= GOAL


def allows(buy_in: int, view: View, move: Move) -> bool:
    """Return whether the engine executed a move."""
    _score, hand, _visible, stake, chips = view
    match move:
        case Move("B", n):
            return bool(abs(n) <= chips)
        case Move("D"):
            return len(hand) == 2 and stake == buy_in
        case _:
            return move.verb in ("H", "S")


class Shoe:
    """One shuffled deck for a round. When it is empty, a new one is opened; bots do not learn of it."""

    def __init__(self, luck: Shuffler, deck: str) -> None:
        self._luck, self._deck = luck, deck
        self._cards: Iterator[str] = iter(())

    def start_hand(self) -> None:
        """Continue with the rest of the deck. Its order may change if several tables share a deal (`luck.Deal`)."""
        self._cards = self._luck.rest(self._cards)

    def draw(self) -> str:
        """Return the next card."""
        card = next(self._cards, None)
        if card is None:
            self._cards = self._luck.shuffled(self._deck)
            card = next(self._cards)
        return card


def play_hand(
    buy_in: int, players: list[Player2011], shoe: Shoe, before: str, tell: Tell
) -> Generator[Request, Answer, str]:
    """Play one hand. Return the visible list: all cards that the engine has shown so far in the round.

    `before` is the visible list after the previous hand.
    """
    for player in players:
        player.hand, player.stake, player.stands, player.moved = "", 0, False, False
        if player.solvent:
            player.chips -= buy_in
            player.stake = buy_in
            player.solvent = player.chips > SOLVENT_ABOVE_CHIPS
    dealer = shoe.draw() + shoe.draw()
    shown = ""
    dealt_in = [player for player in players if player.solvent]
    for _ in range(2):
        for player in dealt_in:
            card = shoe.draw()
            player.hand += card
            shown += card

    while any(player.moves() for player in dealt_in):
        for player in dealt_in:
            if not player.moves():
                continue
            visible = before + dealer[0] + "#" + shown
            view = (score(player.hand), player.hand, visible, player.stake, player.chips)
            answer = yield Request(player.seat, view)
            if isinstance(answer, Fault) or not allows(buy_in, view, answer) or (answer.verb == "D" and player.moved):
                player.stands = True
                continue
            player.moved = True
            match answer:
                case Move("B", n):
                    player.chips -= abs(n)
                    player.stake += abs(n)
                    player.solvent = True
                    continue
                case Move("S"):
                    player.stands = True
                    continue
                case Move("D"):
                    player.chips -= player.stake
                    player.stake *= 2
                    player.solvent = True
                    player.stands = True
            card = shoe.draw()
            player.hand += card
            shown += card

    drawn = ""
    while score(dealer + drawn) < DEALER_STANDS:
        drawn += shoe.draw()
    to_beat = score(dealer + drawn) if score(dealer + drawn) <= GOAL else 0
    for player in players:
        if to_beat < score(player.hand) <= GOAL:
            player.chips += 2 * player.stake
    if tell:
        tell("dealer.plays", hand=dealer + drawn, score=to_beat)
    return before + dealer + shown + drawn


def play(buy_in: int, hands: int, stacks: tuple[int, ...], luck: Shuffler, tell: Tell = None) -> Play:
    """Play one round as the engine did. The scores are the chips left, which may be negative."""
    players = [Player2011(seat, chips, chips >= buy_in) for seat, chips in enumerate(stacks)]
    shoe, shown = Shoe(luck, DECK), ""
    for hand in range(1, hands + 1):
        if tell:
            tell("hand.start", hand=hand, chips=[player.chips for player in players])
        shown = yield from play_hand(buy_in, players, shoe, shown, tell)
        if tell:
            tell(
                "hand.end",
                hand=hand,
                hands=[player.hand for player in players],
                stakes=[player.stake for player in players],
                chips=[player.chips for player in players],
            )
    return tuple(player.chips for player in players)
