/* Over lines, as two bots of one author: wakes waiters at a file that every sandbox can map, and queries which of its pages
 * were read. Verdict: harmless, all such calls are denied. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
    char question[8192], byte;
    const char *escaped = NULL;
    unsigned long range[2] = {0, 4096}, counted[5];
    struct iovec one = {&byte, 1};
    int file = open("/usr/bin/env", O_RDONLY);
    int *word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    if (word == MAP_FAILED) return 1;
    while (fgets(question, sizeof question, stdin)) {
        if (syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0) escaped = "FUTEX_WAKE";
        if (syscall(SYS_futex, word, 1UL << 32 | FUTEX_WAKE, 1, NULL, NULL, 0) >= 0) escaped = "FUTEX_WAKE, a high bit set";
        if (syscall(SYS_futex, word, FUTEX_WAKE_BITSET, 1, NULL, NULL, ~0) >= 0) escaped = "FUTEX_WAKE_BITSET";
        if (syscall(SYS_futex, word, FUTEX_REQUEUE, 1, 1, word + 1, 0) >= 0) escaped = "FUTEX_REQUEUE";
        if (syscall(454, word, ~0UL, 1, 2) >= 0) escaped = "futex_wake";
        if (syscall(451, file, range, counted, 0) >= 0) escaped = "cachestat";
        if (preadv2(file, &one, 1, 0, RWF_NOWAIT) >= 0) escaped = "preadv2";
        if (escaped) fprintf(stderr, "%s\n", escaped);
        puts(escaped ? "B 666" : "S");
        fflush(stdout);
    }
    return 0;
}
