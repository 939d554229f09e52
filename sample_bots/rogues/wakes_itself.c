/* Over lines: sets timers that would send it SIGCONT, to compute while it should be stopped. Verdict: harmless, none is set. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    const char *escaped = NULL;
    int pair[2] = {-1, -1}, own = getpid();
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    struct sigevent wake = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    timer_t timer;
    while (fgets(question, sizeof question, stdin)) {
        if (timer_create(CLOCK_MONOTONIC, &wake, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0) escaped = "a timer";
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        if (ioctl(pair[0], 0x8901, &own) == 0) escaped = "FIOSETOWN";
        if (ioctl(pair[0], 0x8902, &own) == 0) escaped = "SIOCSPGRP";
        if (fcntl(pair[0], F_SETSIG, SIGCONT) == 0) escaped = "F_SETSIG";
        close(pair[0]), close(pair[1]);
        if (escaped) fprintf(stderr, "%s\n", escaped);
        puts(escaped ? "B 666" : "S");
        fflush(stdout);
    }
    return 0;
}
