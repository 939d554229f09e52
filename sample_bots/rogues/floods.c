/* Writes endlessly without a line end. Verdict: flood, and its output is not stored. */
#include <string.h>
#include <unistd.h>

int main(void)
{
    char block[65536];
    memset(block, 'S', sizeof block);
    while (write(1, block, sizeof block) > 0) {}
    return 0;
}
