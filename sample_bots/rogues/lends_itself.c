/* Creates set-user-id programs, which another user of the machine could start to get the permissions of croupier's user.
 * Verdict: harmless, no file gets such a mode. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const NAMES[] = {"plain", "made", "opened", "node", "tmp"};

int main(void)
{
    struct { unsigned long long flags, mode, resolve; } how = {O_CREAT | O_WRONLY, 06755, 0};
    umask(0);
    if (chdir("/tmp")) return 1;
    int fd = open("plain", O_CREAT | O_RDWR, 0755);
    for (int mode = 02755; mode <= 06755; mode += 02000) {
        chmod("plain", mode);
        fchmod(fd, mode);
        fchmodat(AT_FDCWD, "plain", mode, 0);
        syscall(452, AT_FDCWD, "plain", mode, 0);
        creat("made", mode);
        open("opened", O_CREAT | O_WRONLY, mode);
        mknod("node", S_IFREG | mode, 0);
        int unnamed = open("/tmp", O_TMPFILE | O_WRONLY, mode);
        linkat(unnamed, "", AT_FDCWD, "tmp", AT_EMPTY_PATH);
    }
    syscall(437, AT_FDCWD, "opened", &how, sizeof how); /* openat2 */
    for (int name = 0; name < 5; name++) {
        struct stat told;
        if (!stat(NAMES[name], &told) && told.st_mode & 06000) return puts("B 666"), 0;
    }
    puts("S");
    return 0;
}
