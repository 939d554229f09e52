# Puts its answer on a line that is too long. Verdict: flood.
print("S" + " " * 4096)
