# Hides a second answer behind NEL, where str.splitlines() cuts. Verdict: unreadable.
print("S\x85H")
