/* The keeper: PID 1 of a bot's sandbox. It starts the bot, limits and returns its output, and kills all that is left.
 *
 * Each request on the control socket (SOCK_SEQPACKET) gets one reply; keeper.py is the other end.
 *   ask    start the bot with these arguments, read its output to the end, kill everything, reply with output and usage
 *   start  kill everything left, start the bot on the three descriptors that came with the request, reply at once
 *   kill all  give the bot the requested time to exit, kill everything, reply how it ended and what it used
 *
 * A killed process with a million mappings can take a second to exit. A request that is not patient is answered before
 * that, with the flag REAP_PENDING. A patient `kill all` then reports what the killed processes have used since. Nothing
 * starts before they are gone.
 *
 * Four requests have no reply:
 *   kill now  kill everything at once; the pending question is answered with the output so far
 *   pause, resume   stop everything, and let it continue
 *   forget    kill everything, and empty the folder that otherwise outlives the processes of a bot
 *
 * When the socket closes, the keeper exits, and the kernel kills its whole PID namespace.
 *
 * Every process in the sandbox is assumed to attack. The keeper therefore never reads a file, never allocates memory
 * for a bot, never blocks except in poll with a deadline, and trusts only wait4 and the clock. PID 1 receives no
 * signal for which it has no handler, and it has no handlers.
 *
 * A start may name an interpreter, which stays alive: fork_server.py forks the bot as a child of the keeper, in a
 * process group that the bot cannot leave, and a sweep kills only that group. It forks ahead, after a reply, while no
 * process of a bot is alive: the fork waits for its question and has run no line of the bot. After any unexpected
 * event everything is killed, as without an interpreter. An unexpected process is such an event: after each sweep the
 * keeper counts the processes, so nothing that the interpreter started can outlive a question either.
 *
 * Without namespaces (level L2) the keeper is an ordinary process outside the sandbox. It puts the given Landlock
 * ruleset and system call filter on every bot, so that no bot can reach it or leave its process group. Inside
 * namespaces there is a small filter for bots that live on: only the keeper can resume a bot that is stopped off turn.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 512 }; /* queued at once; the kernel counts them per user, for all sandboxes of the user */
enum { WORDS = 1024, REQUEST = 128 << 10, ANSWER = 64 << 10, COMPLAINT = 8 << 10, QUESTION = 64 << 10 };
enum { ASK = 'A', START = 'S', KILL_ALL = 'K', KILL_NOW = 'X', PAUSE = 'P', RESUME = 'R', FORGET = 'F' };
enum { TIMED_OUT = 1, FLOODED = 2, OVER_CPU = 4, EXITED = 8, STOPPED = 16, REAP_PENDING = 32 };
static const int64_t MS = 1000000;
static const int64_t LINGER = 50 * MS; /* a process that has closed its output must exit within this time */
static const int64_t STALLED = 50 * MS; /* a keeper that wakes up so late cannot know whether the bot exited in time */
static const int64_t BIRTH = 5000 * MS; /* time limit of a fork; no bot runs yet, so none is to blame */
static const int64_t CHASE = 500 * MS; /* how long to pursue processes that left their process group, with --unsafe */
static const int64_t REAP_TIME = 50 * MS; /* how long a reply that is not patient waits for killed processes to exit */
static const int64_t FOREVER = INT64_MAX / 2;

struct request {
    uint32_t kind, words, variables, output; /* output: maximum bytes of standard output */
    /* warm: number of words that start an interpreter, which stays alive; 0: start the process cold */
    uint32_t warm, patient;
    int64_t wall, cpu;                       /* nanoseconds */
};
struct reply {
    int32_t status, error;                     /* from wait4; errno of a failed start */
    uint32_t flags, said, complained, reaped;  /* reaped: processes that have ended */
    int64_t wall, cpu, own;                    /* nanoseconds; own: of the keeper itself, since it started */
    int64_t memory, complaints;                /* KiB of the largest process; all bytes of standard error */
};

static struct { struct reply head; char text[ANSWER + COMPLAINT]; } out;
static char answer[ANSWER], complaint[COMPLAINT];
static char request[REQUEST];
static size_t heard; /* its length in bytes */
static pid_t bot;  /* 0 if none was started, or it has been reaped */
static pid_t pack; /* its process group, until all its processes are reaped */
static int swept = 1; /* whether all killed processes are gone and /tmp is empty */
static int64_t counted; /* nanoseconds already reported of a bot that was not reaped yet */
static pid_t interpreter; /* forks bots; 0 = none. No bot can reach it (fork_server.py) */
static int wire = -1;     /* socket to the interpreter */
static int spare = -1;    /* socket to the fork made ahead, which sends its process number and then receives a question */
static struct rlimit tasks, files, open_files;
static int control, children, folder;     /* the control socket; a signalfd for SIGCHLD; the bot's /tmp, -1 = none */
static int kept;                          /* the folder that outlives processes of the bot; -1 = none */
static int numbers = -1;                  /* the file with the last process number, which it sets; -1 = none */
static pid_t expected;                    /* number of the next process, as set in that file; 0: not set */
static pid_t reaped;                      /* the last process that was reaped */
static int was_alone;                     /* whether the interpreter was alone when it was last looked at */
static int ruleset = -1;                  /* Landlock's; -1 inside namespaces */
static struct sock_filter program[4096];  /* seccomp's; inside namespaces bubblewrap loads another one */
static struct sock_fprog filter = {0, program};

static int64_t now(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t)) return 0;
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void account(pid_t pid, int status, const struct rusage *used)
{
    reaped = pid;
    if (pid == interpreter) {
        interpreter = 0;
        return;
    }
    if (WIFSTOPPED(status)) { /* it made us its tracer: it has not exited, and is killed */
        kill(pid, SIGKILL);
        return;
    }
    out.head.cpu += (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000LL
                  + (used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000LL;
    if (used->ru_maxrss > out.head.memory) out.head.memory = used->ru_maxrss;
    out.head.reaped++;
    if (pid == bot) {
        out.head.status = status;
        out.head.flags |= EXITED;
        bot = 0;
    }
}

/* Reap all exited children; return whether children are left. */
static int reap(void)
{
    struct signalfd_siginfo drained[16];
    while (read(children, drained, sizeof drained) > 0) {}
    int status;
    struct rusage used;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) account(pid, status, &used);
    return pid == 0;
}

/* Wait until a child exits or the nap is over, but not after the deadline. Return 0 if the deadline has passed. */
static int await_death(int64_t deadline, int64_t nap)
{
    int64_t left = deadline - now(CLOCK_MONOTONIC);
    if (left <= 0) return 0;
    if (nap > left) nap = left;
    ppoll(&(struct pollfd){children, POLLIN, 0}, 1, &(struct timespec){nap / 1000000000, nap % 1000000000}, NULL);
    return 1;
}

/* Kill the bot outside a PID namespace. kill(-1) would kill everything of our user there. Instead kill the bot's
 * process group, which its filter does not let it leave, and every orphan that became our child. With --unsafe there
 * is no filter, and a process that forks faster than this loop escapes. */
static int kill_pack(int64_t deadline)
{
    int64_t given_up = now(CLOCK_MONOTONIC) + CHASE;
    while (reap() && now(CLOCK_MONOTONIC) < given_up) {
        if (pack) kill(-pack, SIGKILL);
        FILE *ours = fopen("/proc/thread-self/children", "re");
        for (int child; ours && fscanf(ours, "%d", &child) == 1;) kill(child, SIGKILL);
        if (ours) fclose(ours);
        if (!await_death(deadline, MS / 4)) return 0;
    }
    pack = 0;
    return 1;
}

/* Kill the bot's process group. A bot forked by an interpreter cannot leave it. */
static int kill_forked(int64_t deadline)
{
    while (pack && interpreter && (!kill(-pack, SIGKILL) || errno != ESRCH)) {
        if (!await_death(deadline, MS)) return 0;
        reap();
    }
    if (interpreter) pack = 0;
    return 1;
}

/* Kill everything in this sandbox except the interpreter and the fork made ahead. Wait until it is gone, but not
 * longer than `patience`; return whether it is gone. Only PID 1 may call kill(-1). */
static int kill_all(int64_t patience)
{
    int64_t deadline = now(CLOCK_MONOTONIC) + patience;
    if (bot) {
        out.head.flags |= STOPPED;
        out.head.status = SIGKILL; /* replaced if it ended otherwise */
    }
    if (getpid() != 1) return kill_pack(deadline);
    if (!kill_forked(deadline)) return 0;
    if (interpreter) return 1;
    do kill(-1, SIGKILL);
    while (reap() && await_death(deadline, FOREVER));
    return !reap();
}

static void signal_all(int number)
{
    if (getpid() == 1 && !interpreter) kill(-1, number);
    else if (pack) kill(-pack, number);
}

/* Exit: the host has gone, or has sent an unexpected request. */
static void leave(void)
{
    kill_all(FOREVER);
    _exit(0);
}

/* Wait until the bot exits by itself, but not longer than `patience`: its own exit status says more than our SIGKILL. */
static void await_exit(int64_t patience)
{
    int64_t deadline = now(CLOCK_MONOTONIC) + patience;
    while (bot && await_death(deadline, FOREVER)) reap();
}

static int taken(int error) { return error == ENOTEMPTY || error == EEXIST || error == ENOTDIR; }

/* Empty a folder without recursion, at any depth: move folders inside a folder up, then remove the folder. The bot may
 * have taken permissions from any folder, the first one included, and may have used the names that we move folders to.
 * The times of the folder are reset, so that no bot can store data in them. */
static void wipe(int top)
{
    static unsigned long moved;
    fchmod(top, 0700);
    for (int again = 1; again;) {
        again = 0;
        DIR *outer = fdopendir(openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!outer) return;
        for (struct dirent *entry; (entry = readdir(outer));) {
            const char *name = entry->d_name;
            if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
            if (!unlinkat(top, name, 0)) continue;
            fchmodat(top, name, 0700, 0);
            DIR *inner = fdopendir(openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (!inner) continue;
            for (struct dirent *child; (child = readdir(inner));) {
                char up[32];
                if (!strcmp(child->d_name, ".") || !strcmp(child->d_name, "..")) continue;
                if (!unlinkat(dirfd(inner), child->d_name, 0)) continue;
                fchmodat(dirfd(inner), child->d_name, 0700, 0);
                do snprintf(up, sizeof up, "moved-%lu", moved++);
                while (renameat(dirfd(inner), child->d_name, top, up) && taken(errno));
                again = 1;
            }
            closedir(inner);
            unlinkat(top, name, AT_REMOVEDIR);
        }
        closedir(outer);
    }
    /* If the filter denies futimens to us as well (see own_number), a folder that comes and goes sets them to now. */
    if (futimens(top, NULL) && !mkdirat(top, "now", 0)) unlinkat(top, "now", AT_REMOVEDIR);
}

/* Give a descriptor the first number that no bot can have: seccomp.py allows futimens only with that one. Return its
 * number, which is the old one if our own limit is too low. */
static int own_number(int descriptor)
{
    struct rlimit most;
    if (!getrlimit(RLIMIT_NOFILE, &most)) setrlimit(RLIMIT_NOFILE, &(struct rlimit){most.rlim_max, most.rlim_max});
    int own = fcntl(descriptor, F_DUPFD_CLOEXEC, (int)open_files.rlim_cur);
    if (own < 0) return descriptor;
    close(descriptor);
    return own;
}

/* Kill everything in this sandbox and empty its /tmp. If killed processes are not gone in time, set REAP_PENDING and
 * report what the bot has used so far. */
static void sweep(int64_t patience)
{
    clockid_t processor;
    swept = kill_all(patience);
    if (swept && folder >= 0) wipe(folder);
    if (swept) return;
    out.head.flags |= REAP_PENDING;
    if (bot && !clock_getcpuclockid(bot, &processor)) out.head.cpu += counted = now(processor);
}

/* Draw a random number for the next process. Sequential numbers would tell a bot how often it was started before. */
static void renumber(void)
{
    unsigned chance = 0;
    char number[12];
    expected = 0;
    if (numbers < 0 || getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0) return;
    chance = 300 + chance % 30000;
    if (pwrite(numbers, number, snprintf(number, sizeof number, "%u", chance), 0) < 0) numbers = -1;
    else expected = chance + 1;
}

/* Keep our capability, which sets process numbers, but let no bot inherit it. */
static int keep_to_ourselves(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || syscall(SYS_capget, &head, sets)) return 0;
    sets[0].inheritable = sets[1].inheritable = 0;
    return !syscall(SYS_capset, &head, sets);
}

/* Start a program on three or four descriptors; return 0 or the errno of the failure. vfork makes a failed exec
 * visible here, because the child shares our memory until it has become the bot, and it is the cheapest way to start a
 * process. `lives`: the program is for more than one question. */
static int begin(char **argv, char **environment, const int stdio[], int descriptors, int lives)
{
    static volatile int failed;
    failed = 0;
    renumber();
    bot = vfork();
    if (bot < 0) {
        bot = 0;
        return errno;
    }
    if (bot == 0) {
        sigset_t none;
        sigemptyset(&none);
        setsid();
        for (int fd = 0; fd < descriptors; fd++)
            if (dup2(stdio[fd], fd) < 0 || fcntl(fd, F_SETFD, 0)) goto fail;
        if (ruleset >= 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, ruleset, 0)))
            goto fail;
        if (getppid() != 1) prctl(PR_SET_PDEATHSIG, SIGKILL); /* without a namespace, nothing else kills it with us */
        syscall(SYS_close_range, descriptors, ~0U, 0);
        setrlimit(RLIMIT_FSIZE, &files);
        setrlimit(RLIMIT_NOFILE, &open_files);
        struct rlimit all = {tasks.rlim_cur + descriptors - 3, tasks.rlim_max + descriptors - 3}; /* four with an interpreter */
        if (tasks.rlim_max) setrlimit(RLIMIT_NPROC, &all); /* only in a user namespace does this count the sandbox alone */
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (filter.len && (lives || ruleset >= 0) && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) goto fail;
        execve(argv[0], argv, environment);
    fail:
        failed = errno;
        _exit(127);
    }
    if (failed) {
        int error = failed, status;
        waitpid(bot, &status, 0);
        bot = 0;
        return error;
    }
    pack = bot;
    return 0;
}

/* Read what is there; keep the first `room` bytes, but overwrite their last `latest` bytes with the latest output.
 * Count all bytes. Return 0 at the end of the stream. */
static int drain(int fd, char *kept, uint32_t *length, uint32_t room, uint32_t latest, int64_t *total)
{
    static char bin[64 << 10];
    ssize_t got = read(fd, bin, sizeof bin);
    if (got == 0) return 0;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    uint32_t fits = room - *length;
    if ((uint64_t)got < fits) fits = got;
    memcpy(kept + *length, bin, fits);
    *length += fits;
    uint32_t over = got - fits < latest ? got - fits : latest;
    if (over) {
        char *end = kept + room;
        memmove(end - latest, end - latest + over, latest - over);
        memcpy(end - over, bin + got - over, over);
    }
    *total += got;
    return 1;
}

/* Receive a message: 0 from an interpreter that is ready, or a process number from its fork. Return -1 if that failed. */
static pid_t hear(int from, int64_t patience)
{
    pid_t told = -1;
    struct pollfd wait = {from, POLLIN, 0};
    if (poll(&wait, 1, patience / MS) <= 0 || recv(from, &told, sizeof told, 0) != sizeof told) return -1;
    return told;
}

/* Kill the interpreter and its fork made ahead; no other process is alive. */
static void dismiss(void)
{
    if (wire < 0) return;
    close(wire);
    if (spare >= 0) close(spare);
    wire = spare = -1;
    was_alone = 0;
    do kill(-1, SIGKILL);
    while (wait4(-1, NULL, 0, NULL) > 0 || errno != ECHILD);
    interpreter = 0;
}

/* Start an interpreter with these words unless one is running; its descriptors are of the same kinds as those of its
 * bots. */
static int boot(const struct request *asked, char **argv, char **environment, const int stdio[3])
{
    int ends[2];
    if (interpreter) return 0;
    dismiss();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return errno;
    int error = begin(argv, environment, (int[]){stdio[0], stdio[1], stdio[2], ends[1]}, 4, asked->kind == START);
    close(ends[1]);
    wire = ends[0];
    interpreter = error ? 0 : bot;
    bot = pack = 0;
    if (!error && hear(wire, asked->wall)) error = ECHILD;
    if (error) dismiss();
    return error;
}

/* Send bytes and descriptors; return whether that succeeded. */
static int pass(int to, struct iovec *parts, int count, const int descriptors[], int size)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(3 * sizeof(int))]; } passed = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count, .msg_control = &passed};
    message.msg_controllen = CMSG_SPACE(size);
    passed.head = (struct cmsghdr){CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&passed.head), descriptors, size);
    return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

/* Return whether nothing was started since the interpreter was alone except its fork, which has been reaped: the last
 * process number is then the one set for the fork. Only we may set it. */
static int has_only_forked(void)
{
    char number[12] = "";
    if (!was_alone || !expected || reaped != expected) return 0;
    return pread(numbers, number, sizeof number - 1, 0) > 0 && atoi(number) == expected;
}

/* Return whether no process is alive except the interpreter and us. RLIMIT_NPROC counts all tasks of this sandbox, so a
 * third one is refused with EAGAIN if there is another. If there is not, it fails as well, but later and with EFAULT:
 * it has nowhere to write its descriptor. That costs a third of a process that runs, so it is not done if the bot has
 * started nothing. */
static int is_interpreter_alone(void)
{
    struct rlimit usual, exact;
    if (has_only_forked()) return 1;
    if (getrlimit(RLIMIT_NPROC, &usual)) return 0;
    exact = (struct rlimit){3, usual.rlim_max};
    setrlimit(RLIMIT_NPROC, &exact);
    int refused = syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_PIDFD, 0, NULL, NULL, NULL);
    was_alone = refused && errno == EFAULT;
    setrlimit(RLIMIT_NPROC, &usual);
    return was_alone;
}

/* Ask the interpreter to fork. An error is detected when the fork is needed. */
static void fork_ahead(void)
{
    int ends[2];
    if (!interpreter || spare >= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return;
    renumber();
    pass(wire, &(struct iovec){"", 1}, 1, &ends[1], sizeof ends[1]);
    close(ends[1]);
    spare = ends[0];
}

/* Make the fork of the interpreter the bot: it is our child. Only the fork receives its question: the next fork could
 * find it in the interpreter's memory. If the fork died while it waited, no bot killed it: try once more. */
static int begin_forked(const struct request *asked, char **argv, char **environment, const int stdio[3])
{
    uint32_t words = asked->words - asked->warm;
    char *end = request + heard, *text = words ? argv[asked->warm] : asked->variables ? environment[0] : end;
    struct iovec question[] = {{&words, sizeof words}, {text, end - text}};
    if (sizeof words + (end - text) > QUESTION) return E2BIG;
    argv[asked->warm] = NULL;
    for (int again = 1; again >= 0; again--) {
        int error = boot(asked, argv, environment, stdio);
        if (error) return error;
        fork_ahead();
        pid_t forked = hear(spare, BIRTH);
        if (forked > 0 && pass(spare, question, 2, stdio, 3 * sizeof *stdio)) {
            close(spare);
            spare = -1;
            bot = pack = forked;
            return 0;
        }
        dismiss();
    }
    return ECHILD;
}

static int begin_asked(const struct request *asked, char **argv, char **environment, const int stdio[3])
{
    if (asked->warm) return begin_forked(asked, argv, environment, stdio);
    dismiss(); /* a process that was not forked may leave its group; only kill(-1) reaches it */
    return begin(argv, environment, stdio, 3, asked->kind == START);
}

static void ask(const struct request *asked, char **argv, char **environment)
{
    /* Open /dev/null each time: the flags of an open file could carry data from bot to bot. */
    int said[2], complained[2], nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || pipe2(said, O_CLOEXEC) || pipe2(complained, O_CLOEXEC)) _exit(3);
    fcntl(said[0], F_SETFL, O_NONBLOCK);
    fcntl(complained[0], F_SETFL, O_NONBLOCK);
    uint32_t room = asked->output < ANSWER ? asked->output : ANSWER;
    int64_t started = now(CLOCK_MONOTONIC), deadline = started + asked->wall, total = 0;
    int stdio[] = {nothing, said[1], complained[1]};
    out.head.error = begin_asked(asked, argv, environment, stdio);
    close(nothing);
    close(said[1]);
    close(complained[1]);
    clockid_t processor = CLOCK_MONOTONIC;
    if (bot) clock_getcpuclockid(bot, &processor);

    struct pollfd wait[] = {{said[0], POLLIN, 0}, {complained[0], POLLIN, 0}, {children, POLLIN, 0}, {control, POLLIN, 0}};
    while (bot) {
        int64_t left = deadline - now(CLOCK_MONOTONIC), computed = now(processor);
        if (left <= 0) {
            if (left < -STALLED) reap();
            if (bot && wait[0].fd >= 0) out.head.flags |= TIMED_OUT;
            break;
        }
        if (computed > asked->cpu) {
            out.head.flags |= OVER_CPU;
            break;
        }
        int64_t nap = (asked->cpu - computed) / 8 + MS; /* eight threads use up the rest in an eighth of the time */
        if (nap > left) nap = left;
        struct timespec until = {nap / 1000000000, nap % 1000000000};
        if (ppoll(wait, 4, &until, NULL) <= 0) continue;
        if (wait[3].revents) {
            struct request heard;
            if (recv(control, &heard, sizeof heard, 0) != sizeof heard || heard.kind != KILL_NOW) leave();
            break;
        }
        if (wait[0].revents && !drain(said[0], answer, &out.head.said, room, 0, &total)) {
            wait[0].fd = -1;
            if (deadline > now(CLOCK_MONOTONIC) + LINGER) deadline = now(CLOCK_MONOTONIC) + LINGER;
        }
        if (total > room) break;
        if (wait[1].revents && !drain(complained[0], complaint, &out.head.complained, COMPLAINT, COMPLAINT / 2, &out.head.complaints))
            wait[1].fd = -1;
        if (wait[2].revents) reap();
    }
    out.head.wall = now(CLOCK_MONOTONIC) - started;
    sweep(asked->patient ? FOREVER : REAP_TIME);
    /* Read what the dead processes left in the pipes. Nothing can write to them any more, so this ends. */
    errno = 0;
    while (total <= room && drain(said[0], answer, &out.head.said, room, 0, &total) && errno != EAGAIN) errno = 0;
    errno = 0;
    while (drain(complained[0], complaint, &out.head.complained, COMPLAINT, COMPLAINT / 2, &out.head.complaints) && errno != EAGAIN) errno = 0;
    if (total > room) out.head.flags |= FLOODED;
    close(said[0]);
    close(complained[0]);
}

/* Split the request's text into words; return the end of the last one, or NULL if the text is incomplete. */
static char *split(char *text, char *end, char **words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char *stop = memchr(text, 0, end - text);
        if (!stop) return NULL;
        words[i] = text;
        text = stop + 1;
    }
    words[count] = NULL;
    return text;
}

static struct rlimit limit(const char *number)
{
    rlim_t value = strtoull(number, NULL, 10);
    return (struct rlimit){value, value};
}

int main(int argc, char **argv)
{
    /* Arguments: the control socket · tasks (0: no limit), bytes of a file, open files · the bot's /tmp, empty for
     * none · descriptors of the ruleset, of the filter, and of the file that sets the last process number, -1 for none ·
     * the folder that outlives its processes, empty for none */
    if (argc != 10 || !keep_to_ourselves()) return 2;
    control = atoi(argv[1]), tasks = limit(argv[2]), files = limit(argv[3]), open_files = limit(argv[4]);
    ruleset = atoi(argv[6]);
    int filtered = atoi(argv[7]);
    numbers = atoi(argv[8]);
    if (filtered >= 0) {
        ssize_t size = read(filtered, program, sizeof program);
        if (size <= 0 || size == sizeof program) return 3;
        filter.len = size / sizeof *program;
        close(filtered);
    }
    /* One byte, not zero: with a limit of one byte the kernel does not start the host's core dump program. This fails if
     * the host's hard limit is zero, which only root can raise (launch.py). */
    setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
    setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_MSGQUEUE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){SIGNALS, SIGNALS});
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    umask(077);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL); /* the defaults may have been changed */
    fcntl(control, F_SETFD, FD_CLOEXEC);
    if (numbers >= 0) fcntl(numbers, F_SETFD, FD_CLOEXEC);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    folder = own_number(open(argv[5], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    kept = open(argv[9], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (children < 0) return 3;

    for (;;) {
        struct pollfd wait[] = {{control, POLLIN, 0}, {children, POLLIN, 0}};
        if (poll(wait, 2, -1) <= 0) continue;
        if (wait[1].revents) reap();
        if (!wait[0].revents) continue;

        union { struct cmsghdr head; char room[CMSG_SPACE(3 * sizeof(int))]; } passed;
        struct iovec text = {request, sizeof request};
        struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
        ssize_t length = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
        if (length <= 0) leave();
        if (length < (ssize_t)sizeof(struct request) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) _exit(3);
        struct request *asked = (struct request *)request;
        static char *words[WORDS + 1], *variables[WORDS + 1];
        if (asked->words > WORDS || asked->variables > WORDS || asked->warm > asked->words) _exit(3);
        if (asked->warm && getpid() != 1) _exit(3); /* elsewhere bots could reach the interpreter */
        heard = length;
        char *rest = split(request + sizeof *asked, request + length, words, asked->words);
        if (!rest || !split(rest, request + length, variables, asked->variables)) _exit(3);

        if (asked->kind == PAUSE || asked->kind == RESUME) {
            signal_all(asked->kind == PAUSE ? SIGSTOP : SIGCONT);
            continue;
        }
        if (asked->kind == KILL_NOW) {
            kill_all(0);
            continue;
        }
        if (asked->kind == FORGET) {
            sweep(FOREVER);
            if (kept >= 0) wipe(kept);
            continue;
        }
        if (asked->kind == KILL_ALL) await_exit(asked->wall);
        /* out.head already contains what the started bot has used until now. */
        if (asked->kind != ASK || !swept) sweep(asked->kind == KILL_ALL && !asked->patient ? REAP_TIME : FOREVER);
        if (asked->kind == ASK) {
            memset(&out.head, 0, sizeof out.head);
            ask(asked, words, variables);
        }
        if (asked->kind == START) {
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            int stdio[3];
            if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof stdio)) _exit(3);
            memcpy(stdio, CMSG_DATA(head), sizeof stdio);
            memset(&out.head, 0, sizeof out.head);
            out.head.error = begin_asked(asked, words, variables, stdio);
            for (int i = 0; i < 3; i++) close(stdio[i]);
        }
        out.head.own = now(CLOCK_PROCESS_CPUTIME_ID);
        char *end = out.text;
        if (asked->kind == ASK) {
            end = mempcpy(end, answer, out.head.said);
            end = mempcpy(end, complaint, out.head.complained);
        }
        if (send(control, &out, end - (char *)&out, MSG_NOSIGNAL) < 0) leave();
        if (asked->kind == START) continue;
        memset(&out.head, 0, sizeof out.head); /* usage from now on is for the next reply */
        out.head.cpu = -counted;
        counted = 0;
        if (!swept || !interpreter) continue;
        if (spare < 0 && !is_interpreter_alone()) dismiss();
        fork_ahead();
    }
}
