/* By argv: the same, one byte every 100 ms. Verdict: timeout. */
#include <unistd.h>

int main(void)
{
    for (;;) {
        if (write(1, " ", 1) != 1) return 1;
        usleep(100000);
    }
}
