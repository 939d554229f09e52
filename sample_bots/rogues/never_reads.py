# Over lines: sleeps before its first read, and for ever. Verdict: timeout.
import time

time.sleep(3600)
