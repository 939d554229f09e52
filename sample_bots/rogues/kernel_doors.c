/* Tries powerful kernel interfaces: bpf, perf, io_uring, userfaultfd, keys, modules and more. Verdict: harmless. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    static char room[4096], name[] = "x";
    const char *escaped = NULL;
#define KNOCK(call, ...) if (syscall(SYS_##call, __VA_ARGS__) >= 0) escaped = #call
    KNOCK(bpf, 0, room, sizeof room);
    KNOCK(perf_event_open, room, 0, -1, -1, 0);
    KNOCK(io_uring_setup, 8, room);
    KNOCK(userfaultfd, 0);
    KNOCK(add_key, "user", name, name, 1, -3);
    KNOCK(keyctl, 0, -3, 1);
    KNOCK(request_key, "user", name, name, -3);
    KNOCK(name_to_handle_at, -100, "/", room, room + 8, 0);
    KNOCK(init_module, room, 0, name);
    KNOCK(kexec_load, 0, 0, room, 0);
    KNOCK(syslog, 3, room, sizeof room);
    KNOCK(quotactl, 0, name, 0, room);
    KNOCK(acct, 0);
    KNOCK(swapoff, name);
    KNOCK(personality, 0x0040000);
    KNOCK(sethostname, name, 1);
    KNOCK(inotify_init1, 0);
    KNOCK(fanotify_init, 0, 0);
    KNOCK(mbind, room, 4096, 0, 0, 0, 0);
    KNOCK(memfd_create, name, 0);
    KNOCK(vmsplice, 1, room, 0, 0);
    KNOCK(reboot, 0xfee1dead, 672274793, 0, 0);
    KNOCK(clone3, room, 88);
#ifdef SYS_modify_ldt
    KNOCK(modify_ldt, 0, room, sizeof room);
    KNOCK(iopl, 3);
    KNOCK(ioperm, 0x80, 1, 1);
#endif
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
