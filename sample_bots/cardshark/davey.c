/* davey: hits as long as the average unseen card would not bust its hand.
 *
 * The visible list contains every card on the table, including its own and the dealer's. The other cards of one deck are
 * the ones that may come next. (`#` is the dealer's hidden card, which is as unknown as the rest of the shoe.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOAL = 21, BUY_IN = 10, SUITS = 4 };
static const char RANKS[] = "A23456789TJQK";

/* The points that a card adds to this score; an ace adds 11 if the hand does not bust. Cards are A, 2-9, T, J, Q and K. */
static int points(char card, int score)
{
    if (card == 'A')
        return score + 11 <= GOAL ? 11 : 1;
    return card >= '2' && card <= '9' ? card - '0' : 10;
}

static double mean_unseen(const char *visible, int score)
{
    int cards = 0, sum = 0;
    for (const char *rank = RANKS; *rank; rank++) {
        cards += SUITS;
        sum += SUITS * points(*rank, score);
    }
    const double whole_deck = (double)sum / cards;
    for (; *visible; visible++) {
        if (strchr(RANKS, *visible)) {
            cards--;
            sum -= points(*visible, score);
        }
    }
    return cards > 0 ? (double)sum / cards : whole_deck; /* no card is left, so a new deck must have been opened */
}

int main(int argc, char *argv[])
{
    if (argc != 6) {
        fprintf(stderr, "usage: davey score hand visible stake chips\n");
        return 2;
    }
    const int score = atoi(argv[1]), stake = atoi(argv[4]), chips = atoi(argv[5]);
    const char *hand = argv[2], *visible = argv[3];
    const int first_move = strlen(hand) == 2 && stake == BUY_IN;

    if (chips > 0 && chips < BUY_IN)
        printf("B %d\n", chips); /* too few chips for another hand, so bet them in this one */
    else if (first_move && chips >= stake && (score == 10 || score == 11))
        printf("D\n");
    else if (score + mean_unseen(visible, score) <= GOAL)
        printf("H\n");
    else
        printf("S\n");
    return 0;
}
