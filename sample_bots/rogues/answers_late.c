/* Over lines: answers its first question 200 ms after the limit of 300 ms, so that the answer might count for the next
 * question. Verdict: timeout; the late answer is discarded. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    while (fgets(question, sizeof question, stdin)) {
        usleep(500000);
        puts("B 666");
        fflush(stdout);
    }
    return 0;
}
