# Ends with a traceback instead of an answer. Verdict: crash; the traceback is stored as evidence.
hand = {}
print("S" if hand["ace"] else "H")
