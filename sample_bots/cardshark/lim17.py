#!/usr/bin/env python3
"""Hit below 17, otherwise stand, like the dealer: the shortest possible bot.

A new process of a cardshark bot is started for every move, with five arguments (score, hand, visible cards, stake,
chips). It prints its move on one line. A single file like this needs no bot.toml.
"""

import sys

LIMIT = 17

score = int(sys.argv[1])
print("H" if score < LIMIT else "S")
