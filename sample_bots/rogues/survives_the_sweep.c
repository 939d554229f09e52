/* Leaves folders in /tmp that are hard to remove: named like a cleaner might rename them, not empty, in a read-only /tmp.
 * Verdict: harmless; /tmp is empty each time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    char name[64];
    int there = 0;
    const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp"; /* without namespaces it has another name */
    DIR *folder = opendir(tmp);
    if (chdir(tmp)) return 1;
    while (folder && readdir(folder)) there++;
    for (int n = 0; n < 100; n++) {
        snprintf(name, sizeof name, "moved-%d", n), mkdir(name, 0700);
        snprintf(name, sizeof name, "moved-%d/inner", n), mkdir(name, 0700);
        snprintf(name, sizeof name, "moved-%d/inner/file", n), close(open(name, O_CREAT | O_WRONLY, 0600));
        snprintf(name, sizeof name, "moved-%d/inner", n), chmod(name, n % 2 ? 0 : 0700);
    }
    chmod(tmp, 0555);
    puts(there > 2 || !folder ? "B 666" : "S");
    return 0;
}
