/* Raises its own limits, priority and scheduling class. Verdict: harmless, nothing can be raised. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    struct sched_param first = {50};
    if (setrlimit(RLIMIT_NPROC, &all) == 0) escaped = "tasks";
    if (setrlimit(RLIMIT_FSIZE, &all) == 0) escaped = "size of files";
    if (setrlimit(RLIMIT_NOFILE, &all) == 0) escaped = "open files";
    if (setrlimit(RLIMIT_CORE, &all) == 0) escaped = "core";
    if (setpriority(PRIO_PROCESS, 0, -20) == 0) escaped = "priority";
    if (sched_setscheduler(0, SCHED_FIFO, &first) == 0) escaped = "real time";
    if (open("/proc/self/oom_score_adj", O_WRONLY) >= 0) escaped = "oom_score_adj";
    if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0) escaped = "root";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
