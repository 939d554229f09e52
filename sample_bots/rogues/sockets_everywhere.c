/* Fills as many sockets as it may have in as many processes as it may have: kernel memory that belongs to no process.
 * Verdict: memory. */
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    static char block[4096];
    for (int child = 0; child < 50; child++) {
        if (fork()) continue;
        for (int ends[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;)
            for (int end = 0; end < 2; end++)
                while (send(ends[end], block, sizeof block, MSG_DONTWAIT) > 0) {}
        break;
    }
    for (;;) pause();
}
