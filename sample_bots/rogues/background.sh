#!/bin/sh
# Leaves jobs in the background, one of them in a new session. Verdict: harmless.
sleep 1000 &
setsid sleep 1000 &
(trap '' HUP TERM INT; while :; do sleep 1; done) > /tmp/job 2>&1 &
cat > /tmp/here << END
a document
END
echo S
