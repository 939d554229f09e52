/* Creates and joins namespaces with all system calls that can. Verdict: harmless, none is created. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    static const unsigned flags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
                                     0x00000080};
    const char *escaped = NULL;
    for (int n = 0; n < 8; n++) {
        if (syscall(SYS_unshare, flags[n]) == 0) escaped = "unshare";
        if (syscall(SYS_setns, 0, flags[n]) == 0) escaped = "setns";
        if (n == 7) continue; /* to clone that bit is a part of a signal's number */
        long child = syscall(SYS_clone, flags[n] | SIGCHLD, 0, 0, 0, 0);
        if (child == 0) _exit(0);
        if (child > 0) escaped = "clone";
        uint64_t asked[11] = {flags[n]};
        asked[4] = SIGCHLD;
        child = syscall(SYS_clone3, asked, sizeof asked);
        if (child == 0) _exit(0);
        if (child > 0) escaped = "clone3";
    }
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
