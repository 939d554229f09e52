/* Shares a room in a thousand pieces with its children: all together have more than they may, if shared pages count each time,
 * and to count them once takes the host long; so does to bury them. Verdict: timeout, and nobody else is held up. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t room = (size_t)64 << 20, page = 4096;
    char *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 1;
    madvise(at, room, MADV_NOHUGEPAGE);
    memset(at, 1, room);
    for (size_t piece = 0; piece < 12000; piece += 2) mprotect(at + piece * page, page, PROT_READ);
    for (int child = 0; child < 30 && fork(); child++) {}
    for (;;) pause();
}
