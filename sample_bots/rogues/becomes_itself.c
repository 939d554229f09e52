/* Executes itself again and again instead of answering. Verdict: cpu or timeout; it remains the same process. */
#include <unistd.h>

int main(int words, char **argv)
{
    (void)words;
    execv(argv[0], argv);
    return 1;
}
