#!/bin/sh
n=0
while read -r view; do n=$((n + 1)); [ $((n % 3)) = 0 ] && echo STAND || echo END; done
