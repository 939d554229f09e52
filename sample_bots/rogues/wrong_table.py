# Over lines with table numbers: answers for a table that was not asked. Verdict: unreadable.
import sys

for question in sys.stdin:
    if not question.startswith("over"):
        print("77777 S")
