/* Lets the compiler wait for somebody to type. Verdict: refused at the build. */
#include "/dev/stdin"
