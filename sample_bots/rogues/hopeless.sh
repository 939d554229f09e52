#!/bin/sh
# Fails every time it is asked. Verdict: crash twenty times, then benched.
echo "I cannot do this" >&2
exit 1
