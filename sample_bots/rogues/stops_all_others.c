/* Stops every process that it can reach, including its keeper, and itself after its answer. Verdict: harmless; at the next
 * question no process is stopped. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    puts("S");
    fflush(stdout);
    kill(1, SIGSTOP), kill(getppid(), SIGSTOP), kill(-getppid(), SIGSTOP);
    close(1);
    for (int child = 0; child < 8; child++)
        if (fork() == 0)
            for (;;) kill(-1, SIGSTOP);
    kill(-1, SIGSTOP);
    raise(SIGSTOP);
    return 0;
}
