# Writes a number in Arabic digits, which Python's int() would accept. Verdict: unreadable.
print("B ١٠")
