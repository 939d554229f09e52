/* Becomes itself anew, over and over, in place of an answer. Verdict: cpu or timeout; it is one process all the time. */
#include <unistd.h>

int main(int words, char **argv)
{
    (void)words;
    execv(argv[0], argv);
    return 1;
}
