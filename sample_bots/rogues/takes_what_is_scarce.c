/* Takes resources that are limited for the whole machine: contexts of asynchronous I/O, huge pages, locked memory, queued
 * signals, the other half of its core; and syncs all disks. Verdict: harmless, it gets none. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    unsigned long context = 0;
    int queued = 0;
    sigset_t all;
    if (syscall(SYS_io_setup, 60000, &context) == 0) escaped = "io_setup";
    if (mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED)
        escaped = "huge pages";
    if (mlockall(MCL_FUTURE) == 0) escaped = "mlockall";
    if (prctl(62, 1, 0, 0, 0) == 0) escaped = "PR_SCHED_CORE";
    if (syncfs(1) == 0) escaped = "syncfs";
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    while (queued < 5000 && sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0) queued++;
    if (queued > 600) escaped = "thousands of signals";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
