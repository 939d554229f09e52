/* Over lines, as two bots of one author: one could tell the other by how many tasks, how much memory and disk there are.
 * Verdict: harmless, nothing of the machine is told. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int main(void)
{
    static char room[4096];
    static unsigned long long mount[4] = {32, 0, 0xff, 0};
    char question[8192];
    const char *escaped = NULL;
    struct sysinfo machine;
    struct statfs disk;
    while (fgets(question, sizeof question, stdin)) {
        if (sysinfo(&machine) == 0) escaped = "sysinfo";
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
