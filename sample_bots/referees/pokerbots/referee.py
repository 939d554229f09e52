"""The classic game of MIT Pokerbots as a referee: no-limit hold'em for two, with 400 chips in every round.

A question is one line as MIT's engine writes it, an answer is one of its clauses F, C, K, R40. Whatever is not legal is a check,
or else a fold. After a round both players are told its result and answer K. The time in a line is always the same.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import islice

STACK, BIG_BLIND, SMALL_BLIND = 400, 2, 1
RANKS = "23456789TJQKA"
DECK = [rank + suit for rank in RANKS for suit in "cdhs"]
CLOCK = "T60.000"
CARDS_ON_BOARD = {0: 0, 1: 3, 2: 4, 3: 5}


def words(key: bytes, label: str) -> Iterator[int]:
    """Yield the words of a stream, as protocols/referee.md defines it."""
    block = 0
    while True:
        digest = hashlib.sha256(key + label.encode() + block.to_bytes(4, "big")).digest()
        yield from (int.from_bytes(digest[start : start + 8], "big") for start in range(0, 32, 8))
        block += 1


def drawn(key: bytes, number: int, count: int) -> list[str]:
    """Return the first cards of a shuffled deck."""
    deck, cards = DECK.copy(), []
    for word in islice(words(key, "shuffle" if number == 1 else f"shuffle {number}"), count):
        index = word % len(deck)
        cards.append(deck[index])
        deck[index] = deck[-1]
        deck.pop()
    return cards


def straight(ranks: set[int]) -> int:
    """Return the highest card of the best straight, 0 for none. An ace counts as one, too."""
    low = ranks | ({-1} if 12 in ranks else set())
    return max((top for top in ranks if all(top - below in low for below in range(5))), default=0)


def worth(cards: list[str]) -> tuple[int, ...]:
    """Return the worth of the best five of seven cards: equal hands are equal, a better one is greater."""
    ranks = [RANKS.index(card[0]) for card in cards]
    suits = Counter(card[1] for card in cards)
    suit, most = suits.most_common(1)[0]
    flush = sorted((rank for rank, card in zip(ranks, cards, strict=True) if card[1] == suit), reverse=True)
    if most >= 5 and (top := straight({*flush})):
        return (8, top)
    groups = sorted(Counter(ranks).items(), key=lambda group: (group[1], group[0]), reverse=True)
    (first, count), (second, pairs) = groups[0], groups[1]
    if count == 4:
        return (7, first, max(rank for rank in ranks if rank != first))
    if count == 3 and pairs >= 2:
        return (6, first, max(rank for rank, many in groups[1:] if many >= 2))
    if most >= 5:
        return (5, *flush[:5])
    if top := straight({*ranks}):
        return (4, top)
    if count == 3:
        return (3, first, *sorted({*ranks} - {first}, reverse=True)[:2])
    if count == 2 and pairs == 2:
        return (2, first, second, max(rank for rank in ranks if rank not in (first, second)))
    if count == 2:
        return (1, first, *sorted({*ranks} - {first}, reverse=True)[:3])
    return (0, *sorted(ranks, reverse=True)[:5])


class Round:
    """The betting of one round. Player 0 has the small blind and acts first before the flop, player 1 after it."""

    def __init__(self) -> None:
        self.turn, self.street = 0, 0
        self.pips, self.stacks = [SMALL_BLIND, BIG_BLIND], [STACK - SMALL_BLIND, STACK - BIG_BLIND]
        self.folded: int | None = None

    @property
    def active(self) -> int:
        return self.turn % 2

    def allowed(self, said: str) -> bool:
        """Return whether the active player may say this."""
        active = self.active
        cost = self.pips[1 - active] - self.pips[active]
        if said == "K":
            return cost == 0
        if said in ("F", "C"):
            return cost > 0
        if not said.startswith("R") or cost == self.stacks[active] or 0 in self.stacks:
            return False
        most = min(self.stacks[active], self.stacks[1 - active] + cost)
        least = min(most, cost + max(cost, BIG_BLIND))
        return self.pips[active] + least <= int(said[1:]) <= self.pips[active] + most

    def act(self, said: str) -> bool:
        """Do what the active player has said. Return whether the street is over."""
        active, first = self.active, self.turn == 0 and self.street == 0
        self.turn += 1
        if said == "F":
            self.folded = active
        elif said == "K":
            return self.turn > 2 or (self.street == 0 and self.turn == 2)
        else:
            to = int(said[1:]) if said[0] == "R" else self.pips[1 - active]
            self.stacks[active] -= to - self.pips[active]
            self.pips[active] = to
            return said == "C" and not first  # the big blind may still raise after a call of the small blind
        return True

    def next_street(self) -> None:
        """Begin a street: player 1 acts first."""
        self.street, self.turn, self.pips = self.street + 1, 1, [0, 0]


Play = Generator[dict, list, list]


def play(key: bytes, rounds: int) -> Play:
    """Play one match; yield lines without the table's number, and return the scores."""
    bank = [0, 0]
    for number in range(1, rounds + 1):
        seats = [0, 1] if number % 2 else [1, 0]  # of player 0 and player 1
        cards = drawn(key, number, 9)
        hands, board, state = (cards[:2], cards[2:4]), cards[4:], Round()
        messages = [[CLOCK, f"P{player}", "H" + ",".join(hands[player])] for player in (0, 1)]

        def tell(clause: str, messages: list = messages) -> None:
            for message in messages:
                message.append(clause)

        illegal: list[int] = []
        while state.folded is None:
            player = state.active
            question = {"seat": seats[player], "view": {"message": " ".join(messages[player])}}
            (answer,) = yield {"illegal": illegal, "ask": [question]} if illegal else {"ask": [question]}
            del messages[player][1:]
            said = answer.get("move", "")
            illegal = [] if "fault" in answer or state.allowed(said) else [seats[player]]
            if not state.allowed(said):
                said = "K" if state.allowed("K") else "F"
            tell(said)
            if state.act(said) and state.folded is None:
                if state.street == 3:
                    break
                state.next_street()
                tell("B" + ",".join(board[: CARDS_ON_BOARD[state.street]]))
        paid = [STACK - stack for stack in state.stacks]
        if state.folded is None:
            values = [worth([*hand, *board]) for hand in hands]
            winner = None if values[0] == values[1] else int(values[1] > values[0])
            for player in (0, 1):
                messages[player].append("O" + ",".join(hands[1 - player]))
        else:
            winner = 1 - state.folded
        won = 0 if winner is None else paid[1 - winner]
        for player in (0, 1):
            delta = 0 if winner is None else won if player == winner else -won
            bank[seats[player]] += delta
            messages[player].append(f"D{delta}")
        ask = [{"seat": seats[player], "view": {"message": " ".join(messages[player])}} for player in (0, 1)]
        yield {"illegal": illegal, "ask": ask} if illegal else {"ask": ask}
    return bank


def main() -> None:
    """Serve tables until the input ends."""
    tables: dict[int, Play] = {}
    for line in sys.stdin:
        said, out = json.loads(line), None
        if "protocol" in said:
            print('{"protocol":"referee/1"}', flush=True)
            continue
        if "drop" in said:
            tables.pop(said["drop"]).close()
            continue
        if "open" in said:
            number = said["open"]
            tables[number] = play(bytes.fromhex(said["luck"]), said["rules"]["rounds"])
        else:
            number, out = said["table"], said["answers"]
        try:
            message = tables[number].send(out)
        except StopIteration as over:
            del tables[number]
            message = {"over": {"scores": over.value}}
        print(json.dumps({"table": number, **message}, separators=(",", ":")), flush=True)


main()
