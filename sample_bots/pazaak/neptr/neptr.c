/* neptr: counts the visible cards, and draws as long as the next card is more likely to help than to bust its hand.
 *
 * The bot of that name won in 2015 by changing the controller's goal. This one plays by the rules.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GOAL = 20, HIGHEST = 10, COPIES = 4 };
enum { END = -1, STAND = 0 }; /* a move; a positive number is the side card to play */

typedef struct {
    int count, total, card[40];
} Cards;

typedef struct {
    int wins[2], player_one;
    Cards mine, theirs, side;
    int their_side_cards, they_stand, they_played;
} Question;

/* Reads a number; moves `at` behind the character that ends it. */
static int number(const char **at)
{
    int n = 0;
    for (; **at >= '0'; ++*at)
        n = 10 * n + **at - '0';
    ++*at;
    return n;
}

static Cards cards(const char **at)
{
    Cards list = {0, 0, {0}};
    if (**at == '-') {
        *at += 2;
        return list;
    }
    do
        list.total += list.card[list.count++] = number(at);
    while ((*at)[-1] == ',');
    return list;
}

/* Reads "0 0 1 8 - 1,2,4,5 4 - 0"; `croupier games pazaak` explains the fields. */
static Question asked(const char *at)
{
    Question q;
    q.wins[0] = number(&at);
    q.wins[1] = number(&at);
    q.player_one = number(&at);
    q.mine = cards(&at);
    q.theirs = cards(&at);
    q.side = cards(&at);
    q.their_side_cards = number(&at);
    q.they_stand = *at == 'S';
    q.they_played = strchr(at, ' ')[1] == '1';
    return q;
}

static char *say(char *at, int move)
{
    return move > 0 ? at + sprintf(at, "PLAY %d\n", move) : stpcpy(at, move == STAND ? "STAND\n" : "END\n");
}

/* The highest side card that takes the hand to at least `least` and at most `most`, or 0 if there is none. */
static int side_card(const Question *q, int least, int most)
{
    int best = 0;
    for (int n = 0; n < q->side.count; n++) {
        const int total = q->mine.total + q->side.card[n];
        if (total >= least && total <= most && q->side.card[n] > best)
            best = q->side.card[n];
    }
    return best;
}

/* The number of unseen house cards that take the hand to at least `least` without busting it, and the number of all unseen
 * house cards. A side card on the table is counted as a house card, which changes one of forty. */
static int helpful(const Question *q, int least, int *unseen)
{
    int left[HIGHEST + 1], good = 0;
    *unseen = 0;
    for (int card = 1; card <= HIGHEST; card++)
        left[card] = COPIES;
    for (int n = 0; n < q->mine.count; n++)
        left[q->mine.card[n]]--;
    for (int n = 0; n < q->theirs.count; n++)
        left[q->theirs.card[n]]--;
    for (int card = 1; card <= HIGHEST; card++) {
        if (left[card] <= 0)
            continue;
        *unseen += left[card];
        if (q->mine.total + card >= least && q->mine.total + card <= GOAL)
            good += left[card];
    }
    return good;
}

static int decide(const char *line)
{
    const Question q = asked(line);
    const int mine = q.mine.total, theirs = q.theirs.total;
    int card, unseen;

    if (mine >= GOAL || theirs > GOAL)
        return STAND;
    if (q.they_stand) {
        if (mine > theirs)
            return STAND;
        for (int total = theirs + 1; total <= GOAL; total++) /* the lowest card that wins; save the others */
            if ((card = side_card(&q, total, total)))
                return card;
        if (mine < theirs)
            return END; /* standing would certainly lose */
        return 2 * helpful(&q, theirs + 1, &unseen) > unseen ? END : STAND;
    }
    if ((card = side_card(&q, GOAL, GOAL)))
        return card;
    if (2 * helpful(&q, mine, &unseen) > unseen)
        return END;
    if ((card = side_card(&q, 18, GOAL)))
        return card;
    return mine >= 17 ? STAND : END;
}

/* Questions arrive in batches of lines. A batch is one read, and all its answers are one write. */
int main(void)
{
    static char in[1 << 16], out[1 << 16];
    size_t kept = 0;
    for (ssize_t got; (got = read(0, in + kept, sizeof in - kept)) > 0;) {
        const char *line = in, *end, *const all = in + kept + got;
        char *said = out;
        for (; (end = memchr(line, '\n', all - line)); line = end + 1)
            said = say(said, decide(line));
        kept = all - line;
        memmove(in, line, kept);
        for (const char *at = out; at < said;) {
            const ssize_t sent = write(1, at, said - at);
            if (sent < 0)
                return 1;
            at += sent;
        }
    }
    return 0;
}
