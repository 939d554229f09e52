# Sleeps for an hour before every move. Verdict: timeout.
import time

time.sleep(3600)
print("S")
