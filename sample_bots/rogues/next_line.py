# Hides a second answer after NEL, where str.splitlines() splits. Verdict: unreadable.
print("S\x85H")
