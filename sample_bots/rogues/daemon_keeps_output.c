/* Answers, and leaves a daemon behind that keeps its standard output open. Verdict: harmless; the bot ends when it exits. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    puts("S");
    fflush(stdout);
    if (fork() == 0) {
        setsid();
        for (;;) pause();
    }
    return 0;
}
