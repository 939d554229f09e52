/* Over lines: one process sends SIGCONT to another, with all calls that send signals, through the death of a child or a
 * parent, or by orphaning a stopped process group. Two such processes could keep each other running between questions.
 * Verdict: harmless, all are denied. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int sends(pid_t child, long upper)
{
    long number = upper << 32 | SIGCONT; /* the kernel reads the lower half only */
    siginfo_t told = {.si_signo = SIGCONT, .si_code = SI_QUEUE};
    int process = syscall(SYS_pidfd_open, child, 0);
    int sent = !syscall(SYS_kill, child, number) || !syscall(SYS_tkill, child, number)
            || !syscall(SYS_tgkill, child, child, number) || !syscall(SYS_rt_sigqueueinfo, child, number, &told)
            || !syscall(SYS_rt_tgsigqueueinfo, child, child, number, &told)
            || !syscall(SYS_pidfd_send_signal, process, number, NULL, 0);
    close(process);
    return sent;
}

int main(void)
{
    char question[8192];
    while (fgets(question, sizeof question, stdin)) {
        const char *escaped = NULL;
        pid_t child = fork();
        if (child == 0)
            for (;;) pause();
        if (sends(child, 0) || sends(child, 1)) escaped = "SIGCONT is sent";
        if (setpgid(child, child) == 0) escaped = "a group of its own";
        if (prctl(PR_SET_PDEATHSIG, SIGCONT) == 0) escaped = "SIGCONT at a parent's death";
        pid_t born = syscall(SYS_clone, SIGCONT, 0, 0, 0, 0);
        if (born == 0) _exit(0);
        if (born > 0) escaped = "SIGCONT at a child's death";
        kill(child, SIGKILL);
        while (waitpid(-1, NULL, __WALL) > 0) {}
        if (escaped) fprintf(stderr, "%s\n", escaped);
        puts(escaped ? "B 666" : "S");
        fflush(stdout);
    }
    return 0;
}
