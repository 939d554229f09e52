#!/bin/sh
n=0
while read -r view; do n=$((n + 1)); [ $n = 9 ] && exit 3; echo END; done
