#!/bin/sh
# Leaves the first half of a program, which no kernel runs. Verdict: start.
printf '\177ELF\002\001\001' > bot
chmod 755 bot
