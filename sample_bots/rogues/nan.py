# Bets what is no number, which compares as false with every limit. Verdict: unreadable.
print("B nan")
