# Over lines with table numbers: answers for a table that it was not asked about. Verdict: unreadable.
import sys

for question in sys.stdin:
    if not question.startswith("over"):
        print("77777 S")
