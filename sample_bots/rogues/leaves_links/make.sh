#!/bin/sh
# Leaves links, a FIFO and a socket in place of a program. Verdict: start; none of them is copied, none is opened.
ln -s /etc/shadow bot
ln -s / root
mkfifo pipe
ln make.sh twin
