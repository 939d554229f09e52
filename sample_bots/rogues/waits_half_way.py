# Over lines: writes an answer without a line end and waits. Verdict: timeout; an answer ends with the line end.
import sys

for _ in sys.stdin:
    sys.stdout.write("S")
    sys.stdout.flush()
