#!/bin/sh
# Is started with more words than anybody has room for, so that who starts it may die of it. Verdict: start.
echo S
