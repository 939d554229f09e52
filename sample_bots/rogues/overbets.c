/* Bets what it does not have. Verdict: illegal. */
#include <stdio.h>

int main(void)
{
    puts("B 999999");
    return 0;
}
