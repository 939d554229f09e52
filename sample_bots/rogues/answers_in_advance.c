/* Over lines: prints a thousand answers before any question. Verdict: extra, or early if it is slower than the host. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    for (int n = 0; n < 1000; n++) puts("S");
    fflush(stdout);
    while (fgets(question, sizeof question, stdin)) {}
    return 0;
}
