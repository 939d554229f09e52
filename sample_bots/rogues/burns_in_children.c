/* Computes in short-lived children without waiting for them, so that rusage omits them. Verdict: timeout at the latest. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            clock_t until = clock() + CLOCKS_PER_SEC / 200;
            while (clock() < until) {}
            _exit(0);
        }
        if (child < 0) usleep(1000);
    }
}
