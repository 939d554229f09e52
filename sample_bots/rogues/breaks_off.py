# Over lines: writes half an answer and goes. Verdict: exit; half an answer is none.
import sys

sys.stdin.readline()
sys.stdout.write("S")
sys.stdout.flush()
