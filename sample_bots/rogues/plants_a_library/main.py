# Brings its own random, json and customisations, which would answer for it wherever somebody else's Python found them.
# Verdict: harmless; only its own process finds them.
import random

print("S" if random.planted else "B 666")
