/* Creates as many files as it can; each uses a KiB of kernel memory. Verdict: memory; harmless where it has no /tmp. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char name[32];
    for (int n = 0, file; ; n++, close(file)) {
        snprintf(name, sizeof name, "/tmp/%d", n);
        if ((file = open(name, O_CREAT | O_WRONLY, 0600)) < 0) break;
    }
    puts("S");
    return 0;
}
