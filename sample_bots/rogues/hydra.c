/* Each of its processes forks a successor and lives for a millisecond. Verdict: harmless; no process is left. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    for (int heads = 0; heads < 8; heads++)
        if (fork() == 0) {
            setsid();
            close(0), close(1), close(2);
            for (;;) {
                usleep(1000);
                if (fork() != 0) _exit(0);
            }
        }
    puts("S");
    return 0;
}
