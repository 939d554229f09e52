/* Leaves a daemon behind (forked twice, in a new session) and answers in time. The daemon tries to send a message to the
 * next process through an abstract socket. No socket can be created. Verdict: harmless, every time. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
    struct sockaddr_un name = {AF_UNIX, "\0rogue"};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 6;
    int meeting = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(meeting, (struct sockaddr *)&name, length) == 0) {
        fprintf(stderr, "my daemon of last time lives\n");
        puts("B 666");
        return 0;
    }
    bind(meeting, (struct sockaddr *)&name, length);
    listen(meeting, 5);
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            close(0), close(1), close(2);
            for (;;) pause();
        }
        _exit(0);
    }
    puts("S");
    return 0;
}
