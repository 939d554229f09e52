#!/bin/sh
# Leaves links, a FIFO and a socket instead of a program. Verdict: start; none of them is copied or opened.
ln -s /etc/shadow bot
ln -s / root
mkfifo pipe
ln make.sh twin
