# Bets NaN, which compares as false with every limit. Verdict: unreadable.
print("B nan")
