/* Over lines: answers its first question 200 ms after the limit of 300 ms, in the hope that the answer is taken for the
 * next one's. Verdict: timeout; nobody hears of the late answer. */
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
