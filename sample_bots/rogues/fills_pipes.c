/* Fills as many pipes and sockets as it may have: kernel memory that belongs to no process. Verdict: harmless. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    static char block[65536];
    int ends[2], made = 0;
    for (; pipe2(ends, O_NONBLOCK) == 0; made++) {
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        while (write(ends[1], block, sizeof block) > 0) {}
    }
    for (; socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0; made++)
        while (write(ends[1], block, sizeof block) > 0) {}
    fprintf(stderr, "%d pipes\n", made);
    puts(made > 100 ? "B 666" : "S");
    return 0;
}
