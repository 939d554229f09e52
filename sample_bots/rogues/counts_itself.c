/* Learns from its process number how many processes it has had before: they are numbered one after the other, from 2,
 * which itself tells nothing: it is the first in every sandbox.
 * Verdict: harmless, it has any number. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (getpid() > 2 && getpid() < 100) fprintf(stderr, "the process number %d\n", getpid());
    puts(getpid() > 2 && getpid() < 100 ? "B 666" : "S");
    return 0;
}
