#!/bin/sh
# Leaves in good order and says nothing. Verdict: exit.
exit 0
