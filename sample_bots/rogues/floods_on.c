/* Over lines: writes endlessly without a line end. Verdict: flood. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char block[65536], question[8192];
    memset(block, 'S', sizeof block);
    if (fgets(question, sizeof question, stdin))
        while (write(1, block, sizeof block) > 0) {}
    return 0;
}
