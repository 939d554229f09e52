/* Leaves a daemon behind that holds its standard output open, and answers. Verdict: harmless; its exit is its end. */
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
