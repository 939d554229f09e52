"""Stays in every round for as little as it may: the bot to beat first, and the shortest that plays at all."""

import sys

for question in sys.stdin:
    my_chips, my_cards, bet_players, betting_players, community_cards, low, high, total = question.split()
    print(low)
