#!/bin/sh
# Fills the temporary files' folder while it is built, which may be on the host's own disk. Verdict: refused.
set -e
cd "${TMPDIR:-/tmp}"
for n in 1 2 3 4 5 6 7 8; do head -c 250000000 /dev/zero > file$n; done
