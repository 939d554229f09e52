/* Bets more chips than it has. Verdict: illegal. */
#include <stdio.h>

int main(void)
{
    puts("B 999999");
    return 0;
}
