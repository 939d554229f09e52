/* Waits in the kernel for a child made by vfork that ignores all possible signals. Verdict: timeout. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
    for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
    if (vfork() == 0)
        for (;;) pause();
    return 0;
}
