/* Creates links, pipes, sockets and devices to reach files outside its folder. Verdict: harmless. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    if (link("/usr/bin/env", "/tmp/env") == 0) escaped = "a hard link out of /tmp";
    if (mknod("/tmp/disk", S_IFBLK | 0600, makedev(8, 0)) == 0) escaped = "a device";
    if (mknod("/tmp/memory", S_IFCHR | 0600, makedev(1, 1)) == 0) escaped = "a device";
    if (symlink("/proc/1/root/etc/shadow", "/tmp/shadow") == 0 && open("/tmp/shadow", O_RDONLY) >= 0) escaped = "a link";
    if (chmod("/usr/bin/env", 04755) == 0 || chmod("/dev/null", 0) == 0) escaped = "chmod";
    if (chown("/tmp", 0, 0) == 0) escaped = "chown";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
