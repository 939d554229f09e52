/* duck: passes its three highest cards and always plays its lowest legal card. */
#include <stdio.h>

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        puts(line[1] == 'A' ? "HIGH" : "LOW"); /* PASS or PLAY */
        fflush(stdout);
    }
    return 0;
}
