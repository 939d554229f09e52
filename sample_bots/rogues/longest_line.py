# Puts its answer on the longest line that is allowed. Verdict: harmless.
print("S" + " " * 4095)
