# Hides a second answer behind a carriage return, where str.splitlines() cuts. Verdict: unreadable.
print("S\rH")
