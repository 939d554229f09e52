#!/bin/sh
# Leaves more files than a bot may have. Verdict: refused at the build, and all of them are deleted.
for n in $(seq 15000); do : > file$n; done
