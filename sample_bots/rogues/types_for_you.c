/* Inserts characters into the host's terminal. Verdict: harmless, it has no terminal. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL, key = 'x';
    for (int fd = 0; fd < 64; fd++)
        if (ioctl(fd, TIOCSTI, &key) == 0 || isatty(fd)) escaped = "a terminal";
    if (open("/dev/tty", O_RDWR) >= 0) escaped = "/dev/tty";
    puts(escaped ? "B 666" : "S");
    return 0;
}
