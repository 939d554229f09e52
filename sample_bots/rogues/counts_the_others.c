/* Over lines, as two bots of one author: they could detect each other by the free disk space and the mounted file systems.
 * Verdict: harmless, both are hidden. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    static char room[4096];
    static unsigned long long mount[4] = {32, 0, 0xff, 0};
    char question[8192];
    const char *escaped = NULL;
    struct statfs disk;
    while (fgets(question, sizeof question, stdin)) {
        if (statfs("/bot", &disk) == 0 || statfs("/usr", &disk) == 0) escaped = "statfs";
        if (fstatfs(0, &disk) == 0) escaped = "fstatfs";
        if (syscall(457, mount, room, sizeof room, 0) == 0) escaped = "statmount";
        if (syscall(458, mount, room, 8, 0) >= 0) escaped = "listmount";
        if (escaped) fprintf(stderr, "%s\n", escaped);
        puts(escaped ? "B 666" : "S");
        fflush(stdout);
    }
    return 0;
}
