# Hold'em over lines: bets -5 chips, to be paid by the pot. Verdict: illegal.
import sys

for question in sys.stdin:
    print(-5)
