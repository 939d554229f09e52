/* Takes memory and writes to all of it, a mebibyte at a time, then sits on it. Verdict: memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    for (int mebibytes = 0; mebibytes < 512; mebibytes++) {
        char *more = malloc(1 << 20);
        if (more) memset(more, 1, 1 << 20);
    }
    for (;;) pause();
}
