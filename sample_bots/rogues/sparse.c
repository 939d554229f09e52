/* Creates a file of a terabyte. Verdict: crash, by SIGXFSZ; harmless where it has no /tmp. */
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int file = open("/tmp/sparse", O_RDWR | O_CREAT, 0600);
    puts(file >= 0 && ftruncate(file, 1LL << 40) == 0 ? "B 666" : "S");
    return 0;
}
