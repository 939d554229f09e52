#!/bin/sh
# Writes only to standard error, with escape codes: title, clipboard, colours, bells, a fake line. Verdict: exit.
printf '\033]0;croupier\007\033]52;c;cm0gLXJm\007\033[8mS\033[0m\r\nS\n\007\302\233A\342\200\256S\n' >&2
