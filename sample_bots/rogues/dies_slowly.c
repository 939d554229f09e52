/* Has a million mappings in sixty processes: after they are killed, the kernel needs a second to free them. Verdict: timeout,
 * or memory if kernel memory is counted, before they are freed; and the next process finds none of them. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t page = 4096, pages = 25000;
    char *at;
    for (int child = 1; child < 60 && fork(); child++) {}
    at = mmap(NULL, pages * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 1;
    for (size_t piece = 0; piece < pages; piece += 2)
        if (mprotect(at + piece * page, page, PROT_NONE)) break;
    for (;;) pause();
}
