#!/nowhere/interpreter
# Wants to be run by a program that nobody has. Verdict: start.
echo S
