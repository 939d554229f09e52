#!/usr/bin/env python3
"""Hit below 17, else stand, as the dealer does: the shortest bot there is.

A CardShark bot is started anew for every move with five arguments (score, hand, visible cards, stake, chips) and
prints its move on one line. A lone file like this needs no manifest.
"""

import sys

LIMIT = 17

score = int(sys.argv[1])
print("H" if score < LIMIT else "S")
