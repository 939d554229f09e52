/* Evicts pages of a file that belongs to its user from the page cache, where its next process could look which ones are
 * there. If an ordinary user runs croupier, all files of a bot belong to the user of its sandbox; its state file always
 * does. Verdict: harmless, it can neither evict pages nor look for them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

int main(void)
{
    static char content[SIZE];
    static unsigned char cached[SIZE >> 12];
    const char *escaped = NULL;
    int file = open("memory", O_RDWR);
    if (write(file, content, SIZE) != SIZE || fsync(file)) return 1;
    char *pages = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
    for (volatile int at = 0; at < SIZE; at += 4096) content[at] = pages[at];
    if (madvise(pages, SIZE, MADV_PAGEOUT) == 0) escaped = "its file leaves the cache";
    if (mincore(pages, SIZE, cached) == 0) escaped = "it sees what is in the cache";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
