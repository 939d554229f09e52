# Over lines: sleeps forever before its first read. Verdict: timeout.
import time

time.sleep(3600)
