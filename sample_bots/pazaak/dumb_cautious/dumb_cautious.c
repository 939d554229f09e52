/* dumb_cautious: stands on 16, whatever its opponent holds, and never uses its side deck.
 *
 * From 16 on, a card is more likely to bust its hand than not: of ten cards, only 1 to 4 do not. In the thread's log, the
 * cautious bot draws on 8 and 3, and stands on 8, 3 and 6.
 */
#include <string.h>
#include <unistd.h>

enum { LIMIT = 16 };

/* The sum of its own hand: the fourth field, for example of "0 0 1 8,3,6 2,8 1,2,4,5 4 END 0". */
static int total(const char *line)
{
    for (int blanks = 0; blanks < 3; line++)
        blanks += *line == ' ';
    for (int sum = 0, card = 0;; line++) {
        if (*line >= '0') {
            card = 10 * card + *line - '0';
            continue;
        }
        sum += card;
        card = 0;
        if (*line == ' ')
            return sum;
    }
}

static char *say(char *at, int stand)
{
    return stpcpy(at, stand ? "STAND\n" : "END\n");
}

static int decide(const char *line)
{
    return total(line) >= LIMIT;
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
