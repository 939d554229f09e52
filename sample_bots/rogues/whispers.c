/* Over lines, as two bots of one author: each leaves marks that the other could see while both are running: times of
 * devices, abstract sockets, signals, files. Verdict: harmless, neither sees a mark. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
    char question[8192];
    struct sockaddr_un name = {AF_UNIX, "\0partner"};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 8;
    const char *escaped = NULL;
    int meeting = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (meeting >= 0 && bind(meeting, (struct sockaddr *)&name, length)) escaped = "the name is taken";
    static const char *seen_by_all[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/usr", "/bot"};
    while (fgets(question, sizeof question, stdin)) {
        for (int n = 0; n < 7; n++)
            if (utimensat(AT_FDCWD, seen_by_all[n], NULL, 0) == 0) escaped = seen_by_all[n];
        for (int pid = 2; pid < 1000; pid++)
            if (pid != getpid() && kill(pid, 0) == 0) escaped = "another process";
        if (escaped) fprintf(stderr, "%s\n", escaped);
        puts(escaped ? "B 666" : "S");
        fflush(stdout);
    }
    return 0;
}
