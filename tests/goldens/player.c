/* player: plays every game over every protocol, and makes every fault that needs no clock.
 *
 * usage: player NAME GAME PROTOCOL TABLE_IDS FAULT ONE_IN USES_SEED [the fields of a question, over argv]
 *
 * An answer depends on the question and the name alone, and on CROUPIER_SEED where USES_SEED is 1. FAULT is what goes
 * wrong in one answer of ONE_IN, chosen by a hash of the question.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINE = 1 << 16, MAX_FIELDS = 16, TOO_MUCH = 40000 };
static const char *name, *game, *protocol, *fault, *seed = "";
static int table_ids, one_in;
static char out[1 << 20];

static uint64_t hash_of(const char *salt, const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, and one mixing step */
    for (const char *parts[] = {salt, "|", name, "|", seed, "|", text, NULL}, **part = parts; *part; part++)
        for (const char *c = *part; *c; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xBF58476D1CE4E5B9);
    return hash ^ hash >> 32;
}

/* JSON values are spelled as the protocol `lines` spells them, so that all protocols bring the same answers. */

static const char *spell(const char *in, char **to);

static const char *spell_list(const char *in, char **to, char end, char separator)
{
    int count = 0;
    for (in++; *in != end; count++) {
        if (*in == ',') in++;
        if (end == '}') in = strchr(in, ':') + 1;
        if (count) *(*to)++ = separator;
        in = spell(in, to);
    }
    if (!count) *(*to)++ = '-';
    return in + 1;
}

static const char *spell(const char *in, char **to)
{
    if (*in == '[') return spell_list(in, to, ']', ',');
    if (*in == '{') return spell_list(in, to, '}', ':');
    if (*in == '"') {
        const char *from = ++in;
        while (*in != '"') *(*to)++ = *in++;
        if (in == from) *(*to)++ = '-';
        return in + 1;
    }
    if (!strncmp(in, "true", 4)) return *(*to)++ = '1', in + 4;
    if (!strncmp(in, "false", 5)) return *(*to)++ = '0', in + 5;
    if (!strncmp(in, "null", 4)) return *(*to)++ = '-', in + 4;
    while (*in && strchr("+-.0123456789", *in)) *(*to)++ = *in++;
    return in;
}

static int sum_of(const char *numbers)
{
    int sum = 0;
    for (char *end; *numbers; numbers = *end ? end + 1 : end)
        sum += strtol(numbers, &end, 10);
    return sum;
}

static void decide(char *question, char *move)
{
    const uint64_t chance = hash_of("move", question);
    char *fields[MAX_FIELDS] = {0};
    int count = 0;
    for (char *word = strtok(question, " "); word && count < MAX_FIELDS; word = strtok(NULL, " "))
        fields[count++] = word;
    if (!strcmp(game, "cardshark")) {
        const int score = atoi(fields[0]), stake = atoi(fields[3]), chips = atoi(fields[4]);
        if (score < 12 + (int)(chance % 6))
            strcpy(move, strlen(fields[1]) == 2 && stake <= chips && chance % 11 == 0 ? "D" : "H");
        else if (score >= 19 && chips >= 10 && stake < 40)
            sprintf(move, "B %d", 5 + (int)(chance % (chips < 50 ? chips - 4 : 46)));
        else
            strcpy(move, "S");
    } else if (!strcmp(game, "pazaak")) {
        const int total = sum_of(fields[3]), side_card = atoi(fields[5]);
        if (*fields[5] != '-' && (chance % 16 == 0 || total + side_card == 20))
            sprintf(move, "PLAY %d", side_card);
        else
            strcpy(move, total >= 15 + (int)(chance % 6) ? "STAND" : "END");
    } else {
        const int least = atoi(fields[5]), most = atoi(fields[6]);
        int bet = least;
        if (chance % 7 == 0)
            bet = most;
        else if (chance % 7 == 1)
            bet = least + (most - least) / 4;
        else if (chance % 7 < 4 && least > 4)
            bet = 0;
        sprintf(move, "%d", bet);
    }
}

static char *answer_line(char *at, const char *table, const char *answer)
{
    if (strcmp(protocol, "json")) return at + sprintf(at, "%s%s%s\n", table, *table ? " " : "", answer);
    if (*table) return at + sprintf(at, "{\"table\":%s,\"move\":\"%s\"}\n", table, answer);
    return at + sprintf(at, "{\"move\":\"%s\"}\n", answer);
}

static void send_all(const char *from, const char *to)
{
    for (ssize_t sent; from < to; from += sent)
        if ((sent = write(1, from, to - from)) < 0) _exit(1);
}

/* Appends the answer to one question; the answers before it are sent first where the process does not survive. */
static char *answer(char *at, const char *table, char *question)
{
    char move[64];
    const int wrong = one_in && hash_of("fault", question) % one_in == 0;
    decide(question, move);
    if (wrong && !strcmp(fault, "illegal"))
        strcpy(move, !strcmp(game, "cardshark") ? "B 999999" : !strcmp(game, "pazaak") ? "PLAY 77" : "-5");
    else if (wrong && !strcmp(fault, "unreadable"))
        strcpy(move, "what?");
    else if (wrong && !strcmp(fault, "exception"))
        strcpy(move, "! ValueError");
    else if (wrong && !strcmp(fault, "extra"))
        at = answer_line(at, table, move);
    else if (wrong) {
        send_all(out, at);
        if (!strcmp(fault, "crash")) abort();
        if (!strcmp(fault, "exit")) _exit(0);
        memset(out, 'x', TOO_MUCH);
        send_all(out, out + TOO_MUCH);
        pause();
    }
    return answer_line(at, table, move);
}

static char *answer_to_line(char *at, char *line)
{
    char table[24] = "", question[MAX_LINE], *to = question;
    if (!strcmp(protocol, "json")) {
        if (!strncmp(line, "{\"over\"", 7)) return at;
        for (const char *in = line + 1; *in != '}';) {
            if (*in == ',') in++;
            const int is_table = table_ids && !*table && !strncmp(in, "\"table\"", 7);
            char *table_end = table;
            in = strchr(in + 1, '"') + 2;
            if (!is_table && to > question) *to++ = ' ';
            in = spell(in, is_table ? &table_end : &to);
        }
        *to = 0;
        return answer(at, table, question);
    }
    if (table_ids && !strncmp(line, "over ", 5)) return at;
    if (table_ids) {
        char *blank = strchr(line, ' ');
        *blank = 0;
        strcpy(table, line);
        line = blank + 1;
    }
    strcpy(question, line);
    return answer(at, table, question);
}

int main(int argc, char *argv[])
{
    if (argc < 8) return 2;
    name = argv[1], game = argv[2], protocol = argv[3], table_ids = atoi(argv[4]), fault = argv[5], one_in = atoi(argv[6]);
    if (atoi(argv[7]) && getenv("CROUPIER_SEED")) seed = getenv("CROUPIER_SEED");
    if (!strcmp(protocol, "argv")) {
        char question[MAX_LINE] = "";
        for (int n = 8; n < argc; n++)
            strcat(strcat(question, n > 8 ? " " : ""), argv[n]);
        send_all(out, answer(out, "", question));
        return 0;
    }
    static char in[1 << 20];
    size_t rest = 0;
    for (ssize_t got; (got = read(0, in + rest, sizeof in - rest)) > 0;) {
        char *line = in, *end, *const all = in + rest + got, *at = out;
        for (; (end = memchr(line, '\n', all - line)); line = end + 1) {
            *end = 0;
            at = answer_to_line(at, line);
        }
        rest = all - line;
        memmove(in, line, rest);
        send_all(out, at);
    }
    return 0;
}
