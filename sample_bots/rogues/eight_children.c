/* Starts eight children of 40 MiB each, all below a limit per process. Verdict: memory. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    for (int child = 0; child < 8; child++)
        if (fork() == 0) {
            volatile char *room = malloc(40 << 20);
            for (size_t at = 0; room && at < 40 << 20; at += 4096) room[at] = 1;
            for (;;) pause();
        }
    for (;;) pause();
}
