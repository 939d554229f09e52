/* cautious: never goes bust. It takes a card only when no card can break its hand, and then waits for the dealer to go bust. */
#include <stdio.h>
#include <stdlib.h>

enum { GOAL = 21, HIGHEST_CARD = 10, GOOD_ENOUGH = 18 };

/* What the hand counts with every ace as 1: an ace is only raised to 11 while that breaks nothing. */
static int lowest(const char *hand)
{
    int total = 0;
    for (; *hand; hand++)
        total += *hand == 'A' ? 1 : *hand >= '2' && *hand <= '9' ? *hand - '0' : 10;
    return total;
}

int main(int argc, char *argv[])
{
    if (argc != 6) {
        fprintf(stderr, "usage: cautious score hand visible stake chips\n");
        return 2;
    }
    const int score = atoi(argv[1]);
    const int safe = lowest(argv[2]) + HIGHEST_CARD <= GOAL;
    printf("%s\n", safe && score < GOOD_ENOUGH ? "H" : "S");
    return 0;
}
