#!/bin/sh
# Leaves folders in folders, three thousand deep. Verdict: refused at the build, and nothing is left of it.
for n in 1 2 3 4 5 6; do
    path=""
    for depth in $(seq 500); do path=$path/d; done
    mkdir -p ".$path" && cd -P ".$path" || exit 1
done
