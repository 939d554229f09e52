/* Allocates memory and makes itself unreadable for other processes. Verdict: memory. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    volatile char *room = malloc(300 << 20);
    for (size_t at = 0; room && at < 300 << 20; at += 4096) room[at] = 1;
    for (;;) pause();
}
