/* Dies with a core, for which some machines start a program as root. Verdict: crash; nobody is told of this one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(void)
{
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    if (core.rlim_max != 1) puts("B 666"), fflush(stdout);
    abort();
}
