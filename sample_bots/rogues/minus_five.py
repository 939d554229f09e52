# Hold'em over lines: bets -5 chips, to take chips from the pot. Verdict: illegal.
import sys

for question in sys.stdin:
    print(-5)
