#!/bin/sh
# Leaves more files than a bot may have. Verdict: refused at the build, and nothing is left of it.
for n in $(seq 15000); do : > file$n; done
