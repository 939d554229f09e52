# Writes a number that is JSON and not finite. Verdict: unreadable.
import sys

for line in sys.stdin:
    print('{"move":1e999}', flush=True)
