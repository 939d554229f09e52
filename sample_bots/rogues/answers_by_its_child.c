/* Exits before a child in another session prints the answer. Verdict: exit; the child is killed when the bot ends. */
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
