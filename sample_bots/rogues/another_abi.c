/* Uses the system calls of 32-bit programs, to bypass a filter that knows only one table of calls.
 * Verdict: crash, the filter kills it; harmless on machines other than x86-64. */
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
