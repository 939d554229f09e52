/* Opens queues, semaphores and shared memory of System V and POSIX. Verdict: harmless, all are denied. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const char *escaped = NULL;
    if (shmget(0x2011, 4096, IPC_CREAT | 0666) >= 0) escaped = "shmget";
    if (msgget(0x2011, IPC_CREAT | 0666) >= 0) escaped = "msgget";
    if (semget(0x2011, 1, IPC_CREAT | 0666) >= 0) escaped = "semget";
    if (shm_open("/rogue", O_CREAT | O_RDWR, 0666) >= 0) escaped = "shm_open";
    if (syscall(SYS_mq_open, "rogue", O_CREAT | O_RDWR, 0666, NULL) >= 0) escaped = "mq_open";
    if (escaped) fprintf(stderr, "%s\n", escaped);
    puts(escaped ? "B 666" : "S");
    return 0;
}
