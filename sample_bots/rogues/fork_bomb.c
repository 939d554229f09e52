/* Forks forever, and so does every child. Verdict: timeout; the machine is not affected. */
#include <unistd.h>

int main(void)
{
    for (;;)
        if (fork() < 0) usleep(1000);
}
