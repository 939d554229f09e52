/* Uses ioctls of file systems, devices and sockets: clones, positions on the disk, keys, flags, time stamps.
 * Verdict: harmless, only ioctls of terminals are allowed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    static const char *names[] = {"/bot", "/usr/bin/env", "/tmp", "/dev/null", "/dev/urandom", "/dev/zero"};
    static const unsigned types[] = {0x00, 0x02, 0x03, 0x12, 0x15, 'X', 'f', 'v', 'R', 0x89, 0x94, 0xAE};
    static char room[65536];
    int opened[8], some = 0, escaped = 0;
    for (int n = 0; n < 6; n++)
        if ((opened[some] = open(names[n], O_RDONLY)) >= 0) some++;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, opened + some) == 0) some += 2;
    for (int n = 0; n < some; n++)
        for (int type = 0; type < 12; type++)
            for (unsigned number = 0; number < 64; number++)
                for (unsigned direction = 0; direction < 4; direction++)
                    for (unsigned size = 0; size < 3; size++)
                        if (ioctl(opened[n], direction << 30 | (size * 4) << 16 | types[type] << 8 | number, room) >= 0)
                            fprintf(stderr, "%d %#x %u\n", n, types[type], number), escaped++;
    puts(escaped ? "B 666" : "S");
    return 0;
}
