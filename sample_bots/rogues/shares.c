/* Not a rogue: eight processes share memory that would exceed the limit if counted eight times. Verdict: harmless. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char *room = malloc(40 << 20);
    if (room) memset(room, 1, 40 << 20);
    for (int child = 0; child < 8; child++)
        if (fork() == 0)
            for (;;) pause();
    usleep(200000);
    puts("S");
    return 0;
}
