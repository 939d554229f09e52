# Thinks for an hour about every move. Verdict: timeout.
import time

time.sleep(3600)
print("S")
