/* Allocates memory, one mebibyte at a time, writes to all of it, and keeps it. Verdict: memory. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    for (int mebibytes = 0; mebibytes < 512; mebibytes++) {
        volatile char *more = malloc(1 << 20);
        for (size_t at = 0; more && at < 1 << 20; at += 4096) more[at] = 1;
    }
    for (;;) pause();
}
