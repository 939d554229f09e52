/* Writes a hundred megabytes to standard error, but answers correctly. Verdict: harmless; 2 KiB are stored. */
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 20];
    memset(block, '!', sizeof block);
    for (int n = 0; n < 100; n++)
        for (ssize_t left = sizeof block, wrote; left > 0; left -= wrote)
            if ((wrote = write(2, block, left)) < 0) return 1;
    return write(1, "S\n", 2) != 2;
}
