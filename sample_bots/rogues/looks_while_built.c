/* Looks for files of others during its build, and stores the result in its program. Verdict: harmless, it finds none;
 * refused where only Landlock isolates it, because its compiler stops at the first one. */
#include <stdio.h>

#if __has_include("/etc/shadow") || __has_include("/etc/passwd") || __has_include("/root/.bashrc") \
    || __has_include("/proc/self/maps") || __has_include("/proc/1/environ") || __has_include("/sys/kernel/notes") \
    || __has_include("/var/lib/dpkg/status") || __has_include("../staged") || __has_include("../../bots")
#define ANSWER "B 666"
#else
#define ANSWER "S"
#endif

int main(void)
{
    puts(ANSWER);
    return 0;
}
