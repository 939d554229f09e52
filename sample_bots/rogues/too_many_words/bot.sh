#!/bin/sh
# Has more arguments than fit into memory buffers, so that the keeper might crash when starting it. Verdict: start.
echo S
