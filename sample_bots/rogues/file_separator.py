# Hides a second answer behind FS, where str.splitlines() cuts. Verdict: unreadable.
print("S\x1cH")
