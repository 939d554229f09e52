/* Over lines: prints a hundred megabytes of short lines at its first question. Verdict: extra. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char block[65536], question[8192];
    for (size_t at = 0; at < sizeof block; at += 2) memcpy(block + at, "S\n", 2);
    while (fgets(question, sizeof question, stdin))
        for (int n = 0; n < 1600; n++)
            if (write(1, block, sizeof block) < 0) return 1;
    return 0;
}
