# Hides a second answer after a carriage return, where str.splitlines() splits. Verdict: unreadable.
print("S\rH")
