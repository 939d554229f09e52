# Hides a second answer after LINE SEPARATOR, where str.splitlines() splits. Verdict: unreadable.
print("S\u2028H")
