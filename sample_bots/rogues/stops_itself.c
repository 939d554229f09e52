/* Stops itself: it never exits, never answers and uses no time. Verdict: timeout. */
#include <signal.h>

int main(void)
{
    for (;;) raise(SIGSTOP);
}
