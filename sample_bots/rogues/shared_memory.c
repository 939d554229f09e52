/* Allocates shared anonymous memory, which RLIMIT_DATA does not count. Verdict: memory. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t size = 300 << 20;
    char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED) memset(room, 1, size);
    for (;;) pause();
}
