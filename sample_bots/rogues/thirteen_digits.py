# Bets more digits than the grammar has. Verdict: unreadable.
print("B 1000000000000")
