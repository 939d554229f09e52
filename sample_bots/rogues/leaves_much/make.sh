#!/bin/sh
# Leaves more files than a bot may have. Verdict: refused at the build, and nothing is left of it.
for n in $(seq 1500); do : > file$n; done
