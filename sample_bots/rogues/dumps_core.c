/* Dies with a core dump, for which some machines start a program as root. Verdict: crash; no such program is started. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(void)
{
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    if (core.rlim_max > 1) puts("B 666"), fflush(stdout);
    abort();
}
