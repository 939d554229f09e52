# Over lines: answers correctly, but does not end with its input, and ignores all possible signals. Verdict: harmless.
import signal
import sys
import time

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for question in sys.stdin:
    print("S")
time.sleep(3600)
