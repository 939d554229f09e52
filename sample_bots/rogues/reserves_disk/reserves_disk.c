/* Reserves disk space beyond the end of its state file, where file size limits do not apply. Verdict: harmless, it gets none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    struct stat status;
    signal(SIGXFSZ, SIG_IGN);
    int state = open("memory", O_RDWR);
    if (state < 0) return 1;
    if (fallocate(state, FALLOC_FL_KEEP_SIZE, 0, 64 << 20) == 0) escaped = "with FALLOC_FL_KEEP_SIZE";
    if (fallocate(state, 0, 0, 64 << 20) == 0) escaped = "with a larger size";
    if (fstat(state, &status) || status.st_blocks > 4096) escaped = "blocks";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
