#!/bin/sh
while read -r view; do echo STAND; done
