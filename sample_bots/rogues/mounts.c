/* Mounts, unmounts and changes its root, with old and new system calls. Verdict: harmless. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    if (mount("proc", "/tmp", "proc", 0, NULL) == 0) escaped = "mount";
    if (mount(NULL, "/bot", NULL, MS_REMOUNT | MS_BIND, NULL) == 0) escaped = "remount";
    if (umount2("/bot", MNT_DETACH) == 0) escaped = "umount";
    if (chroot("/tmp") == 0) escaped = "chroot";
    if (syscall(SYS_pivot_root, "/tmp", "/tmp") == 0) escaped = "pivot_root";
    if (syscall(428, -100, "/", 1) >= 0) escaped = "open_tree";
    if (syscall(429, -100, "/tmp", -100, "/bot", 0) == 0) escaped = "move_mount";
    if (syscall(430, "tmpfs", 0) >= 0) escaped = "fsopen";
    if (syscall(433, -100, "/", 0) >= 0) escaped = "fspick";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
