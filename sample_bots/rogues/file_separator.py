# Hides a second answer after FS, where str.splitlines() splits. Verdict: unreadable.
print("S\x1cH")
