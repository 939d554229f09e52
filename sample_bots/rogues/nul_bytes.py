# Hides a NUL byte in its answer. Verdict: unreadable.
print("S\0")
