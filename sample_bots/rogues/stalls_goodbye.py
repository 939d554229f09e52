# Over lines: answers well, but does not end when its input does, and ignores every signal it can. Verdict: harmless.
import signal
import sys
import time

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for question in sys.stdin:
    print("S")
time.sleep(3600)
