/* odds: plays the hand to its end a few hundred times, and compares the expected gain with the cost.
 *
 * A player who stays in for a large bet seldom has a poor hand, so in the simulation such players get the best of several
 * hands. Acting early is a disadvantage: later players may raise, so a marginal call needs better odds there. The bot
 * bets in proportion to its edge (J. L. Kelly, 1956), because everything that all players can call can be lost at once:
 * an edge of ten chips does not justify a risk of two hundred.
 *
 * The goal is to advance, which two players of a table do. So the bot takes more risk with its own bets than by calling.
 * When few players are left and it is one of the first two, it waits for the others to eliminate each other.
 * Its random numbers depend only on the question, so the same question always gets the same answer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 400, FEW = 3 };    /* simulated deals per question; opponents left */
static const double KELLY = 0.5;    /* share of the Kelly bet, whose results vary too much */
static const double MARGIN = 1.1;   /* required gain of a call, divided by its cost, */
static const double BEHIND = 0.05;  /* plus this for each player who acts later, */
static const double MUCH = 0.05;    /* and if the call costs more than this share of our chips, */
static const double DEAR = 1.4;     /* times this, because a player who is out cannot win it back */
static const double CLEARLY = 1.35; /* times an equal share: enough to give up a safe place */

/* A card adds one to its suit and one to its rank, so a sum of cards counts all suits and ranks of a hand: four bits for
 * each suit at the bottom, three bits for each rank above. The lowest rank is the ace below the two. */
enum { LOW_ACE = 16, PER_RANK = 3, ACE = 14, DECK = 52, OTHERS = 4 };
enum { HIGH_CARD = 1, PAIR, TWO_PAIRS, THREE, STRAIGHT, FLUSH, FULL_HOUSE, FOUR, STRAIGHT_FLUSH, ROYAL_FLUSH };
#define ONES (((UINT64_C(1) << PER_RANK * ACE) - 1) / 7 << LOW_ACE)

typedef struct {
    uint64_t counts;
    uint64_t suited; /* sixteen bits per suit: the ranks that it has */
} Hand;

static Hand deck[DECK];

static Hand plus(Hand a, Hand b)
{
    return (Hand){a.counts + b.counts, a.suited | b.suited};
}

/* The highest rank in a mask. */
static int rank_of(uint64_t mask)
{
    return (63 - __builtin_clzll(mask) - LOW_ACE) / PER_RANK + 1;
}

/* Where the highest five neighbours begin. A pair inside them breaks the run, as in 2018. */
static uint64_t run_of(uint64_t counts)
{
    uint64_t twice = counts >> 1 | counts >> 2;
    uint64_t some = (counts | twice) & ONES, single = counts & ~twice & ONES;
    some |= some >> PER_RANK * (ACE - 1) & UINT64_C(1) << LOW_ACE;
    uint64_t runs = some & single >> 3 & single >> 6 & single >> 9 & some >> 12;
    return runs ? UINT64_C(1) << (63 - __builtin_clzll(runs)) : 0;
}

/* Category and rank as one number: no kickers, and all other peculiarities of the engine of 2018 (README.md). */
static int worth(Hand hand)
{
    uint64_t counts = hand.counts, ranks = counts & -(UINT64_C(1) << LOW_ACE);
    uint64_t flush = (counts + 0x3333) & 0x8888, run = run_of(ranks);
    int suit = flush ? (__builtin_ctzll(flush) - 3) / 4 : 0;
    unsigned suited = flush ? hand.suited >> 16 * suit & 0xFFFF : 0;
    if (flush && run) {
        int low = rank_of(run), top = low + 4;
        unsigned window = 0x1Fu << low;
        if (low == 1) window = 0x3C | 1u << ACE;
        int lowest = low == 1 ? ACE : low, same = (suited & window) == window;
        for (int other = 0; other < 4; other++) { /* of equal ranks, the run uses the last at its low end, the first at its high end */
            unsigned theirs = hand.suited >> 16 * other & 0xFFFF;
            if (other > suit && theirs >> lowest & 1) same = 0;
            if (other < suit && theirs >> top & 1) same = 0;
        }
        if (same) return (top == ACE ? ROYAL_FLUSH : STRAIGHT_FLUSH) << 4 | top;
    }
    uint64_t halves = ranks >> 1, quarters = ranks >> 2;
    uint64_t fours = quarters & ONES;
    if (fours) return FOUR << 4 | rank_of(fours);
    uint64_t threes = ranks & halves & ONES, pairs = halves & ~ranks & ONES;
    if (threes && pairs) return FULL_HOUSE << 4 | rank_of(threes);
    if (flush) {
        for (int n = 0; n < 4; n++) suited &= suited - 1;
        return FLUSH << 4 | __builtin_ctz(suited);
    }
    if (run) return STRAIGHT << 4 | (rank_of(run) + 4);
    if (threes) return THREE << 4 | rank_of(threes);
    if (pairs) return (pairs & (pairs - 1) ? TWO_PAIRS : PAIR) << 4 | rank_of(pairs);
    return HIGH_CARD << 4 | rank_of(ranks);
}

/* Random numbers: xorshift64*, seeded with the question. */
static uint64_t state;

static unsigned below(unsigned bound)
{
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (uint64_t)(uint32_t)(state * UINT64_C(2685821657736338717) >> 32) * bound >> 32;
}

typedef struct {
    int chips, bet, died;
} Other;

typedef struct {
    int chips, cards, low, high, total, before, living;
    char mine[2], board[5]; /* indices of cards in the deck */
    Other others[OTHERS];   /* players who have acted come first */
    int acted;              /* the number of players who have acted */
} Question;

static int card_at(const char *name)
{
    static const char ranks[] = "23456789TJQKA", suits[] = "chds";
    return 4 * (strchr(ranks, name[0]) - ranks) + (strchr(suits, name[1]) - suits);
}

static int read_others(const char *field, Other *others)
{
    int count = 0;
    for (const char *at = field; at && *at != '-' && count < OTHERS; count++) {
        Other *other = &others[count];
        sscanf(at, "%d:%d:%d", &other->chips, &other->bet, &other->died);
        at = strchr(at, ',');
        if (at) at++;
    }
    return count;
}

static int read_question(char *line, Question *q)
{
    char *field[8] = {0};
    int count = 0;
    for (char *word = strtok(line, " "); word && count < 8; word = strtok(NULL, " ")) field[count++] = word;
    if (count < 8) return 0;
    q->chips = atoi(field[0]);
    q->mine[0] = card_at(field[1]), q->mine[1] = card_at(field[1] + 2);
    q->acted = read_others(field[2], q->others);
    int others = q->acted + (q->acted < OTHERS ? read_others(field[3], q->others + q->acted) : 0);
    q->cards = field[4][0] == '-' ? 0 : (int)strlen(field[4]) / 2;
    for (int n = 0; n < q->cards; n++) q->board[n] = card_at(field[4] + 2 * n);
    q->low = atoi(field[5]), q->high = atoi(field[6]), q->total = atoi(field[7]);
    for (int n = others; n < OTHERS; n++) q->others[n] = (Other){0, 0, 1};
    q->living = 0;
    int level = 0;
    for (int n = 0; n < OTHERS; n++) {
        q->living += !q->others[n].died;
        if (q->others[n].bet > level) level = q->others[n].bet;
    }
    q->before = (level ? level : 1) - q->low; /* our bet on this street */
    return 1;
}

static int draw(uint64_t *used)
{
    for (;;) {
        unsigned card = below(DECK);
        if (*used >> card & 1) continue;
        *used |= UINT64_C(1) << card;
        return card;
    }
}

/* Our mean share of the pot after all cards are dealt. */
static double equity(const Question *q)
{
    Hand mine = plus(deck[(int)q->mine[0]], deck[(int)q->mine[1]]), board = {0, 0};
    uint64_t known = UINT64_C(1) << q->mine[0] | UINT64_C(1) << q->mine[1];
    for (int n = 0; n < q->cards; n++) {
        board = plus(board, deck[(int)q->board[n]]);
        known |= UINT64_C(1) << q->board[n];
    }
    int tries[OTHERS];
    for (int n = 0; n < OTHERS; n++) {
        const Other *other = &q->others[n];
        int stack = other->chips + other->bet;
        double share = stack ? (double)other->bet / stack : 1;
        tries[n] = other->died ? 0 : other->bet < 3 ? 1 : share < 0.1 ? 2 : share < 0.4 ? 3 : 4;
    }
    double won = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t used = known;
        Hand theirs[OTHERS], end = board;
        for (int n = 0; n < OTHERS; n++) {
            int best = -1;
            uint64_t chosen = used;
            for (int attempt = 0; attempt < tries[n]; attempt++) { /* the best of several hands by its current value */
                uint64_t taken = used;
                int a = draw(&taken), b = draw(&taken);
                Hand hand = plus(deck[a], deck[b]);
                int value = tries[n] > 1 ? worth(plus(board, hand)) * 64 + a / 4 + b / 4 + 3 * (a % 4 == b % 4) : 0;
                if (value > best) best = value, theirs[n] = hand, chosen = taken;
            }
            used = chosen;
        }
        for (int n = q->cards; n < 5; n++) end = plus(end, deck[draw(&used)]);
        int ours = worth(plus(end, mine)), sharing = 1;
        for (int n = 0; n < OTHERS && sharing; n++) {
            if (!tries[n]) continue;
            int other = worth(plus(end, theirs[n]));
            if (other > ours) sharing = 0;
            else if (other == ours) sharing++;
        }
        if (sharing) won += 1.0 / sharing;
    }
    return won / SAMPLES;
}

/* Whether we go on if everybody stays as rich as now, and that may be soon. */
static int ahead(const Question *q)
{
    int left = 0, richer = 0;
    for (int n = 0; n < OTHERS; n++) {
        int chips = q->others[n].chips + q->others[n].bet;
        left += chips > 0;
        richer += chips > q->chips + q->before;
    }
    return left <= FEW && richer < 2;
}

static int answer(const Question *q)
{
    if (!q->living) return q->low; /* the pot is ours for the least bet */
    double e = equity(q);
    int n = q->living, to_come = 0;
    if (ahead(q) && e * (n + 1) < CLEARLY) return 0;
    for (int other = q->acted; other < OTHERS; other++) to_come += !q->others[other].died;
    double edge = (e * (n + 1) - 1) / n; /* the share of our chips to have in, by Kelly, if everybody calls */
    int bet = (int)(KELLY * edge * (q->chips + q->before)) - q->before;
    if (bet > q->low) return bet < q->high ? bet : q->high;
    double later = q->cards < 5 && q->low < 3 ? to_come + 1 : 0; /* they mostly call a small bet too */
    double price = q->low * (MARGIN + BEHIND * to_come) * (q->low > MUCH * q->chips ? DEAR : 1);
    return e * (q->total + q->low + later * q->low) >= price ? q->low : 0;
}

int main(void)
{
    static char in[1 << 16], out[1 << 16];
    size_t held = 0;
    for (int rank = 0; rank < 13; rank++)
        for (int suit = 0; suit < 4; suit++)
            deck[4 * rank + suit] = (Hand){
                UINT64_C(1) << (LOW_ACE + PER_RANK * (rank + 1)) | UINT64_C(1) << 4 * suit,
                UINT64_C(1) << (16 * suit + rank + 2),
            };
    for (;;) { /* answer all questions that are there, then write once */
        ssize_t got = read(0, in + held, sizeof in - held);
        if (got <= 0) return 0;
        held += got;
        size_t said = 0;
        char *line = in, *end;
        while ((end = memchr(line, '\n', in + held - line))) {
            *end = '\0';
            state = UINT64_C(0x9E3779B97F4A7C15);
            for (char *at = line; at < end; at++) state = (state ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
            state |= 1;
            Question q;
            said += sprintf(out + said, "%d\n", read_question(line, &q) ? answer(&q) : 0);
            line = end + 1;
        }
        held -= line - in;
        memmove(in, line, held);
        for (size_t sent = 0; sent < said;) {
            ssize_t put = write(1, out + sent, said - sent);
            if (put <= 0) return 0;
            sent += put;
        }
    }
}
