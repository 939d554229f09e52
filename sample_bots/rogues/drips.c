/* Over lines: writes an answer of forty bytes, one byte every 100 ms, so that it is never silent. Verdict: timeout. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    while (fgets(question, sizeof question, stdin)) {
        for (int n = 0; n < 40; n++) {
            if (write(1, n ? " " : "S", 1) != 1) return 1;
            usleep(100000);
        }
        if (write(1, "\n", 1) != 1) return 1;
    }
    return 0;
}
