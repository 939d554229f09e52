#!/bin/sh
# Speaks to standard error only, in escape codes: title, clipboard, colours, bells, a faked line. Verdict: exit.
printf '\033]0;croupier\007\033]52;c;cm0gLXJm\007\033[8mS\033[0m\r\nS\n\007\302\233A\342\200\256S\n' >&2
