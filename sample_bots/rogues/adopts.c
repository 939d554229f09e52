/* Adopts its orphans, requests a signal at every death, and forks in every signal handler, in new sessions.
 * Verdict: harmless; all its processes are killed between two questions. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static void flee(int number)
{
    (void)number;
    if (fork() == 0) setsid();
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int child = 0; child < 4; child++)
        if (fork() == 0) {
            for (int number = 1; number < 65; number++) signal(number, flee);
            prctl(PR_SET_CHILD_SUBREAPER, 1);
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            setsid();
            if (fork()) _exit(0);
            prctl(PR_SET_PDEATHSIG, SIGUSR2);
            close(0), close(1), close(2);
            for (;;) pause();
        }
    puts("S");
    return 0;
}
