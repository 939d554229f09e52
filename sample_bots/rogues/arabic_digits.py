# Writes a number in digits that int() of Python would read. Verdict: unreadable.
print("B ١٠")
