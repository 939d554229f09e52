/* Answers, and soon afterwards again, before the next question. Verdict: early; extra if the host reads slowly.
 * The pause is shorter than croupier's delay before it stops a bot without a question. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(void)
{
    char question[4200];
    while (fgets(question, sizeof question, stdin)) {
        if (write(1, "H\n", 2) != 2) return 1;
        for (long started = now(), wait = 50000 + started % 350000; now() - started < wait;) {}
        if (write(1, "H\n", 2) != 2) return 1;
    }
    return 0;
}
