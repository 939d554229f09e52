/* Makes as many files as it can in 200 ms, which the keeper must remove. Verdict: harmless, and /tmp is empty each time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    char name[32];
    DIR *folder = opendir("/tmp");
    int there = 0;
    while (folder && readdir(folder)) there++;
    clock_t until = clock() + CLOCKS_PER_SEC / 5;
    for (int n = 0; clock() < until; n++) {
        snprintf(name, sizeof name, "/tmp/%d", n);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    puts(there > 2 ? "B 666" : "S");
    return 0;
}
