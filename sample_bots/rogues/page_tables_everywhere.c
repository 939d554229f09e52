/* Reads one byte in every 2 MiB in many processes: each page table is small, but together they are huge. Verdict: memory. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    for (int child = 0; child < 24; child++) {
        if (fork()) continue;
        size_t room = (size_t)8 << 30, step = (size_t)2 << 20;
        volatile char *at = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) break;
        madvise((void *)at, room, MADV_NOHUGEPAGE);
        for (volatile char *end = at + room; at < end; at += step) (void)*at;
        break;
    }
    for (;;) pause();
}
