/* Tries to throw the pages of its mapped state file out of memory, which is denied, and writes them to the disk again and
 * again, so that it waits as if the machine had no memory. Verdict: timeout or cpu, at the latest when it stalls for the third time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20, PAGE = 4096 };

int main(void)
{
    static char page[PAGE];
    int state = open("memory", O_RDWR);
    for (int at = 0; at < SIZE; at += PAGE)
        if (pwrite(state, page, PAGE, at) < 0) return 1;
    volatile char *pages = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, state, 0);
    if (pages == MAP_FAILED) return 1;
    for (;;) {
        msync((void *)pages, SIZE, MS_SYNC);
        madvise((void *)pages, SIZE, MADV_PAGEOUT);
        for (int at = 0; at < SIZE; at += PAGE) pages[at]++;
    }
}
