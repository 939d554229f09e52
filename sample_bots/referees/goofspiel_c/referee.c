/* Goofspiel over referee/1. Both bots bid a card for each prize; the higher bid takes it, equal bids take nothing.
   A fault, or a card that the bot does not hold, bids its lowest card. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CARDS = 13, HAND_BYTES = 3 * MOST_CARDS + 3, SLOTS = 1024 };

struct table {
    long number; /* 0: the slot is free */
    int cards, round, points[2];
    int prizes[MOST_CARDS];
    int hands[2][MOST_CARDS + 1]; /* whether a seat holds each card */
};

static struct table tables[SLOTS];

/* Output: everything is written when no complete line of input is left. */

static char *out;
static size_t filled, room;

static void say(const char *format, ...)
{
    va_list values;
    if (room - filled < 256) {
        room = 2 * room + 65536;
        out = realloc(out, room);
        if (out == NULL)
            exit(1);
    }
    va_start(values, format);
    filled += (size_t)vsnprintf(out + filled, room - filled, format, values);
    va_end(values);
}

static void flush(void)
{
    for (size_t sent = 0; sent < filled;) {
        ssize_t count = write(1, out + sent, filled - sent);
        if (count <= 0)
            exit(1);
        sent += (size_t)count;
    }
    filled = 0;
}

/* Input: croupier writes JSON without blanks, and its members in the order of the manual. */

static const char *after(const char *line, const char *key)
{
    const char *found = line ? strstr(line, key) : NULL;
    return found ? found + strlen(key) : NULL;
}

static struct table *find(long number)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        struct table *one = &tables[(number + slot) % SLOTS];
        if (one->number == number)
            return one;
    }
    exit(1);
}

/* The game. */

static int lowest(const struct table *one, int seat)
{
    for (int card = 1; card <= one->cards; card++)
        if (one->hands[seat][card])
            return card;
    return 0;
}

static int highest(const struct table *one, int seat)
{
    for (int card = one->cards; card >= 1; card--)
        if (one->hands[seat][card])
            return card;
    return 0;
}

/* Write a hand as JSON to a text of HAND_BYTES. */
static void spell_hand(const struct table *one, int seat, char *text)
{
    *text++ = '[';
    for (int card = 1; card <= one->cards; card++)
        if (one->hands[seat][card]) {
            if (text[-1] != '[')
                *text++ = ',';
            if (card > 9)
                *text++ = '1';
            *text++ = (char)('0' + card % 10);
        }
    *text++ = ']';
    *text = '\0';
}

/* Write the end of a line: the next prize and its questions, or the scores. */
static void go_on(struct table *one, const char *comma)
{
    if (one->round == one->cards) {
        if (comma[0])
            say("]");
        say("%s\"over\":{\"scores\":[%d,%d]}}\n", comma, one->points[0], one->points[1]);
        one->number = 0;
        return;
    }
    int prize = one->prizes[one->round];
    say("%s{\"event\":\"board\",\"cards\":[%d]}],\"ask\":[", comma, prize);
    char hands[2][HAND_BYTES];
    spell_hand(one, 0, hands[0]);
    spell_hand(one, 1, hands[1]);
    for (int seat = 0; seat < 2; seat++)
        say("%s{\"seat\":%d,\"view\":{\"prize\":%d,\"your_points\":%d,\"opponent_points\":%d,"
            "\"your_cards\":%s,\"opponent_cards\":%s}}",
            seat ? "," : "", seat, prize, one->points[seat], one->points[1 - seat], hands[seat], hands[1 - seat]);
    say("]}\n");
}

static void open_table(const char *line)
{
    long number = strtol(after(line, "{\"open\":"), NULL, 10);
    struct table *one = NULL;
    for (int slot = 0; one == NULL && slot < SLOTS; slot++)
        if (tables[(number + slot) % SLOTS].number == 0)
            one = &tables[(number + slot) % SLOTS];
    if (one == NULL)
        exit(1);
    memset(one, 0, sizeof *one);
    one->number = number;
    one->cards = atoi(after(line, "\"cards\":"));

    /* The shuffle of protocols/referee.md: the drawn card's place is taken by the last card of the list. */
    const char *words = after(line, "\"shuffle\":[");
    int list[MOST_CARDS];
    for (int card = 0; card < one->cards; card++)
        list[card] = card + 1;
    for (int drawn = 0; drawn < one->cards; drawn++) {
        unsigned long long word = strtoull(words + 1 + 19 * drawn, NULL, 16);
        int left = one->cards - drawn, at = (int)(word % (unsigned long long)left);
        one->prizes[drawn] = list[at];
        list[at] = list[left - 1];
    }
    say("{\"table\":%ld,\"tell\":[", number);
    for (int seat = 0; seat < 2; seat++) {
        for (int card = 1; card <= one->cards; card++)
            one->hands[seat][card] = 1;
        char hand[HAND_BYTES];
        spell_hand(one, seat, hand);
        say("{\"event\":\"deal\",\"seat\":%d,\"cards\":%s},", seat, hand);
    }
    go_on(one, "");
}

static void answer_table(const char *line)
{
    struct table *one = find(strtol(after(line, "{\"table\":"), NULL, 10));
    int bids[2], illegal[2] = {0, 0};
    for (int seat = 0; seat < 2; seat++) { /* both were asked, seat 0 first */
        line = after(line, "{\"seat\":");
        bids[seat] = lowest(one, seat);
        const char *move = strncmp(line + 1, ",\"move\":\"", 9) == 0 ? line + 10 : "";
        if (strncmp(move, "HIGH", 4) == 0)
            bids[seat] = highest(one, seat);
        else if (strncmp(move, "BID ", 4) == 0) {
            int card = atoi(move + 4);
            illegal[seat] = card < 1 || card > one->cards || !one->hands[seat][card];
            if (!illegal[seat])
                bids[seat] = card;
        }
    }
    say("{\"table\":%ld", one->number);
    if (illegal[0] || illegal[1])
        say(",\"illegal\":[%s]", illegal[0] && illegal[1] ? "0,1" : illegal[0] ? "0" : "1");
    say(",\"tell\":[");
    for (int seat = 0; seat < 2; seat++) {
        one->hands[seat][bids[seat]] = 0;
        say("{\"event\":\"play\",\"seat\":%d,\"cards\":[%d]},", seat, bids[seat]);
    }
    say("{\"event\":\"discard\",\"cards\":[%d,%d]}", bids[0], bids[1]);
    int prize = one->prizes[one->round++];
    if (bids[0] != bids[1]) {
        int taker = bids[0] > bids[1] ? 0 : 1;
        one->points[taker] += prize;
        say(",{\"event\":\"take\",\"seat\":%d,\"cards\":[%d]}", taker, prize);
        say(",{\"event\":\"score\",\"seat\":%d,\"points\":%d}", taker, one->points[taker]);
    }
    go_on(one, ",");
}

static void handle(const char *line)
{
    if (strncmp(line, "{\"protocol\"", 11) == 0)
        say("{\"protocol\":\"referee/1\"}\n");
    else if (strncmp(line, "{\"open\"", 7) == 0)
        open_table(line);
    else if (strncmp(line, "{\"drop\":", 8) == 0)
        find(strtol(line + 8, NULL, 10))->number = 0;
    else
        answer_table(line);
}

int main(void)
{
    size_t size = 65536, end = 0;
    char *in = malloc(size);
    if (in == NULL)
        return 1;
    for (;;) {
        ssize_t count = read(0, in + end, size - end - 1);
        if (count <= 0)
            return 0;
        end += (size_t)count;
        in[end] = '\0';
        char *line = in, *newline;
        while ((newline = memchr(line, '\n', end - (size_t)(line - in))) != NULL) {
            *newline = '\0';
            handle(line);
            line = newline + 1;
        }
        flush();
        end -= (size_t)(line - in);
        memmove(in, line, end);
        if (end + 1 == size) {
            size *= 2;
            in = realloc(in, size);
            if (in == NULL)
                return 1;
        }
    }
}
