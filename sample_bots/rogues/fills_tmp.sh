#!/bin/sh
# Fills /tmp with files until it is full. Verdict: harmless; /tmp is small, its own, and empty at the next question.
[ "$(ls -A /tmp)" ] && echo "B 666" && exit
for file in 1 2 3 4 5 6 7 8; do head -c 8000000 /dev/zero > /tmp/$file 2> /dev/null; done
[ "$(du -sk /tmp | cut -f 1)" -gt 20000 ] && echo "B 666" || echo S
