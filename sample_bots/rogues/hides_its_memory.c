/* Takes memory and makes itself unreadable to whoever looks from outside. Verdict: memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    char *room = malloc(300 << 20);
    if (room) memset(room, 1, 300 << 20);
    for (;;) pause();
}
