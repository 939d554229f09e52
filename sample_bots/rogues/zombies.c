/* Leaves two hundred zombie children. Verdict: harmless; there are never more than its limit on tasks. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int dead = 0;
    for (int n = 0; n < 200; n++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        dead += child > 0;
    }
    puts(dead > 64 ? "B 666" : "S");
    return 0;
}
