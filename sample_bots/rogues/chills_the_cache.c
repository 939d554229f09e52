/* Evicts system files from the page cache, so that other bots start slowly; and enables the merging of equal pages, which
 * would reveal the pages of others. Verdict: harmless, both are denied. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { MERGED = 67 }; /* PR_SET_MEMORY_MERGE, which older headers do not name */

int main(void)
{
    const char *escaped = NULL;
    int file = open("/bin/sh", O_RDONLY);
    if (file < 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0) escaped = "fadvise";
    if (prctl(MERGED, 1, 0, 0, 0) == 0) escaped = "PR_SET_MEMORY_MERGE";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
