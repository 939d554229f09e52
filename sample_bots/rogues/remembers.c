/* Leaves marks that its next process could find: in the times, mode and attributes of /tmp, in the flags of its standard
 * descriptors, in files. Verdict: harmless; every process starts in the same environment. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The first number above the limit is the only descriptor whose times the filter lets anybody set. */
static int sets_a_time(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    int above = files.rlim_max, tmp = open("/tmp", O_RDONLY);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){above + 1, above + 1});
    for (int fd = above - 1; fd <= above; fd++) {
        dup2(tmp, fd);
        if (futimens(fd, NULL) == 0 || utimensat(fd, "/tmp", NULL, 0) == 0) return 1;
        close(fd);
    }
    close(tmp);
    return utimensat(AT_FDCWD, "/dev/null", NULL, 0) == 0;
}

static const char *remembered(void)
{
    struct stat status;
    char value[8];
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK)) return "the flags of a descriptor";
    if (stat("/tmp", &status)) return "nothing to see in /tmp";
    if ((status.st_mode & 07777) == 0701) return "the mode of /tmp";
    if (status.st_mtim.tv_sec == 20110523) return "the time of /tmp";
    if (getxattr("/tmp", "user.memory", value, sizeof value) >= 0) return "an attribute of /tmp";
    if (sets_a_time()) return "the time of a file";
    DIR *folder = opendir("/tmp");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') return "a file in /tmp";
    return NULL;
}

int main(void)
{
    const char *escaped = remembered();
    struct timespec times[2] = {{20110523, 0}, {20110523, 0}};
    for (int fd = 0; fd < 3; fd++) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND);
    close(open("/tmp/.mark", O_CREAT | O_WRONLY, 0600));
    setxattr("/tmp", "user.memory", "1", 1, 0);
    utimensat(AT_FDCWD, "/tmp", times, 0);
    chmod("/tmp", 0701);
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
