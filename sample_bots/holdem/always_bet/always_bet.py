"""Stay in every round at the lowest price: the shortest useful bot, and the first one to beat."""

import sys

for question in sys.stdin:
    my_chips, my_cards, bet_players, betting_players, community_cards, low, high, total = question.split()
    print(low)
