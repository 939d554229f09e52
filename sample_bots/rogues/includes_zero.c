/* Lets the compiler read for ever. Verdict: refused at the build, before the machine's memory is full. */
#include "/dev/zero"
