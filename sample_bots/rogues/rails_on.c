/* Over lines: writes ten megabytes to standard error at every question, but answers correctly. Verdict: harmless. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 20];
    char question[8192];
    memset(block, '!', sizeof block);
    while (fgets(question, sizeof question, stdin)) {
        for (int n = 0; n < 10; n++)
            for (ssize_t left = sizeof block, wrote; left > 0; left -= wrote)
                if ((wrote = write(2, block, left)) < 0) return 1;
        if (write(1, "S\n", 2) != 2) return 1;
    }
    return 0;
}
