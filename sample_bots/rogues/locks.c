/* Locks files that every sandbox sees, in all ways and also with bits set that the kernel ignores: locks cross all
 * namespaces. Verdict: harmless, nothing is locked. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    static const int commands[] = {F_SETLK, F_SETLKW, F_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_OFD_GETLK};
    const char *escaped = NULL;
    int file = open("/usr/bin/env", O_RDONLY);
    if (flock(file, LOCK_SH | LOCK_NB) == 0) escaped = "flock";
    for (int n = 0; n < 6; n++) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        if (fcntl(file, commands[n], &lock) == 0) escaped = "fcntl";
        memset(&lock, 0, sizeof lock);
        if (syscall(SYS_fcntl, file, 1UL << 32 | commands[n], &lock) == 0) escaped = "fcntl with a high bit";
    }
    if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) escaped = "a lease";
    if (fcntl(file, F_NOTIFY, 1) == 0) escaped = "F_NOTIFY";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
