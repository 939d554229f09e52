/* Writes its state file through to the disk again and again, so that it waits for the disk and hardly computes, as if
 * the machine were slow. Verdict: timeout, at the latest when it stalls for the third time. */
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    static char page[64 << 10];
    int state = open("memory", O_RDWR);
    for (;;) {
        page[0]++;
        if (pwrite(state, page, sizeof page, 0) < 0 || fsync(state)) continue;
    }
}
