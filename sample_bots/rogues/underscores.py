# Writes a number as Python would read it. Verdict: unreadable.
print("B 1_0")
