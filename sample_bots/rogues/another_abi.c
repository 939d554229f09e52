/* Calls the kernel as a 32-bit program does, past a filter that knows one table of calls only.
 * Verdict: crash, the filter kills it; on other machines than x86-64 harmless. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid */
    if (result > 0) return puts("B 666") < 0;
#endif
    puts("S");
    return 0;
}
