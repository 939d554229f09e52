#!/bin/sh
# Leaves three thousand nested folders. Verdict: refused at the build, and all of them are deleted.
for n in 1 2 3 4 5 6; do
    path=""
    for depth in $(seq 500); do path=$path/d; done
    mkdir -p ".$path" && cd -P ".$path" || exit 1
done
