# Has its own modules random, json and sitecustomize, which would run in any other Python that imported them.
# Verdict: harmless; only its own process finds them.
import random

print("S" if random.planted else "B 666")
