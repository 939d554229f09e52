# Over lines: writes an answer without its end and waits. Verdict: timeout; the end of the line is the end of the answer.
import sys

for _ in sys.stdin:
    sys.stdout.write("S")
    sys.stdout.flush()
