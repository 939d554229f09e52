/* Over lines: prints two lines for every question, so that all later answers would be shifted by one. Verdict: extra. */
#include <stdio.h>

int main(void)
{
    char question[8192];
    while (fgets(question, sizeof question, stdin)) {
        fputs("H\nS\n", stdout);
        fflush(stdout);
    }
    return 0;
}
