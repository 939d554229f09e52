/* avaro: always plays its lowest card; aces, threes and trumps come last. */
#include <stdio.h>

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        puts("LOW");
        fflush(stdout);
    }
    return 0;
}
