/* Forks for ever, and so does every child. Verdict: timeout; the machine does not notice. */
#include <unistd.h>

int main(void)
{
    for (;;)
        if (fork() < 0) usleep(1000);
}
