"""Bet on what its two cards add to the board: a pair on the board is worth nothing, because every player has it.

Written like a bot of 2018, for `adapter = "banksalad"`.
"""

from .core.cards import Card, Rank
from .core.madehands import evaluate
from .player import Other

CATEGORY = 100  # points for a category; the rank adds 2 to 14
SHARE = {3: 0.04, 4: 0.06, 5: 0.10}  # share of its chips for each category gained, by the number of cards on the board
CHEAP = 0.05  # share of its chips that it pays to see the next card


def score(cards: list[Card], community_cards: list[Card]) -> int:
    category, rank = evaluate(player_cards=cards, community_cards=community_cards)
    return CATEGORY * category + rank


def promising(one: Card, other: Card) -> bool:
    return one.rank == other.rank or min(one.rank, other.rank) >= Rank.ten or max(one.rank, other.rank) == Rank.ace


def bet(
    my_chips: int,
    my_cards: list[Card],
    bet_players: list[Other],
    betting_players: list[Other],
    community_cards: list[Card],
    min_bet_amt: int,
    max_bet_amt: int,
    total_bet_amt: int,
) -> int:
    cheap = min_bet_amt <= max(1, int(CHEAP * my_chips))
    if not community_cards:
        return min_bet_amt if promising(*my_cards) and cheap else 0

    gained = score(my_cards, community_cards) - score([], community_cards)
    if gained < CATEGORY:  # at most a higher card of the same kind
        return min_bet_amt if min_bet_amt == 1 and len(community_cards) < 5 else 0

    worth_it = int(my_chips * SHARE[len(community_cards)] * gained / CATEGORY)
    if worth_it > min_bet_amt:
        return min(worth_it, max_bet_amt)
    return min_bet_amt if min_bet_amt <= 3 * worth_it + 1 else 0
