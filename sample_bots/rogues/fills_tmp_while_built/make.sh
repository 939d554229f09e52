#!/bin/sh
# Fills the temporary folder during its build, which may be on the host's disk. Verdict: refused.
set -e
cd "${TMPDIR:-/tmp}"
for n in 1 2 3 4 5 6 7 8; do head -c 250000000 /dev/zero > file$n; done
