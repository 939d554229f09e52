/* Creates namespaces with the call numbers of the x32 interface. Verdict: crash, the filter kills it; elsewhere harmless. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    puts(syscall(0x40000000 | SYS_unshare, 0x10000000) == 0 ? "B 666" : "S");
    return 0;
}
