# Ends with a traceback instead of an answer. Verdict: crash; the traceback is kept as evidence.
hand = {}
print("S" if hand["ace"] else "H")
