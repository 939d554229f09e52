/* Over lines: makes its output a pipe of packets and sends each byte as one of them. Verdict: harmless; bytes are bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    fcntl(1, F_SETFL, O_DIRECT);
    while (fgets(question, sizeof question, stdin))
        if (write(1, "S", 1) != 1 || write(1, "", 0) || write(1, "\n", 1) != 1) return 1;
    return 0;
}
