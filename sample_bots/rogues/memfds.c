/* Stores data in two hundred anonymous files, which a memory limit might miss. Verdict: harmless, it gets none. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 20];
    int made = 0;
    memset(block, 1, sizeof block);
    for (int n = 0; n < 200; n++) {
        int file = memfd_create("memory", 0);
        if (file >= 0 && write(file, block, sizeof block) > 0) made++;
    }
    if (made) fprintf(stderr, "%d MiB in files without a name\n", made);
    puts(made ? "B 666" : "S");
    return 0;
}
