/* Eight children of 40 MiB each: every one below a limit per process. Verdict: memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    for (int child = 0; child < 8; child++)
        if (fork() == 0) {
            char *room = malloc(40 << 20);
            if (room) memset(room, 1, 40 << 20);
            for (;;) pause();
        }
    for (;;) pause();
}
