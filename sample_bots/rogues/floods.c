/* Writes without end and without a line end. Verdict: flood, and nobody holds what it wrote. */
#include <string.h>
#include <unistd.h>

int main(void)
{
    char block[65536];
    memset(block, 'S', sizeof block);
    while (write(1, block, sizeof block) > 0) {}
    return 0;
}
