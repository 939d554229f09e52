/* Shares a thousand mappings with its children: their total exceeds the limit if shared pages are counted repeatedly, and
 * counting or freeing them takes the host a long time. Verdict: timeout, and no other bot is delayed. */
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
