/* Requests shared memory, anonymous and through a device, and takes it out of its page tables: then no counter of a
 * process shows it, and it would stay in use up to the whole memory of the machine. Verdict: memory, by its control group;
 * harmless without one, because then it gets no shared memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 300 << 20, PIECE = 4 << 20 };

/* Fill memory piece by piece, and forget each piece; return whether its content is still there. */
static int is_kept(char *room)
{
    for (size_t at = 0; at < SIZE; at += PIECE) {
        memset(room + at, 1, PIECE);
        madvise(room + at, PIECE, MADV_DONTNEED);
    }
    return room[SIZE - 1] == 1;
}

int main(void)
{
    static const char *devices[] = {"/dev/zero", "/dev/full"};
    const char *escaped = NULL;
    char *room = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED && is_kept(room)) escaped = "shared memory";
    for (int nth = 0; nth < 2; nth++) {
        room = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, open(devices[nth], O_RDWR), 0);
        if (room != MAP_FAILED && is_kept(room)) escaped = devices[nth];
    }
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
