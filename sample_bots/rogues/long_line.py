# Puts its answer on a line longer than a line may be. Verdict: flood.
print("S" + " " * 4096)
