/* Sets all timers and tries to set all clocks. Verdict: harmless, no clock is set. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

int main(void)
{
    const char *escaped = NULL;
    struct timespec now;
    struct timeval day = {0, 0};
    struct timex adjusted = {.modes = ADJ_TICK, .tick = 10000};
    struct itimerval soon = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, SIG_IGN), signal(SIGVTALRM, SIG_IGN), signal(SIGPROF, SIG_IGN);
    for (int timer = 0; timer < 3; timer++) setitimer(timer, &soon, NULL);
    prctl(PR_SET_TIMERSLACK, 1000000000UL);
    clock_gettime(CLOCK_REALTIME, &now);
    if (clock_settime(CLOCK_REALTIME, &now) == 0) escaped = "the clock is set";
    gettimeofday(&day, NULL);
    if (settimeofday(&day, NULL) == 0) escaped = "the day is set";
    if (adjtimex(&adjusted) != -1) escaped = "the clock's pace is set";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
