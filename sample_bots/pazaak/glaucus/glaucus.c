/* glaucus: plays every possible move to the end of the hand, a hundred times in total, and makes the best one.
 *
 * Its random numbers depend only on CROUPIER_SEED and the question: the same question always gets the same answer,
 * whatever it was asked in between. Therefore it can play many tables at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOAL = 20, HIGHEST = 10, COPIES = 4, SIDE_HIGHEST = 5, SIDE_COPIES = 2 };
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

enum { SIMULATIONS = 100, HAND = 100, CARD = 10 }; /* the value of a saved side card, if a hand is worth 100 */

static uint64_t seed, chance;

/* SplitMix64 (Steele, Lea and Flood, 2014): small, and works with any seed. */
static unsigned below(unsigned n)
{
    uint64_t z = chance += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % n;
}

/* FNV-1a of the question, starting with the seed. */
static void shuffle_by(const char *line)
{
    chance = seed ^ 0xcbf29ce484222325;
    for (; *line != '\n'; line++)
        chance = (chance ^ (unsigned char)*line) * 0x100000001b3;
}

typedef struct {
    int count;
    unsigned char card[COPIES * HIGHEST];
} Deck;

static Deck deck_of(int highest, int copies)
{
    Deck deck = {0, {0}};
    for (int card = 1; card <= highest; card++)
        for (int n = 0; n < copies; n++)
            deck.card[deck.count++] = card;
    return deck;
}

/* Removes the cards on the table; a card that occurs too often was a side card. */
static void take_out(Deck *deck, const Cards *seen)
{
    for (int n = 0; n < seen->count; n++) {
        unsigned char *found = memchr(deck->card, seen->card[n], deck->count);
        if (found)
            *found = deck->card[--deck->count];
    }
}

static int draw(Deck *deck)
{
    const int place = below(deck->count), card = deck->card[place];
    deck->card[place] = deck->card[--deck->count];
    return card;
}

typedef struct {
    int total, stands;
    unsigned side; /* bit n: has a side card n */
} Player;

static int holds(const Player *player, int card)
{
    return card > 0 && card <= SIDE_HIGHEST && player->side >> card & 1;
}

/* How both players continue in a simulation. */
static int sensible(const Player *me, const Player *other)
{
    if (me->total >= GOAL || other->total > GOAL || (other->stands && me->total > other->total))
        return STAND;
    if (!other->stands)
        return holds(me, GOAL - me->total) ? GOAL - me->total : me->total >= 18 ? STAND : END;
    for (int total = other->total + 1; total <= GOAL; total++)
        if (holds(me, total - me->total))
            return total - me->total;
    return me->total == other->total && me->total >= 15 ? STAND : END;
}

static void make(Player *player, int move)
{
    player->stands = move != END;
    if (move > 0)
        player->total += move;
}

static int is_over(const Player *a, const Player *b)
{
    return a->total > GOAL || b->total > GOAL || (a->stands && b->stands) || (a->stands && a->total < b->total) ||
           (b->stands && b->total < a->total);
}

/* Plays the hand to its end after this move, and returns its value. */
static int simulate(const Question *q, Deck house, int move)
{
    Player me = {q->mine.total, 0, 0}, other = {q->theirs.total, q->they_stand, 0};
    for (int n = 0; n < q->side.count; n++)
        me.side |= 1u << q->side.card[n];
    Deck hidden = deck_of(SIDE_HIGHEST, SIDE_COPIES);
    for (int n = 0; n < q->their_side_cards; n++)
        other.side |= 1u << draw(&hidden);
    Player *const players[2] = {q->player_one ? &me : &other, q->player_one ? &other : &me};

    make(&me, move);
    for (int turn = !q->player_one; turn == 0 || !is_over(&me, &other);) { /* checked after both players have had their turns */
        turn = !turn;
        if (!players[turn]->stands) {
            players[turn]->total += draw(&house);
            make(players[turn], sensible(players[turn], players[!turn]));
        }
    }
    const int mine = me.total > GOAL ? 0 : me.total, theirs = other.total > GOAL ? 0 : other.total;
    return (mine > theirs ? HAND : mine < theirs ? -HAND : 0) - (move > 0 ? CARD : 0);
}

static int decide(const char *line)
{
    const Question q = asked(line);
    if (q.mine.total >= GOAL || q.theirs.total > GOAL || (q.they_stand && q.mine.total > q.theirs.total))
        return STAND; /* nothing could be better */

    int moves[2 + SIDE_HIGHEST] = {STAND, END}, count = 2;
    for (int card = 1; card <= SIDE_HIGHEST && q.mine.total + card <= GOAL; card++)
        for (int n = 0; n < q.side.count; n++)
            if (q.side.card[n] == card) {
                moves[count++] = card;
                break;
            }
    Deck house = deck_of(HIGHEST, COPIES);
    take_out(&house, &q.mine);
    take_out(&house, &q.theirs);
    shuffle_by(line);

    int best = STAND;
    double highest = -HAND - CARD - 1;
    for (int n = 0; n < count; n++) {
        const int times = (SIMULATIONS + n) / count; /* SIMULATIONS in total */
        int sum = 0;
        for (int time = 0; time < times; time++)
            sum += simulate(&q, house, moves[n]);
        if ((double)sum / times > highest) {
            highest = (double)sum / times;
            best = moves[n];
        }
    }
    return best;
}

/* Questions arrive in batches of lines. A batch is one read, and all its answers are one write. */
int main(void)
{
    const char *told = getenv("CROUPIER_SEED");
    seed = told ? strtoull(told, NULL, 10) : 1;

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
