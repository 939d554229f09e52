#!/bin/sh
# Exits with status 0 without an answer. Verdict: exit.
exit 0
