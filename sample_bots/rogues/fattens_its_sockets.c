/* Requests socket buffers of megabytes and fills them: kernel memory that belongs to no process. Verdict: harmless. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    static char block[65536];
    int ends[2], room = 1 << 20;
    ssize_t held = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return puts("S") < 0;
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    for (ssize_t taken; (taken = write(ends[1], block, sizeof block)) > 0;) held += taken;
    fprintf(stderr, "%zd bytes\n", held);
    puts(held > 1 << 19 ? "B 666" : "S");
    return 0;
}
