# Writes a number with underscores, which Python would accept. Verdict: unreadable.
print("B 1_0")
