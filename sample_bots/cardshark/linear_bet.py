#!/usr/bin/env python3
"""Hit below 15, then bet in proportion to the score, then stand.

With 190 chips it answers `B 135.71428571428572` on 19; the game truncates a bet to an integer. After the bet, the stake
is higher than the buy-in: this is how a bot without memory knows that it has already bet.
"""

import sys

GOAL, BUY_IN = 21, 10
LIMIT = 15
HIGHEST_BET = 150

score, stake, chips = (int(sys.argv[field]) for field in (1, 4, 5))
bet = min(HIGHEST_BET * score / GOAL, chips)  # a bet above its chips would count as a stand
if score < LIMIT:
    print("H")
elif stake == BUY_IN and bet >= 1:
    print("B", bet)
else:
    print("S")
