/* Nests a thousand folders, some without permissions. Verdict: harmless; /tmp is empty each time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    DIR *folder = opendir("/tmp");
    int there = 0;
    while (folder && readdir(folder)) there++;
    if (chdir("/tmp")) return 1;
    for (int depth = 0; depth < 1000; depth++) {
        if (mkdir("a rather long name of a folder, so that no path can hold them all", 0700)) break;
        close(open("file", O_CREAT | O_WRONLY, 0));
        if (chdir("a rather long name of a folder, so that no path can hold them all")) break;
    }
    if (chdir("/tmp")) return 1;
    mkdir("closed", 0700), mkdir("closed/inner", 0700);
    close(open("closed/inner/file", O_CREAT | O_WRONLY, 0));
    chmod("closed/inner", 0), chmod("closed", 0);
    puts(there > 2 ? "B 666" : "S");
    return 0;
}
