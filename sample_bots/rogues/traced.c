/* Makes its parent its tracer and stops, so that wait() would report a stop. Verdict: harmless, it is not traced. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>

int main(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        puts("B 666");
        fflush(stdout);
        raise(SIGSTOP);
    }
    puts("S");
    return 0;
}
