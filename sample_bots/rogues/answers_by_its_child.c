/* Leaves the answer to a child apart from it and is gone before that speaks. Verdict: exit; with the bot all of it has ended. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (fork()) return 0;
    setsid();
    if (fork()) return 0;
    usleep(300000);
    puts("S");
    return 0;
}
