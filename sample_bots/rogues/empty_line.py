# Answers with an empty line. Verdict: unreadable.
print()
