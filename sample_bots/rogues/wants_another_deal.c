/* Over lines, several tables at once: plays by chance, and writes one line too many after a hand that looks lost, so that
 * nobody can tell which question which line answers, and the cards may be dealt again. Its standard error says how many
 * questions it was asked at once. Verdict: extra, early; nothing is played again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    char questions[1 << 16];
    ssize_t size;
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    while ((size = read(0, questions, sizeof questions - 1)) > 0) {
        int asked = 0, lost = 0;
        questions[size] = 0;
        for (char *line = questions, *end; (end = strchr(line, '\n')); line = end + 1, asked++) {
            int score = atoi(line);
            puts(rand() & 1 ? "S" : "H");
            lost |= score > 11 && score < 17;
        }
        if (lost) puts("S");
        fprintf(stderr, "%d at once\n", asked);
        fflush(stdout);
    }
    return 0;
}
