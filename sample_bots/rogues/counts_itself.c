/* Infers from its process number how often it was started, if process numbers are sequential. Number 2 reveals nothing,
 * because it is the first one in every sandbox.
 * Verdict: harmless, its process number is random. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (getpid() > 2 && getpid() < 100) fprintf(stderr, "the process number %d\n", getpid());
    puts(getpid() > 2 && getpid() < 100 ? "B 666" : "S");
    return 0;
}
