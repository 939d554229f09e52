# Prints ten empty lines, then its answer. Verdict: extra.
print("\n" * 10 + "S")
