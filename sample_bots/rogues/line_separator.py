# Hides a second answer behind LINE SEPARATOR, where str.splitlines() cuts. Verdict: unreadable.
print("S\u2028H")
