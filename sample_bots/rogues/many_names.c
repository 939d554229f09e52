/* Makes as many files as it can: a KiB of the kernel's memory each. Verdict: memory. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char name[32];
    for (int n = 0;; n++) {
        snprintf(name, sizeof name, "/tmp/%d", n);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
}
