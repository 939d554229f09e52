/* Opens every kind of socket and lists the network interfaces. A pair that the kernel cannot make is found after it has
 * created two sockets, and loaded a module for them. Verdict: harmless, only local sockets can be opened. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    int opened = 0, pair[2];
    for (int family = 0; family < 64; family++)
        for (int kind = 1; kind < 11; kind++)
            for (int protocol = 0; protocol < 4; protocol++)
                if (family != AF_UNIX) {
                    int made = socket(family, kind, protocol);
                    if (made >= 0) fprintf(stderr, "socket %d %d %d\n", family, kind, protocol), opened++, close(made);
                    if (socketpair(family, kind, protocol, pair) == 0) opened++, close(pair[0]), close(pair[1]);
                    else if (errno == EOPNOTSUPP) fprintf(stderr, "created %d %d %d\n", family, kind, protocol), opened++;
                }
    struct if_nameindex *names = if_nameindex();
    if (names && names[0].if_name) fprintf(stderr, "interface %s\n", names[0].if_name), opened++;
    puts(opened ? "B 666" : "S");
    return 0;
}
