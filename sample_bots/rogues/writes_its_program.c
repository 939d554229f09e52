/* Changes, replaces, links and removes its own program for its next start. Verdict: harmless, its folder is read-only. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    if (open("bot", O_WRONLY) >= 0) escaped = "open";
    if (rename("bot", "bot.old") == 0) escaped = "rename";
    if (unlink("bot") == 0) escaped = "unlink";
    if (chmod("bot", 0777) == 0) escaped = "chmod";
    if (truncate("bot", 0) == 0) escaped = "truncate";
    if (link("bot", "twin") == 0) escaped = "link";
    if (symlink("/etc/passwd", "linked") == 0) escaped = "symlink";
    if (open("new", O_WRONLY | O_CREAT, 0600) >= 0) escaped = "a new file";
    if (mkdir("folder", 0700) == 0) escaped = "a new folder";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
