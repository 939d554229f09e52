/* Looks for capabilities inherited from its keeper, and tries what they would allow. Verdict: harmless, it has none. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    const char *escaped = NULL;
    if (syscall(SYS_capget, &head, sets)) return 1;
    for (int half = 0; half < 2; half++)
        if (sets[half].effective || sets[half].permitted || sets[half].inheritable) escaped = "a capability";
    for (int number = 0; number < 41; number++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) == 1) escaped = "an ambient capability";
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) escaped = "new privileges";
    if (prctl(PR_SET_SECUREBITS, 1) == 0) escaped = "secure bits";
    if (prctl(PR_SET_MM, 1, 0, 0, 0) == 0) escaped = "PR_SET_MM";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
