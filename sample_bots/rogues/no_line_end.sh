#!/bin/sh
# By argv: answers without a line end, as the manual allows. Verdict: harmless.
printf S
