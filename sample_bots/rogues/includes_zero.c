/* Lets the compiler read forever. Verdict: refused at the build, before the machine's memory is full. */
#include "/dev/zero"
