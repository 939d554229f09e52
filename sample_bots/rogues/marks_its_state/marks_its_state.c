/* Leaves marks on its state file and on /tmp that are not content and would outlive a fixture: flags, a generation, a
 * hint, attributes, a lease. Verdict: harmless, all are denied. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

int main(void)
{
    static const char *marked[] = {"memory", "/tmp"};
    const char *escaped = NULL;
    for (int n = 0; n < 2; n++) {
        struct fsxattr attributes = {0};
        uint64_t hint = 2;
        int flags = FS_NODUMP_FL, generation = 42, file = open(marked[n], n ? O_RDONLY | O_DIRECTORY : O_RDWR);
        if (file < 0) continue;
        if (ioctl(file, FS_IOC_SETFLAGS, &flags) == 0) escaped = "flags";
        if (ioctl(file, FS_IOC_GETFLAGS, &flags) == 0) escaped = "its flags are told";
        if (ioctl(file, FS_IOC_FSSETXATTR, &attributes) == 0) escaped = "more flags";
        if (ioctl(file, FS_IOC_SETVERSION, &generation) == 0) escaped = "a generation";
        if (ioctl(file, 0x40086604, &generation) == 0) escaped = "ext4's generation";
        if (fcntl(file, F_SET_RW_HINT, &hint) == 0) escaped = "a hint";
        if (fsetxattr(file, "user.memory", "1", 1, 0) == 0) escaped = "an attribute";
        if (fcntl(file, F_SETLEASE, F_WRLCK) == 0) escaped = "a lease";
        close(file);
    }
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
