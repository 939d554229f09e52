/* Waits in the kernel for a child made by vfork that is not listed as its own, so that it looks as if it waits for a
 * disk. Verdict: harmless, the filter refuses such a child. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static char stack[64 << 10];

static int sleep_on(void *nothing)
{
    for (;;) pause();
    return nothing != NULL;
}

int main(void)
{
    const int hidden[] = {CLONE_PARENT, CLONE_THREAD | CLONE_SIGHAND};
    for (int n = 0; n < 2; n++)
        if (clone(sleep_on, stack + sizeof stack, CLONE_VM | CLONE_VFORK | hidden[n] | (n ? 0 : SIGCHLD), NULL) >= 0) {
            puts("B 666");
            return 0;
        }
    puts("S");
    return 0;
}
