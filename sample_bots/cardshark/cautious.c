/* cautious: never goes bust. It draws only if no card can bust its hand, then stands and hopes that the dealer busts. */
#include <stdio.h>
#include <stdlib.h>

enum { GOAL = 21, HIGHEST_CARD = 10, GOOD_ENOUGH = 18 };

/* The value of the hand with every ace as 1: an ace counts 11 only if the hand does not bust. */
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
