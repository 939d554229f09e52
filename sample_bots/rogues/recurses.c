/* Calls itself forever. Verdict: crash. */
#include <string.h>

static int deeper(int n)
{
    volatile char room[4096];
    memset((char *)room, n, sizeof room);
    return deeper(n + 1) + room[n & 4095];
}

int main(void)
{
    return deeper(1) & 1;
}
