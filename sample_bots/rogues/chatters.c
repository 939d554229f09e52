/* Prints a hundred megabytes of short lines. Verdict: flood. */
#include <string.h>
#include <unistd.h>

int main(void)
{
    char block[65536];
    for (size_t at = 0; at < sizeof block; at += 2) memcpy(block + at, "S\n", 2);
    for (int n = 0; n < 1600; n++)
        if (write(1, block, sizeof block) < 0) return 1;
    return 0;
}
