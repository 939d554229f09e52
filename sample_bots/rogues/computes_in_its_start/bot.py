"""Lives for one table, and computes in the start of each of its processes. The first start may take long, and a later one
could as well. Verdict: timeout from the second table on."""

import sys
import time

while time.process_time() < 1.5:
    pass
for _ in sys.stdin:
    print("S", flush=True)
