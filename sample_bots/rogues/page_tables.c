/* Reads one byte in every 2 MiB of a huge mapping: it owns no page of it, but each needs a page table in kernel memory.
 * Verdict: memory. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t vast = (size_t)1 << 38, step = (size_t)2 << 20;
    volatile char *room = mmap(NULL, vast, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return puts("S") < 0;
    madvise((void *)room, vast, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < vast; at += step) (void)room[at];
    sleep(1);
    puts("S");
    return 0;
}
