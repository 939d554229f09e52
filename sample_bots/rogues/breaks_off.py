# Over lines: writes half an answer and exits. Verdict: exit; half an answer does not count.
import sys

sys.stdin.readline()
sys.stdout.write("S")
sys.stdout.flush()
